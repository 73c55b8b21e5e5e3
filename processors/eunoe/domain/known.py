"""What `decide` is told: the command as the shell opened it, and what the ledger knows that bears on it."""

from msgspec import Struct

from eunoe.domain.entries import DayKey, IdempotencyEntry, KeyState, Quota, RateState, SubjectState, TenantState
from eunoe.domain.memory import MemoryState
from eunoe.schemas.commands import Command, Draft
from eunoe.schemas.events import Finding, Reason
from eunoe.schemas.ids import CommandId, KeyId, MemoryId, Millis, PrincipalName
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Algorithm, Writing


class Digests(Struct, frozen=True, kw_only=True, gc=False):
    """``payload`` tells a retry from a reuse and is there for every command that has an idempotency key.

    ``content_hash`` and ``claim_ref`` belong to a body; all three of a body are keyed under the subject root.
    """

    payload: bytes
    content_hash: bytes = b""
    claim_ref: bytes | None = None


class BodyFacts(Struct, frozen=True, kw_only=True, gc=False):
    """All that the rules ask of a sealed body. ``blank``: nothing but white space and invisible characters.

    ``names_record``: it says where the record it stands for is. ``answers``: the fields of `Answers` that are given.
    """

    statement_chars: int
    body_bytes: int
    event_ids: int
    has_provenance: bool
    blank: bool
    names_record: bool = False
    answers: frozenset[str] = frozenset()


class Opened(Struct, frozen=True, kw_only=True, gc=False):
    """A command whose MAC holds. ``algorithm`` is the one that held; ``failure`` says why a body could not be opened.

    ``findings`` is what the detectors found, each with what the policy makes of it; ``redacted`` the draft with a body
    sealed anew without what must not be kept, where a finding asks for that.

    ``proven``: an export's signer that the policy trusts signed just this restored fact, text and names included.
    ``from_here``: it says that it was exported from this very log.

    ``fresh_key_id`` and ``fresh_root_key_id`` are for `IssueKey`: what was used of them is in the fact
    (``created`` for the key, the same root id for the root), and only then does the shell make the key.
    """

    command_id: CommandId
    principal: PrincipalName
    algorithm: Algorithm
    command: Command
    digests: Digests | None = None
    body: BodyFacts | None = None
    failure: Reason | None = None
    findings: tuple[Finding, ...] = ()
    redacted: Draft | None = None
    proven: bool = False
    from_here: bool = False
    fresh_key_id: KeyId | None = None
    fresh_root_key_id: KeyId | None = None


class Source(Struct, frozen=True, kw_only=True, gc=False):
    """A record that a draft says it was built on; None where there is none in this tenant.

    ``closed``: somebody it concerns was forgotten. ``restricted``: nobody reads somebody it concerns for now.
    """

    record: MemoryState | None = None
    closed: bool = False
    restricted: bool = False


class Known(Struct, frozen=True, kw_only=True, gc=False):
    """The ledger's entries for one command, each None where there is none. Made by `eunoe.domain.ledger_state.known`.

    ``memory`` is the record the command names, or for remember and correct the one it would create; ``superseded``
    the one that would give way. ``*_closed``: the generation of its subject, or of anyone it is about, is closed, so it
    counts as forgotten. ``subject`` and ``about`` are those of the draft or of the subject command. ``key`` is the one
    the draft names, for `IssueKey` the one that (subject, open generation, bucket) has; ``day`` the access key of the
    day that one without a subject asks for. ``memory_held``: a legal hold stands on somebody the record concerns;
    ``memory_restricted``: nobody may read about one of them, for that or because somebody asked to be forgotten.
    ``quota``: for what destroys, ``rate``: for what is written. ``value_forgotten``: a record of the subject that said
    this was forgotten by itself. ``others``: of the records that a restored fact changes beside its own, those that are
    there and not closed.
    ``rivals``: the records on the same claim that are active and of an open generation, without the record itself and
    the one it would replace; ``twins``: likewise those that say the same words as the draft, or as the record to be
    promoted, and those that wait with them. ``sources``: one for each that the draft says it was built on, or the
    record to be promoted; ``dependents``: what stands on any of the records that the command may end.
    """

    seen: bool = False
    idempotency: IdempotencyEntry | None = None
    tenant: TenantState | None = None
    subject: SubjectState | None = None
    about: tuple[SubjectState | None, ...] = ()
    memory: MemoryState | None = None
    memory_closed: bool = False
    memory_held: bool = False
    memory_restricted: bool = False
    superseded: MemoryState | None = None
    superseded_closed: bool = False
    key: KeyState | None = None
    day: DayKey | None = None
    rivals: tuple[MemoryState, ...] = ()
    twins: tuple[MemoryState, ...] = ()
    quota: Quota | None = None
    rate: RateState | None = None
    value_forgotten: bool = False
    others: tuple[MemoryState, ...] = ()
    sources: tuple[Source, ...] = ()
    dependents: tuple[MemoryState, ...] = ()


class Refusal(Struct, frozen=True, kw_only=True, gc=False):
    """What a rule answers when it objects; becomes a `CommandRejected`."""

    reason: Reason
    field: str | None = None
    memory_id: MemoryId | None = None
    current_version: int | None = None
    findings: tuple[Finding, ...] = ()


class Case(Struct, frozen=True, kw_only=True, gc=False):
    """Everything one decision rests on. ``now`` is log time, never before the partition's last decision.

    ``writing`` and ``reading``: what the switches allow for the purposes concerned; reading, for one of them.
    """

    opened: Opened
    known: Known
    now: Millis
    policy: Policy
    writing: Writing
    reading: bool

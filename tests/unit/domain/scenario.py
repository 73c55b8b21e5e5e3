"""Given–when–then for decisions: commands go in, facts come out, and a ledger of encoded entries is kept between them.

A `Scenario` does what the decider's shell does, without Kafka, Redis or sealing, and checks on the way what must hold
of every decision: one fact, the same when asked again, and a fold that needs nothing the command had not wanted.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, TypedDict, Unpack

import msgspec
from msgspec import UNSET, UnsetType, structs

from eunoe.domain.decide import decide
from eunoe.domain.decide_imports import origin_of
from eunoe.domain.entries import (
    Entry,
    LedgerKey,
    SubjectState,
    decode_entry,
    encode_entry,
    goes_with,
    memory_key,
    subject_key,
)
from eunoe.domain.known import BodyFacts, Digests, Opened
from eunoe.domain.ledger_state import (
    Entries,
    fold,
    folds,
    idempotency_of,
    known,
    wanted,
)
from eunoe.domain.ledger_tenants import forgets
from eunoe.domain.ledger_unsealed import unsealed, with_unsealed
from eunoe.domain.memory import MemoryState
from eunoe.schemas.commands import Command, Draft, IssueKey
from eunoe.schemas.events import CommandRejected, Event, EventHeader, Fact, Finding, KeyIssued, Reason
from eunoe.schemas.ids import (
    Bucket,
    CommandId,
    EventId,
    KeyId,
    MemoryId,
    MessageId,
    Millis,
    Offset,
    PrincipalName,
    Pseudonym,
    TenantId,
    derived_id,
)
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Algorithm, Writing
from unit.domain.samples import ACME, BODY, NOW, POLICY, SIGNERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Matches a `CommandRejected` with this reason; a field, record or version only where it is given."""

    reason: Reason
    field: str | UnsetType | None = UNSET
    memory_id: MemoryId | UnsetType | None = UNSET
    current_version: int | UnsetType | None = UNSET

    def matches(self, fact: Fact) -> bool:
        return (
            isinstance(fact, CommandRejected)
            and fact.reason is self.reason
            and all(
                want is UNSET or want == got
                for want, got in (
                    (self.field, fact.field),
                    (self.memory_id, fact.memory_id),
                    (self.current_version, fact.current_version),
                )
            )
        )


class How(TypedDict, total=False):
    """How a command is sent. ``text`` stands for the plaintext: another text, another payload digest.

    ``claim`` is the record's claim key, ``findings`` what the detectors say. ``by`` and ``signed`` (by Ed25519) default
    to what `SIGNERS` says.
    """

    by: PrincipalName
    signed: bool
    command_id: CommandId
    body: BodyFacts
    failure: Reason
    writing: Writing
    reading: bool
    claim: str
    findings: tuple[Finding, ...]
    redacted: Draft
    text: str
    proven: bool
    from_here: bool


@dataclass(slots=True)
class Scenario:
    """One partition. ``now`` moves only by hand. ``store`` holds encoded entries, as Redis does."""

    policy: Policy = POLICY
    now: Millis = NOW
    store: dict[LedgerKey, bytes] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    asked: int = 0
    unchecked: int = 0

    def given(self, *commands: Command, **how: Unpack[How]) -> "Scenario":
        """Commands that must take effect."""
        for command in commands:
            fact = self.ask(command, **how)
            assert not isinstance(fact, CommandRejected), f"given {type(command).__name__}: refused as {fact}"
        self.unchecked = len(self.events)
        return self

    def when(self, *commands: Command, **how: Unpack[How]) -> "Scenario":
        """Commands whose facts the next `then` looks at."""
        for command in commands:
            self.ask(command, **how)
        return self

    def then(self, *expected: Fact | Refused) -> "Scenario":
        """The facts since the last look, one by one."""
        actual = [event.fact for event in self.events[self.unchecked :]]
        self.unchecked = len(self.events)
        for index, (want, got) in enumerate(zip(expected, actual, strict=False)):
            same = want.matches(got) if isinstance(want, Refused) else want == got
            assert same, f"fact {index}:\n  expected {want}\n  actual   {got}"
        assert len(actual) == len(expected), f"{len(expected)} facts expected, {len(actual)} came: " + ", ".join(
            f"{index}: {type(fact).__name__}" for index, fact in enumerate(actual)
        )
        return self

    def ask(self, command: Command, **how: Unpack[How]) -> Fact:
        """The one fact of a command."""
        fact = self.ask_again(command, **how)
        assert fact is not None, f"{type(command).__name__}: this command id has its outcome already"
        return fact

    def ask_again(self, command: Command, **how: Unpack[How]) -> Fact | None:
        """`ask`, where the command id may be a repeated one: then None."""
        self.asked += 1
        by, signed = SIGNERS[type(command)]
        failure = how.get("failure")
        opened = Opened(
            command_id=how.get("command_id") or CommandId(derived_id("command", str(self.asked))),
            principal=how.get("by") or by,
            algorithm=Algorithm.ED25519 if how.get("signed", signed) else Algorithm.HMAC_SHA256,
            command=command,
            digests=None if failure else _digests(command, how.get("text"), how.get("claim")),
            body=None if failure else how.get("body", BODY),
            failure=failure,
            findings=how.get("findings", ()),
            redacted=how.get("redacted"),
            proven=how.get("proven", False),
            from_here=how.get("from_here", False),
            fresh_key_id=KeyId(derived_id("key", str(self.asked))),
            fresh_root_key_id=KeyId(derived_id("root", str(self.asked))),
        )
        entries = self.load(opened.command_id, command)
        told = known(opened.command_id, command, entries)
        self.complete(entries, lambda loaded: unsealed(command, told, opened.digests, loaded))
        told = with_unsealed(told, command, opened.digests, entries)
        writing = how.get("writing", Writing.ON)
        reading = how.get("reading", True)
        facts = decide(opened, told, self.now, self.policy, writing, reading=reading)
        assert facts == decide(opened, told, self.now, self.policy, writing, reading=reading)
        if told.seen:
            assert facts == ()
            return None
        (fact,) = facts
        self._keep(opened, fact, entries)
        return fact

    def load(self, command_id: CommandId, command: Command) -> dict[LedgerKey, Entry | None]:
        """What `wanted` asks for."""
        entries: dict[LedgerKey, Entry | None] = {}
        self.complete(entries, lambda loaded: wanted(command_id, command, loaded))
        return entries

    def complete(
        self, entries: dict[LedgerKey, Entry | None], missing: Callable[[Entries], tuple[LedgerKey, ...]]
    ) -> None:
        """Load what is missing, in at most six rounds."""
        for _ in range(6):
            entries |= {key: self.entry(key) for key in missing(entries)}
        assert not missing(entries)

    def _keep(self, opened: Opened, fact: Fact, entries: dict[LedgerKey, Entry | None]) -> None:
        event = Event(
            header=structs.replace(self._header(opened), origin=origin_of(opened.command, opened, fact)), fact=fact
        )
        assert folds(event, entries) == (), "folding needs more than the command had wanted"
        keep(self.store, event, fold(entries, event))
        self.events.append(event)

    def _header(self, opened: Opened) -> EventHeader:
        return EventHeader(
            event_id=EventId(derived_id("event", str(len(self.events)))),
            command_id=opened.command_id,
            message_id=MessageId(opened.command_id),
            tenant=opened.command.tenant,
            principal=opened.principal,
            input_offset=Offset(self.asked),
            decided_at=self.now,
            policy_version=self.policy.version,
            policy_hash=self.policy.hash,
            control_offset=Offset(0),
            idempotency=idempotency_of(opened.command),
            payload_digest=None if opened.digests is None else opened.digests.payload,
        )

    def entry(self, key: LedgerKey) -> Entry | None:
        data = self.store.get(key)
        return None if data is None else decode_entry(data)

    def record(self, memory_id: MemoryId, tenant: TenantId = ACME) -> MemoryState:
        state = self.entry(memory_key(tenant, memory_id))
        assert isinstance(state, MemoryState), f"no record {memory_id}"
        return state

    def subject(self, subject: Pseudonym, tenant: TenantId = ACME) -> SubjectState:
        state = self.entry(subject_key(tenant, subject))
        assert isinstance(state, SubjectState), f"no subject {subject}"
        return state

    def key(self, subject: Pseudonym, bucket: Bucket, tenant: TenantId = ACME) -> KeyId:
        """The data key of a bucket, opening the tenant where that has not been done."""
        self.ask(IssueKey(tenant=tenant))
        fact = self.ask(IssueKey(tenant=tenant, subject=subject, bucket=bucket))
        assert isinstance(fact, KeyIssued), f"no key: {fact}"
        self.unchecked = len(self.events)
        return fact.key_id


def keep(store: dict[LedgerKey, bytes], event: Event, changed: dict[LedgerKey, Entry]) -> None:
    """As the ledger does: of a forgotten tenant nothing else stays."""
    tenant = forgets(event)
    for key in [each for each in store if tenant is not None and goes_with(each, tenant)]:
        del store[key]
    store |= {key: encode_entry(entry) for key, entry in changed.items()}


def replayed(events: list[Event]) -> dict[LedgerKey, bytes]:
    """The ledger as it comes from the log alone."""
    store: dict[LedgerKey, bytes] = {}
    for event in events:
        entries: dict[LedgerKey, Entry | None] = {}
        while missing := folds(event, entries):
            entries |= {key: decode_entry(store[key]) if key in store else None for key in missing}
        keep(store, event, fold(entries, event))
    return store


_JSON: Final = msgspec.json.Encoder(order="sorted")


def _digests(command: Command, text: str | None, claim: str | None) -> Digests:
    """As the shell would: the request without its idempotency key, sealing, and an instant that follows from a TTL."""
    fields = structs.asdict(command)
    fields.pop("idempotency", None)
    draft_of = getattr(command, "draft", None)
    if isinstance(draft_of, Draft):
        draft = structs.asdict(draft_of)
        for name in ("memory_id", "key_id", "generation", "body"):
            draft.pop(name)
        if draft["ttl"] is not None:
            draft.pop("expires_at")
        fields["draft"] = draft
    payload = sha256(_JSON.encode((type(command).__name__, fields, text or ""))).digest()[:16]
    words = ""
    if isinstance(draft_of, Draft):
        # No two records say the same unless a test has them do so.
        words = f"{draft_of.subject} {draft_of.generation} {draft_of.memory_id if text is None else text}"
    return Digests(
        payload=payload,
        content_hash=sha256(words.encode()).digest()[:16] if words else b"",
        claim_ref=None if claim is None else sha256(claim.encode()).digest()[:16],
    )

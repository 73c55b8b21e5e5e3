"""Opening a command's sealed body, and the digests and facts of it that `decide` goes by.

The body itself goes no further: what leaves this module is keyed digests, counts and yes or no.
"""

import hashlib
import unicodedata
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Protocol, assert_never

import msgspec
from msgspec.structs import replace

from eunoe.crypto.errors import KeyClosed, KeyUnknown, SealBroken, TextRefused
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.keys import DataCipher, SubjectRoot
from eunoe.crypto.wording import same_key, same_words
from eunoe.domain.known import BodyFacts, Digests, Known, Opened
from eunoe.processors.proving import is_proven, is_proven_of, restored_payload
from eunoe.processors.receiving import Received
from eunoe.schemas.canonical import canonical
from eunoe.schemas.codec import BODIES
from eunoe.schemas.commands import (
    Answers,
    Command,
    CompleteForgetting,
    CompleteTenantForgetting,
    ConfirmMemory,
    CorrectMemory,
    Draft,
    ExpireMemory,
    ForgetMemory,
    ForgetSubject,
    ForgetTenant,
    HoldSubject,
    IssueKey,
    LiftHold,
    MemoryBody,
    PromoteMemory,
    ReadmitSubject,
    ReadmitTenant,
    RecordExport,
    RejectMemory,
    RememberMemory,
    ResolveConflict,
    RestoreMemory,
    RetractMemory,
    SeenRef,
    SuspendMemory,
    WithdrawForgetting,
)
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.events import Finding, Reason
from eunoe.schemas.ids import KeyId, TenantId, new_id
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Algorithm, Verdict

_DIGEST_BYTES: Final = 16
_NOT_PAYLOAD: Final = frozenset({"memory_id", "generation", "key_id", "body", "body_version"})
"""Fields of a draft that another attempt at the same request chooses anew."""
_CHOSEN: Final = attrgetter(
    *(each for each in Draft.__struct_fields__ if each not in _NOT_PAYLOAD and each not in ("ttl", "expires_at"))
)
_SAID: Final = attrgetter(*(each for each in MemoryBody.__struct_fields__ if each != "session_id"))
"""In which conversation it was said does not make it another request."""
_ANSWERS: Final = Answers.__struct_fields__
_ENCODER: Final = msgspec.msgpack.Encoder()
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})

CaughtUp = Callable[[], Awaitable[None]]
"""Returns once the key models have passed everything that the log held when it was called; raises when they do not."""


class Examiner(Protocol):
    """What looks at the plaintext. Neither what it returns nor what it raises holds any of it."""

    def examine(self, body: MemoryBody, draft: Draft, policy: Policy) -> tuple[Finding, ...]:
        """What was found, each with what the policy makes of it."""
        ...

    def redact(self, body: MemoryBody, findings: tuple[Finding, ...]) -> MemoryBody:
        """The body without what the findings with the verdict ``redact`` are about."""
        ...


class _Blind:
    """Looks at nothing."""

    def examine(self, body: MemoryBody, draft: Draft, policy: Policy) -> tuple[Finding, ...]:
        return ()

    def redact(self, body: MemoryBody, findings: tuple[Finding, ...]) -> MemoryBody:
        return body


NOTHING_EXAMINED: Final[Examiner] = _Blind()
"""For measuring what deciding costs without detectors. A worker never runs with it."""


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens bodies with the keys that the ledger says are open."""

    keyring: Keyring
    caught_up: CaughtUp
    examiner: Examiner = NOTHING_EXAMINED

    async def open(self, received: Received, known: Known, policy: Policy) -> Opened:
        """The command as `decide` takes it. Awaits only where a key is not in the cache.

        Raises what the key source raises when it does not answer: then nothing is judged.
        """
        command = received.command
        failure: Reason | None = None
        digests: Digests | None = None
        facts: BodyFacts | None = None
        findings: tuple[Finding, ...] = ()
        redacted: Draft | None = None
        proven = False
        if isinstance(command, RememberMemory | CorrectMemory | RestoreMemory) and command.draft is not None:
            draft = command.draft
            keys = await self._keys(command.tenant, draft, known)
            if keys is None:
                failure = Reason.UNKNOWN_KEY
            else:
                found = _read(keys, draft)
                if isinstance(found, Reason):
                    failure = found
                else:
                    body, facts = found
                    proven = isinstance(command, RestoreMemory) and await is_proven_of(
                        self.keyring, command, body, policy
                    )
                    findings = self.examiner.examine(body, draft, policy)
                    kept = body
                    if not proven and any(each.verdict is Verdict.REDACT for each in findings):
                        kept = self.examiner.redact(body, findings)
                        redacted = _sealed_anew(keys[0], draft, kept)
                    digests = _digests(keys[1], command, body, kept)
        elif isinstance(command, RestoreMemory):
            proven = is_proven(command, None, policy)
            digests = Digests(payload=hashlib.sha256(restored_payload(command, None)).digest()[:_DIGEST_BYTES])
        else:
            digests = Digests(payload=_plain_payload(command))
        issues = isinstance(command, IssueKey)
        return Opened(
            command_id=received.envelope.command_id,
            principal=received.envelope.principal,
            algorithm=Algorithm(received.verifier.algorithm.value),
            command=command,
            digests=digests,
            body=facts,
            failure=failure,
            findings=findings,
            redacted=redacted,
            proven=proven,
            from_here=isinstance(command, RestoreMemory)
            and command.proof is not None
            and command.proof.log_id == self.keyring.log_id,
            fresh_key_id=KeyId(new_id()) if issues else None,
            fresh_root_key_id=KeyId(new_id()) if issues else None,
        )

    def peek(self, command: Command, known: Known) -> Digests | None:
        """Under what a draft is indexed, where its keys are in the cache: so a batch loads at once what each may meet.

        Not what it is judged by: `open` is, and what was not foreseen is loaded then.
        """
        if not isinstance(command, RememberMemory | CorrectMemory):
            return None
        keys = self._cached(command.tenant, command.draft, known)
        found = None if keys is None else _read(keys, command.draft)
        if keys is None or found is None or isinstance(found, Reason):
            return None
        return _indexed(keys[1], found[0], found[0])

    def _cached(self, tenant: TenantId, draft: Draft, known: Known) -> tuple[DataCipher, SubjectRoot] | None:
        if not _open_in(known, draft):
            return None
        cipher = self.keyring.cached_data_cipher(tenant, draft.key_id, draft.subject, draft.generation)
        root = self.keyring.cached_subject_root(tenant, draft.subject)
        if cipher is None or root is None or root.meta.generation != draft.generation:
            return None
        return cipher, root

    async def _keys(self, tenant: TenantId, draft: Draft, known: Known) -> tuple[DataCipher, SubjectRoot] | None:
        """The data key and root of an open generation; None where the ledger does not know them as open."""
        if not _open_in(known, draft):
            return None
        cached = self._cached(tenant, draft, known)
        if cached is not None:
            return cached
        try:
            return await self._load(tenant, draft)
        except (KeyUnknown, KeyClosed):
            # The ledger says it is open: the key models may be behind. Only once they are not is this an answer.
            await self.caught_up()
            self.keyring.evict_subject(tenant, draft.subject)
        try:
            return await self._load(tenant, draft)
        except (KeyUnknown, KeyClosed):
            return None

    async def _load(self, tenant: TenantId, draft: Draft) -> tuple[DataCipher, SubjectRoot]:
        keyring = self.keyring
        cipher = await keyring.data_cipher(tenant, draft.key_id, draft.subject, draft.generation, draft.expires_at)
        root = await keyring.subject_root(tenant, draft.subject)
        if root.meta.generation != draft.generation:
            raise KeyUnknown(tenant, draft.subject, root.key_id)
        return cipher, root


def _open_in(known: Known, draft: Draft) -> bool:
    """Whether the ledger knows the draft's key, and the generation that it serves as open."""
    subject, key = known.subject, known.key
    if known.tenant is None or subject is None or subject.closed or subject.generation != draft.generation:
        return False
    return key is not None and (key.subject, key.generation) == (draft.subject, draft.generation)


def _read(keys: tuple[DataCipher, SubjectRoot], draft: Draft) -> Reason | tuple[MemoryBody, BodyFacts]:
    cipher, root = keys
    try:
        plain = cipher.open(draft.memory_id, draft.body_version, draft.body)
        body = BODIES.decode(plain)
        _claim_ref(root, body)
    except (SealBroken, SchemaError, TextRefused):
        return Reason.UNREADABLE_BODY
    return body, body_facts(body, len(plain))


def _digests(
    root: SubjectRoot, command: RememberMemory | CorrectMemory | RestoreMemory, body: MemoryBody, kept: MemoryBody
) -> Digests:
    """``body`` is what was asked for, ``kept`` what will be stored: they differ where something was redacted."""
    payload = restored_payload(command, body) if isinstance(command, RestoreMemory) else _payload(command, body)
    return replace(_indexed(root, body, kept), payload=root.payload_digest(payload))


def _indexed(root: SubjectRoot, body: MemoryBody, kept: MemoryBody) -> Digests:
    content_hash = root.content_hash(same_words(kept.statement))
    return Digests(payload=b"", content_hash=content_hash, claim_ref=_claim_ref(root, body))


def _claim_ref(root: SubjectRoot, body: MemoryBody) -> bytes | None:
    return None if body.claim_key is None else root.claim_reference(same_key(body.claim_key))


def _sealed_anew(cipher: DataCipher, draft: Draft, body: MemoryBody) -> Draft:
    """The draft with another body, under the next body version: no two texts share a version and a record."""
    version = draft.body_version + 1
    return replace(draft, body_version=version, body=cipher.seal(draft.memory_id, version, BODIES.encode(body)))


def body_facts(body: MemoryBody, size: int) -> BodyFacts:
    """What `decide` may know of a body of ``size`` bytes."""
    return BodyFacts(
        statement_chars=len(body.statement),
        body_bytes=size,
        event_ids=len(body.event_ids),
        has_provenance=bool(body.source_uri or body.event_ids or body.provenance),
        blank=_blank(body.statement),
        names_record=bool(body.source_uri or body.external_id),
        answers=frozenset(
            () if body.answers is None else (name for name in _ANSWERS if getattr(body.answers, name) is not None)
        ),
    )


def _blank(text: str) -> bool:
    return all(unicodedata.category(each) in _INVISIBLE for each in text)


def _payload(command: RememberMemory | CorrectMemory, body: MemoryBody) -> bytes:
    """What makes two requests the same: every clear field the author chose, and the plaintext; never ciphertext."""
    draft = command.draft
    chosen = (
        command.supersedes if isinstance(command, CorrectMemory) else None,
        command.expected_version,
        ("ttl", draft.ttl) if draft.ttl is not None else ("expires_at", draft.expires_at),
        *_CHOSEN(draft),
        *_SAID(body),
    )
    # Msgpack of a fixed sequence: each value says its type and length, and there is one shortest form of it.
    return canonical("eunoe/payload/1", type(command).__name__, _ENCODER.encode(chosen))


def _seen(others: Iterable[SeenRef]) -> Iterable[str | int]:
    return (part for each in others for part in (each.memory_id, each.version))


def _plain_payload(command: Command) -> bytes:
    """For commands without a body: ids, versions and codes, which no key has to hide."""
    match command:
        case PromoteMemory(replaces=old):
            named: tuple[str | int | None, ...] = (command.memory_id, *_seen(() if old is None else (old,)))
        case ResolveConflict() | ConfirmMemory():
            named = (command.memory_id, *_seen(getattr(command, "over", ())))
        case SuspendMemory():
            named = (command.memory_id, *command.reasons)
        case ForgetMemory():
            named = (command.memory_id, command.subject)
        case RejectMemory() | RetractMemory():
            named = (command.memory_id, command.reason)
        case ForgetSubject() | ReadmitSubject() | WithdrawForgetting() | LiftHold():
            named = (command.subject,)
        case HoldSubject():
            named = (command.subject, command.review_at)
        case CompleteForgetting():
            named = (command.subject, command.generation, command.due_at)
        case RecordExport():
            named = (command.subject, command.identity_check)
        case ForgetTenant() | CompleteTenantForgetting() | ReadmitTenant():
            named = (command.incarnation,)
        case IssueKey():
            named = (command.subject, command.bucket)
        case ExpireMemory():
            named = (command.memory_id, command.expires_at)
        case RememberMemory() | CorrectMemory() | RestoreMemory():
            raise TypeError("a command with a body has a keyed digest")
        case _:
            assert_never(command)
    version = getattr(command, "expected_version", None)
    payload = canonical("eunoe/payload/1", type(command).__name__, version, named)
    return hashlib.sha256(payload).digest()[:_DIGEST_BYTES]

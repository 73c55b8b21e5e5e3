"""From a stored record to what a caller may see: the checks once more, then the body."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import msgspec

from eunoe.crypto.errors import KeyClosed, KeyUnknown
from eunoe.crypto.keyring import Keyring
from eunoe.readmodels.recall.errors import KeyStillUnknown, UnreadableStored
from eunoe.readmodels.recall.explain import Score
from eunoe.readmodels.recall.keys import ACTIVE, PROVENANCE, Head
from eunoe.readmodels.recall.record import RECORDS, StoredRecord
from eunoe.readmodels.recall.result import RecalledMemory
from eunoe.readmodels.recall.scope import Filters, ReadScope
from eunoe.schemas.codec import BODIES
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.ids import MemoryId, Millis
from eunoe.schemas.values import Trust, Visibility

_NO_SCORE: Final = Score(total=0.0, contributions=())
EXACT_READ: Final = ("exact_read",)
"""Selected because it was asked for by its id, not by words."""


def record_of(document: bytes, head: Head) -> StoredRecord:
    """Raises `UnreadableStored`."""
    try:
        return RECORDS.decode(memoryview(document)[head.record_at :])
    except msgspec.MsgspecError as error:
        raise UnreadableStored("record") from error


def refusal_of(head: Head, record: StoredRecord, scope: ReadScope, filters: Filters) -> str | None:
    """The first hard filter that the record fails, or None. The same order as in Redis, structure first."""
    owned = record.visibility is Visibility.SHARED or record.agent == scope.agent
    if record.tenant != scope.tenant or not owned or scope.purpose not in record.purposes or head.state != ACTIVE:
        return "scope"
    refused = filters.refusal_of_grades(head.member.grades)
    if refused == "scope":
        return refused
    if record.expires_at <= filters.at:
        return "expired"
    if record.created_at > filters.known_until:
        return "not_yet_known"
    if refused is not None:
        return refused
    if record.created_at < filters.known_since:
        return "too_old"
    if filters.require_provenance and not head.member.flags & PROVENANCE:
        return "provenance"
    bounds = (record.valid_from or 0, record.valid_until or filters.at + 1)
    if not bounds[0] <= filters.at < bounds[1]:
        return "validity"
    if record.surfaces and filters.surface not in record.surfaces:
        return "surface"
    return None


def conflicts_of(rivals: Sequence[bytes], scope: ReadScope, filters: Filters) -> tuple[MemoryId, ...]:
    """Those of ``rivals`` (documents) that this caller may know of: in its scope, and not beyond what it may read.

    What it chose to leave out (classes, trust, age, provenance) contradicts all the same.
    """
    if not rivals:
        return ()
    known = replace(filters, classes=None, trust_min=Trust.UNTRUSTED, known_since=Millis(0), require_provenance=False)
    found = []
    for document in rivals:
        head = Head.unpack(document)
        record = record_of(document, head)
        if refusal_of(head, record, scope, known) is None:
            found.append(record.memory_id)
    return tuple(sorted(found))


async def open_body(keyring: Keyring, record: StoredRecord) -> MemoryBody | None:
    """The body; None where it is erased. Raises `KeyStillUnknown`, or ``SealBroken``: the body is another record's."""
    claim = (record.tenant, record.key_id, record.subject, record.generation)
    cipher = keyring.cached_data_cipher(*claim)
    if cipher is None:
        try:
            cipher = await keyring.data_cipher(*claim, record.expires_at)
        except KeyClosed:
            return None
        except KeyUnknown as error:
            raise KeyStillUnknown(record.tenant, record.key_id) from error
    return BODIES.decode(cipher.open(record.memory_id, record.body_version, record.body))


def recalled(
    head: Head, record: StoredRecord, body: MemoryBody, score: Score | None, conflicts: tuple[MemoryId, ...] = ()
) -> RecalledMemory:
    """``score`` None: an exact read, or a record that was found by no term that counts."""
    score = score or _NO_SCORE
    grades = head.member.grades
    return RecalledMemory(
        memory_id=record.memory_id,
        version=head.version,
        statement=body.statement,
        score=score.total,
        terms=score.contributions,
        reasons=EXACT_READ if score is _NO_SCORE else score.causes,
        conflicts=conflicts,
        kind=record.kind,
        memory_class=record.memory_class,
        claim_key=body.claim_key,
        agent=record.agent,
        visibility=record.visibility,
        purposes=record.purposes,
        surfaces=record.surfaces,
        source_kind=record.source_kind,
        source_uri=body.source_uri,
        event_ids=body.event_ids,
        session_id=body.session_id,
        provenance=body.provenance,
        principal=record.principal,
        trust=grades.trust,
        confirmation=grades.confirmation,
        confidence=record.confidence,
        sensitivity=record.sensitivity,
        retention=record.retention,
        observed_at=record.observed_at,
        created_at=record.created_at,
        valid_from=record.valid_from,
        valid_until=record.valid_until,
        expires_at=record.expires_at,
        external_id=body.external_id,
        policy_version=record.policy_version,
        producer_surface=record.producer_surface,
        scope=record.scope,
        export_delete_policy=record.export_delete_policy,
        conflict_policy=record.conflict_policy,
        evidence=body.evidence,
        answers=body.answers,
        derived_from=record.derived_from,
    )

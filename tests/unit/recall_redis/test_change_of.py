"""What facts without a record do: one operation each, with absolute values."""

import pytest

from eunoe.readmodels.recall.fold import change_of
from eunoe.schemas import events
from eunoe.schemas.events import Fact, Reason, SupersededRef
from eunoe.schemas.ids import CommandId, KeyId, LogId, MemoryId, Millis, Pseudonym, TenantId
from eunoe.schemas.values import Trust

ACME = TenantId("acme")
ONE, TWO = (MemoryId(f"01890000-0000-7000-8000-00000000000{at}") for at in (1, 2))
ONE_BYTES, TWO_BYTES = (bytes.fromhex(each.replace("-", "")) for each in (ONE, TWO))
ANNA = Pseudonym("a" * 32)


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        (events.MemoryRetracted(memory_id=ONE, version=2), [("recall.drop", ACME, ONE_BYTES)]),
        (
            events.MemorySuspended(
                memory_id=ONE,
                version=2,
                reasons=("sent_back",),
                subject=Pseudonym("a" * 32),
                generation=1,
                expires_at=Millis(1),
            ),
            [("recall.suspend", ACME, ONE_BYTES, 2)],
        ),
        (events.MemoryExpired(memory_id=ONE, version=2), [("recall.drop", ACME, ONE_BYTES)]),
        (events.MemoryForgotten(memory_id=ONE, version=2), [("recall.drop", ACME, ONE_BYTES)]),
        (events.MemoryRejected(memory_id=ONE, version=2, reason="x"), [("recall.drop", ACME, ONE_BYTES)]),
        (events.MemoryConfirmed(memory_id=ONE, version=3), [("recall.confirm", ACME, ONE_BYTES, 1, 3)]),
        (
            events.MemoryPromoted(
                memory_id=ONE, version=2, trust=Trust.VERIFIED, supersedes=SupersededRef(memory_id=TWO, version=5)
            ),
            [("recall.drop", ACME, TWO_BYTES), ("recall.promote", ACME, ONE_BYTES, 2, 2)],
        ),
        (
            events.MemoryPromoted(
                memory_id=ONE,
                version=2,
                trust=Trust.VERIFIED,
                conflicts_with=(events.ConflictRef(memory_id=TWO, version=4),),
            ),
            [("recall.promote", ACME, ONE_BYTES, 2, 2), ("recall.contest", ACME, ONE_BYTES, TWO_BYTES, 4)],
        ),
        (
            events.ConflictResolved(memory_id=ONE, version=3, superseded=(SupersededRef(memory_id=TWO, version=5),)),
            [("recall.drop", ACME, TWO_BYTES), ("recall.version", ACME, ONE_BYTES, 3)],
        ),
        (
            events.CandidateObserved(memory_id=ONE, kind="fact", purposes=("support",), verdict="accepted"),
            [],
        ),
        (events.SubjectForgotten(subject=ANNA, generation=2, records=9), [("recall.close", ACME, ANNA, 2)]),
        (events.SubjectReadmitted(subject=ANNA, generation=3), [("recall.readmit", ACME, ANNA, 3)]),
        (events.CommandRejected(command="x", reason=Reason.NOT_FOUND), []),
        (events.CommandDuplicate(first_command_id=CommandId("x")), []),
        (events.KeyIssued(incarnation=1, key_id=KeyId("x"), created=True), []),
        (events.PartitionOpened(log_id=LogId("x"), partition=0, partitions=1), []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_fact_is_one_operation(fact: Fact, expected: list[tuple[object, ...]]) -> None:
    assert list(change_of(fact, ACME)) == expected

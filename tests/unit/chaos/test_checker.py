"""The checker finds each violation in a log that was doctored to hold just that one, and none in a sound log."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from eunoe.schemas.commands import Command, ExpireMemory, IssueKey
from eunoe.schemas.events import (
    CommandDuplicate,
    CommandRejected,
    ConflictRef,
    Event,
    Fact,
    KeyIssued,
    MemoryConfirmed,
    MemoryExpired,
    Reason,
    SupersededRef,
)
from eunoe.schemas.ids import CommandId, KeyId, LogId, MemoryId, Millis, Offset, Pseudonym, TenantId
from eunoe.schemas.partitioning import partition_of
from eunoe.testing.chaos.checker import CHECKS, lost, violations
from eunoe.testing.chaos.logged import Asked, Decided, Lettered, Logged
from eunoe.testing.samples import (
    SAMPLE_TENANT,
    SAMPLE_TIME,
    HeaderFields,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_genesis,
    sample_id,
)

PARTITIONS = 4
HOME = partition_of(SAMPLE_TENANT, PARTITIONS)
KEY = SAMPLE_TENANT.encode()
ONE, TWO, NEW = (MemoryId(sample_id(each)) for each in ("one", "two", "new"))


def command(number: int) -> CommandId:
    return CommandId(sample_id(f"command {number}"))


def asked(number: int, what: Command | None = None, offset: int | None = None) -> Asked:
    """Command ``number``, at the offset of its number."""
    at = number if offset is None else offset
    what = what or IssueKey(tenant=SAMPLE_TENANT)
    return Asked(partition=HOME, offset=at, key=KEY, command_id=command(number), command=what)


def unreadable(offset: int) -> Asked:
    return Asked(partition=HOME, offset=offset, key=KEY)


def accepted(memory_id: MemoryId, **over: object) -> Fact:
    made = sample_accepted(sample_draft(memory_id=memory_id))
    return replace(made, **over)


def decided(number: int, fact: Fact, *, at: int | None = None, header: HeaderFields | None = None) -> Decided:
    """What became of command ``number``; ``at``: its own offset."""
    fields: HeaderFields = {
        "command_id": command(number),
        "input_offset": Offset(number),
        "decided_at": Millis(SAMPLE_TIME + number),
    }
    event = sample_event(fact, **(fields | (header or {})))
    return Decided(partition=HOME, offset=1 + (number if at is None else at), key=KEY, event=event)


def keyed(word: str, payload: str = "same") -> HeaderFields:
    return {"idempotency": word.encode(), "payload_digest": payload.encode()}


GENESIS = tuple(
    Decided(partition=each, offset=0, key=None, event=sample_genesis(LogId(sample_id("log")), each, PARTITIONS))
    for each in range(PARTITIONS)
)
KEY_MADE = KeyIssued(
    incarnation=1, subject=Pseudonym("5a" * 16), generation=1, bucket=None, key_id=KeyId(sample_id("k")), created=True
)
DUE = ExpireMemory(tenant=SAMPLE_TENANT, memory_id=ONE, expected_version=2, expires_at=Millis(SAMPLE_TIME + 6))
SOUND = Logged(
    partitions=PARTITIONS,
    asked=(
        *(asked(number) for number in range(6)),
        asked(0, offset=6),  # one command sent twice
        unreadable(7),
        asked(8, DUE),
        asked(8, DUE, offset=9),
        asked(10),
    ),
    decided=(
        *GENESIS,
        decided(0, KEY_MADE),
        decided(1, accepted(ONE), header=keyed("a")),
        decided(2, CommandDuplicate(first_command_id=command(1), memory_id=ONE, version=1), header=keyed("a")),
        decided(3, CommandRejected(command="x", reason=Reason.IDEMPOTENCY_MISMATCH), header=keyed("a", "other")),
        decided(4, accepted(TWO, conflicts_with=(ConflictRef(memory_id=ONE, version=2),)), header=keyed("b")),
        decided(5, replace(KEY_MADE, created=False)),
        decided(8, CommandRejected(command="ExpireMemory", reason=Reason.NOT_DUE)),
        decided(8, MemoryExpired(memory_id=ONE, version=3), at=9, header={"input_offset": Offset(9)}),
        decided(10, accepted(NEW, supersedes=SupersededRef(memory_id=TWO, version=2)), header=keyed("c")),
    ),
    letters=(Lettered(partition=HOME, offset=7, reason="undecodable"),),
)


def found(log: Logged) -> set[str]:
    return {each.check for each in violations(log)}


def without(number: int) -> Logged:
    """`SOUND` without what was decided on command ``number``."""
    kept = tuple(each for each in SOUND.decided if each.event.header.command_id != command(number))
    return replace(SOUND, decided=kept)


def with_fact(number: int, fact: Fact) -> Logged:
    """`SOUND` with another fact in the place of what was decided on ``number``."""
    return replace(SOUND, decided=tuple(_with(each, number, fact) for each in SOUND.decided))


def _with(each: Decided, number: int, fact: Fact) -> Decided:
    if each.event.header.command_id != command(number):
        return each
    return replace(each, event=Event(header=each.event.header, fact=fact))


def with_header(number: int, **over: object) -> Logged:
    def changed(each: Decided) -> Decided:
        if each.event.header.command_id != command(number):
            return each
        return replace(each, event=Event(header=replace(each.event.header, **over), fact=each.event.fact))

    return replace(SOUND, decided=tuple(changed(each) for each in SOUND.decided))


def and_decided(*more: Decided) -> Logged:
    return replace(SOUND, decided=(*SOUND.decided, *more))


def and_asked(*more: Asked) -> Logged:
    return replace(SOUND, asked=(*SOUND.asked, *more))


def test_a_sound_log_has_no_violation() -> None:
    assert violations(SOUND) == ()


DOCTORED: list[tuple[str, str, Callable[[], Logged]]] = [
    ("a command without an outcome", "each command has exactly one outcome", lambda: without(10)),
    (
        "a command with two outcomes",
        "each command has exactly one outcome",
        lambda: and_decided(decided(10, accepted(MemoryId(sample_id("again"))), at=11, header=keyed("d"))),
    ),
    (
        "a bad record without a dead letter",
        "each command has exactly one outcome",
        lambda: replace(SOUND, letters=()),
    ),
    (
        "an event of a command that nobody sent",
        "each event comes from its command",
        lambda: and_decided(decided(40, accepted(MemoryId(sample_id("from nowhere"))))),
    ),
    (
        "an event that names another record",
        "each event comes from its command",
        lambda: with_header(10, input_offset=Offset(9)),
    ),
    (
        "an event of another tenant than its command",
        "each event comes from its command",
        lambda: with_header(10, tenant=TenantId("somebody-else")),
    ),
    (
        "a record that was decided and has a dead letter",
        "each event comes from its command",
        lambda: replace(SOUND, letters=(*SOUND.letters, Lettered(partition=HOME, offset=10, reason="overdue"))),
    ),
    (
        "two dead letters of one record",
        "each bad record has one dead letter",
        lambda: replace(SOUND, letters=SOUND.letters * 2),
    ),
    (
        "a dead letter of no record",
        "each bad record has one dead letter",
        lambda: replace(SOUND, letters=(*SOUND.letters, Lettered(partition=HOME, offset=99, reason="overdue"))),
    ),
    (
        "events out of the order of their commands",
        "events come in the order of commands",
        lambda: replace(SOUND, decided=(*SOUND.decided[:-2], SOUND.decided[-1], SOUND.decided[-2])),
    ),
    (
        "log time that goes back",
        "events come in the order of commands",
        lambda: with_header(10, decided_at=SAMPLE_TIME),
    ),
    (
        "an event in another partition than its tenant's",
        "each event is in its tenant's partition",
        lambda: replace(
            SOUND,
            decided=(*SOUND.decided[:-1], replace(SOUND.decided[-1], partition=(HOME + 1) % PARTITIONS)),
        ),
    ),
    (
        "an event under another key",
        "each event is in its tenant's partition",
        lambda: replace(SOUND, decided=(*SOUND.decided[:-1], replace(SOUND.decided[-1], key=b"other"))),
    ),
    ("a partition opened twice", "each partition is opened once", lambda: and_decided(GENESIS[HOME])),
    ("a partition never opened", "each partition is opened once", lambda: replace(SOUND, decided=SOUND.decided[4:])),
    (
        "a version left out",
        "versions have no gap and no repeat",
        lambda: with_fact(10, accepted(NEW, supersedes=SupersededRef(memory_id=TWO, version=3))),
    ),
    (
        "a version that comes twice",
        "versions have no gap and no repeat",
        lambda: with_fact(10, accepted(NEW, supersedes=SupersededRef(memory_id=TWO, version=1))),
    ),
    (
        "a record born twice",
        "versions have no gap and no repeat",
        lambda: with_fact(10, accepted(ONE)),
    ),
    (
        "a change of a record that was never born",
        "versions have no gap and no repeat",
        lambda: with_fact(10, MemoryConfirmed(memory_id=NEW, version=2)),
    ),
    (
        "two requests that took effect under one key",
        "idempotency held",
        lambda: with_header(10, idempotency=b"a"),
    ),
    (
        "a duplicate of another command",
        "idempotency held",
        lambda: with_fact(2, CommandDuplicate(first_command_id=command(4), memory_id=ONE, version=1)),
    ),
    (
        "a duplicate of something else than was answered first",
        "idempotency held",
        lambda: with_fact(2, CommandDuplicate(first_command_id=command(1), memory_id=ONE, version=2)),
    ),
    (
        "a duplicate with another payload",
        "idempotency held",
        lambda: with_header(2, payload_digest=b"other"),
    ),
    (
        "a duplicate of nothing",
        "idempotency held",
        lambda: with_header(2, idempotency=b"never seen"),
    ),
    (
        "a mismatch with an equal payload",
        "idempotency held",
        lambda: with_header(3, payload_digest=b"same"),
    ),
    (
        "two keys for one place",
        "one key for each place",
        lambda: with_fact(5, replace(KEY_MADE, key_id=KeyId(sample_id("another")))),
    ),
    (
        "an answer that names another key",
        "one key for each place",
        lambda: with_fact(5, replace(KEY_MADE, created=False, key_id=KeyId(sample_id("another")))),
    ),
    ("an answer about a key that nobody made", "one key for each place", lambda: without(0)),
    (
        "a record that expired too soon",
        "nothing expires before its time",
        lambda: replace(
            SOUND,
            asked=tuple(
                replace(each, command=replace(DUE, expires_at=Millis(SAMPLE_TIME + 60_000)))
                if isinstance(each.command, ExpireMemory)
                else each
                for each in SOUND.asked
            ),
        ),
    ),
]


@pytest.mark.parametrize(("check", "doctored"), [each[1:] for each in DOCTORED], ids=[each[0] for each in DOCTORED])
def test_each_violation_is_found(check: str, doctored: Callable[[], Logged]) -> None:
    assert check in found(doctored())


def test_every_check_has_a_log_that_it_fails() -> None:
    assert {check for _, check, _ in DOCTORED} == set(CHECKS)


def test_a_command_that_is_not_due_may_be_judged_again_and_only_that() -> None:
    again = decided(8, CommandRejected(command="ExpireMemory", reason=Reason.NOT_FOUND), at=20)
    assert "each command has exactly one outcome" in found(and_decided(again))


def test_what_kafka_confirmed_and_does_not_have_is_lost() -> None:
    assert [each.where for each in lost(SOUND, [command(1), command(77)])] == [f"command {command(77)}"]


def test_violations_hold_no_content() -> None:
    for _, _, doctored in DOCTORED:
        for each in violations(doctored()):
            assert "sealed body" not in f"{each.where} {each.what}"

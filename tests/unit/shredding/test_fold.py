"""What each fact makes due: pure, without a key, and the same however often it is folded."""

import pytest
from msgspec import Struct

from eunoe.crypto.hierarchy import NO_TENANT, KeyKind
from eunoe.processors.shredding.due import day_over, month_over, record_over
from eunoe.processors.shredding.fold import DueLettersModel, DueModel
from eunoe.processors.shredding.issued import keys_of_generation
from eunoe.processors.shredding.names import ShredNames, shred_prefix
from eunoe.processors.shredding.units import Generation, Incarnation, OneKey, OneRecord, Unit, member, unit_of
from eunoe.runtime.redis.watermark import Operation
from eunoe.schemas.events import (
    Fact,
    KeyIssued,
    MemoryExpired,
    MemoryForgotten,
    MemoryRetracted,
    SubjectForgotten,
    SubjectReadmitted,
    SubjectRef,
    TenantForgotten,
)
from eunoe.schemas.ids import Bucket, KeyId, LogId, MemoryId, Partition, Pseudonym, TenantId
from eunoe.schemas.topics import Topic
from eunoe.testing.samples import (
    SAMPLE_SUBJECT,
    SAMPLE_TENANT,
    SAMPLE_TIME,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_id,
    sample_key,
    sample_quarantined,
)

LOG = LogId(sample_id("log"))
NAMES = ShredNames(shred_prefix(LOG, Partition(0)))
SISTER = Pseudonym("1b" * 16)
KEY, ROOT, RECORD = KeyId(sample_id("key")), KeyId(sample_id("root")), MemoryId(sample_id("record"))
MAY = Bucket("2027-05")
WHOLE = NAMES.tenant(SAMPLE_TENANT, 1)


class At(Struct, frozen=True):
    value: object


async def folded(fact: Fact) -> list[Operation]:
    (writes,) = await DueModel().fold(NAMES.prefix, [At(sample_event(fact, decided_at=SAMPLE_TIME))])  # type: ignore[list-item]  # any value
    return list(writes)


def issued(bucket: str | None, *, created: bool = True, subject: Pseudonym | None = SAMPLE_SUBJECT) -> KeyIssued:
    return KeyIssued(
        incarnation=1,
        subject=subject,
        generation=0 if subject is None else 2,
        bucket=None if bucket is None else Bucket(bucket),
        key_id=KEY,
        root_key_id=None if subject is None else ROOT,
        created=created,
    )


async def test_a_months_key_belongs_to_its_generation_and_is_due_after_the_month() -> None:
    keys = NAMES.rest(NAMES.keys(SAMPLE_TENANT, SAMPLE_SUBJECT, 2))
    assert await folded(issued(MAY)) == [
        ("SADD", WHOLE, KEY, ROOT, keys),
        ("SADD", NAMES.keys(SAMPLE_TENANT, SAMPLE_SUBJECT, 2), KEY, ROOT),
        ("ZADD", NAMES.due, month_over(MAY), member(OneKey(KEY))),
    ]


async def test_a_records_own_key_is_known_by_the_record() -> None:
    names = (NAMES.keys(SAMPLE_TENANT, SAMPLE_SUBJECT, 2), NAMES.own(SAMPLE_TENANT, RECORD))
    assert await folded(issued(RECORD)) == [
        ("SADD", WHOLE, KEY, ROOT, *map(NAMES.rest, names)),
        ("SADD", NAMES.keys(SAMPLE_TENANT, SAMPLE_SUBJECT, 2), KEY, ROOT),
        ("SET", NAMES.own(SAMPLE_TENANT, RECORD), KEY),
    ]


async def test_a_tenants_key_is_guarded_and_a_days_key_due_after_its_retention() -> None:
    assert await folded(issued(None, subject=None)) == [("SADD", WHOLE, KEY), ("SADD", NAMES.guarded, KEY)]
    assert await folded(issued("2027-05-31", subject=None)) == [
        ("SADD", WHOLE, KEY),
        ("ZADD", NAMES.due, day_over(Bucket("2027-05-31"), Topic.ACCESS), member(OneKey(KEY))),
    ]


async def test_an_answer_about_a_key_that_was_there_says_nothing_new() -> None:
    assert await folded(issued(MAY, created=False)) == []


@pytest.mark.parametrize("quarantined", [False, True])
async def test_a_record_says_when_its_key_ends_and_whom_it_is_about(quarantined: bool) -> None:
    draft = sample_draft(memory_id=RECORD, key_id=KEY)
    about = (SubjectRef(subject=SISTER, generation=3),)
    fact: Fact = sample_quarantined(draft=draft, about=about) if quarantined else sample_accepted(draft, about=about)
    assert await folded(fact) == [
        ("ZADD", NAMES.due, record_over(draft.expires_at), member(OneKey(KEY))),
        ("SADD", NAMES.about(SAMPLE_TENANT, SISTER, 3), RECORD),
        ("SADD", WHOLE, NAMES.rest(NAMES.about(SAMPLE_TENANT, SISTER, 3))),
    ]


@pytest.mark.parametrize("ending", [MemoryForgotten, MemoryExpired])
async def test_a_record_that_is_over_is_due_at_once(ending: type[MemoryForgotten]) -> None:
    assert await folded(ending(memory_id=RECORD, version=2)) == [
        ("ZADD", NAMES.todo, SAMPLE_TIME, member(OneRecord(SAMPLE_TENANT, RECORD)))
    ]


async def test_a_forgotten_subject_is_due_at_once_and_by_generation() -> None:
    assert await folded(SubjectForgotten(subject=SAMPLE_SUBJECT, generation=2, records=7)) == [
        ("ZADD", NAMES.todo, SAMPLE_TIME, member(Generation(SAMPLE_TENANT, SAMPLE_SUBJECT, 2)))
    ]


@pytest.mark.parametrize("key", [KEY, None])
async def test_a_forgotten_tenant_is_due_at_once_and_its_key_is_guarded_no_more(key: KeyId | None) -> None:
    due = ("ZADD", NAMES.todo, SAMPLE_TIME, member(Incarnation(SAMPLE_TENANT, 3)))
    guard = [] if key is None else [("SREM", NAMES.guarded, key)]
    assert await folded(TenantForgotten(incarnation=3, key_id=key)) == [*guard, due]


async def test_what_ends_nothing_destroys_nothing() -> None:
    assert await folded(MemoryRetracted(memory_id=RECORD, version=2)) == []
    assert await folded(SubjectReadmitted(subject=SAMPLE_SUBJECT, generation=3)) == []


async def test_of_the_topic_of_keys_only_dead_letters_days_are_taken() -> None:
    letter = sample_key(LOG, KeyKind.DEAD_LETTER, key_id=KEY, tenant=NO_TENANT, bucket=Bucket("2027-05-31"))
    data = sample_key(LOG, KeyKind.DATA, key_id=ROOT, subject=SAMPLE_SUBJECT, generation=1, bucket=MAY)
    assert await DueLettersModel().fold(NAMES.prefix, [At(data), At(letter), At(None)]) == [
        (),
        (("ZADD", NAMES.due, day_over(Bucket("2027-05-31"), Topic.DEAD_LETTERS), member(OneKey(KEY))),),
        (),
    ]


@pytest.mark.parametrize(
    "unit",
    [
        OneKey(KEY),
        OneRecord(TenantId("a.b-c_d"), RECORD),
        Generation(SAMPLE_TENANT, SAMPLE_SUBJECT, 12),
        Incarnation(SAMPLE_TENANT, 3),
    ],
)
def test_a_unit_is_read_back_as_it_was_written(unit: Unit) -> None:
    assert unit_of(member(unit)) == unit


@pytest.mark.parametrize("text", ["", "k", "x|y", "g|a|b", "g|a|b|c|d"])
def test_what_is_no_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unit of work"):
        unit_of(text)


def test_a_generations_keys_are_found_in_the_log() -> None:
    other, shared = KeyId(sample_id("other")), KeyId(sample_id("shared"))
    draft = sample_draft(memory_id=RECORD, key_id=shared, subject=SISTER)
    whom = SubjectRef(subject=SAMPLE_SUBJECT, generation=2)
    of_sister = KeyIssued(
        incarnation=1,
        subject=SISTER,
        generation=1,
        bucket=Bucket(RECORD),
        key_id=shared,
        root_key_id=other,
        created=True,
    )
    log = [
        sample_event(issued(None, subject=None)),
        sample_event(issued(MAY)),
        sample_event(of_sister),
        sample_event(sample_accepted(draft, about=(whom,))),
        sample_event(issued(MAY), tenant=TenantId("globex")),
    ]
    found = keys_of_generation(log, SAMPLE_TENANT, whom)
    assert found.own == {KEY, ROOT}
    assert found.shared == {shared}
    assert keys_of_generation(log, SAMPLE_TENANT, SubjectRef(subject=SAMPLE_SUBJECT, generation=1)).all == frozenset()
    assert keys_of_generation(log, SAMPLE_TENANT, SubjectRef(subject=SISTER, generation=1)).all == {shared, other}

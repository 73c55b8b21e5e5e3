"""Keys as a real projector folds them and the key source answers from them."""

import pytest

from eunoe.crypto.errors import KeyClosed, KeySourceUnavailable
from eunoe.crypto.hierarchy import NO_TENANT, KeyKind
from eunoe.crypto.key_source import SubjectKeyState
from eunoe.readmodels.errors import ProjectionStopped
from eunoe.readmodels.key_source import RedisKeySource
from eunoe.readmodels.keys import KeysModel
from eunoe.readmodels.source import KeyDestroyed
from eunoe.readmodels.subjects import SubjectsModel
from eunoe.schemas.events import KeyIssued, SubjectForgotten, SubjectReadmitted, TenantForgotten, TenantReadmitted
from eunoe.schemas.ids import Bucket, CommandId, KeyId, LogId, TenantId
from eunoe.schemas.keys import KeyRecord
from eunoe.schemas.topics import Topic
from eunoe.testing.samples import SAMPLE_SUBJECT, SAMPLE_TENANT, sample_event, sample_id, sample_key
from readmodel_log import Log, running

MAY, JUNE = Bucket("2027-05"), Bucket("2027-06")


def source(log: Log) -> RedisKeySource:
    return RedisKeySource(log.redis, log.installation)


def data_key(log: Log, bucket: Bucket = MAY, generation: int = 1) -> KeyRecord:
    return sample_key(
        log.installation.log_id,
        KeyKind.DATA,
        key_id=KeyId(sample_id(f"data {generation} {bucket}")),
        subject=SAMPLE_SUBJECT,
        generation=generation,
        bucket=bucket,
    )


async def test_keys_are_found_by_id_and_by_what_they_serve(log: Log) -> None:
    log_id = log.installation.log_id
    tenant = sample_key(log_id, KeyKind.TENANT)
    index = sample_key(log_id, KeyKind.INDEX, generation=3, bucket=Bucket("recall"))
    access = sample_key(log_id, KeyKind.ACCESS, bucket=Bucket("2027-05-04"))
    day = sample_key(log_id, KeyKind.DEAD_LETTER, tenant=NO_TENANT, bucket=Bucket("2027-05-04"))
    data = data_key(log)
    await log.write_keys(tenant, data, index, access, day)
    await log.fold(KeysModel(log.redis))
    keys = source(log)
    found = {
        each.key_id
        for each in (
            await keys.tenant(SAMPLE_TENANT),
            await keys.data_key(SAMPLE_TENANT, SAMPLE_SUBJECT, 1, MAY),
            await keys.index_key(SAMPLE_TENANT, "recall", 3),
            await keys.access_key(SAMPLE_TENANT, 1, Bucket("2027-05-04")),
            await keys.dead_letter_key(log.partition, Bucket("2027-05-04")),
        )
        if each is not None
    }
    assert found == {tenant.key_id, data.key_id, index.key_id, access.key_id, day.key_id}
    assert await keys.key(TenantId("globex"), data.key_id) is None
    assert await keys.data_key(SAMPLE_TENANT, SAMPLE_SUBJECT, 1, JUNE) is None


async def test_a_destroyed_key_is_told_apart_from_an_unknown_one_by_id_and_by_bucket(log: Log) -> None:
    await log.write_keys(data_key(log), data_key(log, JUNE))
    await log.write_keys(KeyDestroyed(data_key(log).key_id))
    await log.fold(KeysModel(log.redis))
    keys = source(log)
    with pytest.raises(KeyClosed):
        await keys.key(SAMPLE_TENANT, data_key(log).key_id)
    with pytest.raises(KeyClosed):
        await keys.data_key(SAMPLE_TENANT, SAMPLE_SUBJECT, 1, MAY)
    assert await keys.key(SAMPLE_TENANT, data_key(log, JUNE).key_id) is not None
    assert await keys.key(SAMPLE_TENANT, KeyId(sample_id("never"))) is None
    stored = await log.contents("keys")
    assert b"w" * 60 not in stored[f"key:{data_key(log).key_id}"]


async def test_a_key_and_its_tombstone_in_one_batch_leave_it_destroyed(log: Log) -> None:
    await log.write_keys(data_key(log), KeyDestroyed(data_key(log).key_id))
    await log.fold(KeysModel(log.redis))
    with pytest.raises(KeyClosed):
        await source(log).key(SAMPLE_TENANT, data_key(log).key_id)


async def test_a_tenant_is_as_its_highest_incarnation(log: Log) -> None:
    log_id = log.installation.log_id
    first = sample_key(log_id, KeyKind.TENANT, key_id=KeyId(sample_id("first")))
    tenth = sample_key(log_id, KeyKind.TENANT, key_id=KeyId(sample_id("tenth")), incarnation=10)
    ninth = sample_key(log_id, KeyKind.TENANT, key_id=KeyId(sample_id("ninth")), incarnation=9)
    await log.write_keys(first, tenth, ninth)
    await log.fold(KeysModel(log.redis))
    found = await source(log).tenant(SAMPLE_TENANT)
    assert found is not None
    assert found.key_id == tenth.key_id
    await log.write_keys(KeyDestroyed(tenth.key_id))
    await log.fold(KeysModel(log.redis))
    with pytest.raises(KeyClosed) as closed:
        await source(log).tenant(SAMPLE_TENANT)
    assert closed.value.scope == "tenant"


async def test_a_forgotten_tenants_keys_are_closed_and_those_of_the_next_of_its_name_are_unknown_until_they_come(
    log: Log,
) -> None:
    """Whether the tombstones came or not, and whether compaction has left anything of them or not."""
    log_id, day = log.installation.log_id, Bucket("2027-05-04")
    first = sample_key(log_id, KeyKind.TENANT, key_id=KeyId(sample_id("first")))
    access = sample_key(log_id, KeyKind.ACCESS, key_id=KeyId(sample_id("day")), bucket=day)
    await log.write_keys(first, access, data_key(log))
    models = KeysModel(log.redis), SubjectsModel(log.redis)
    await log.fold(*models)
    keys = source(log)
    assert await keys.tenant(SAMPLE_TENANT) is not None
    await log.write(sample_event(TenantForgotten(incarnation=1, key_id=first.key_id)))
    await log.fold(*models)
    for asked in (
        keys.tenant(SAMPLE_TENANT),
        keys.key(SAMPLE_TENANT, data_key(log).key_id),
        keys.subject(SAMPLE_TENANT, SAMPLE_SUBJECT),
        keys.access_key(SAMPLE_TENANT, 1, day),
        keys.key(SAMPLE_TENANT, KeyId(sample_id("compacted away"))),
    ):
        with pytest.raises(KeyClosed) as closed:
            await asked
        assert closed.value.scope == "tenant"
    await log.write(sample_event(TenantReadmitted(incarnation=2)))
    await log.fold(*models)
    assert await keys.tenant(SAMPLE_TENANT) is None, "not known is not closed"
    with pytest.raises(KeyClosed):
        await keys.key(SAMPLE_TENANT, data_key(log).key_id)
    second = sample_key(log_id, KeyKind.TENANT, key_id=KeyId(sample_id("second")), incarnation=2)
    again = sample_key(log_id, KeyKind.ACCESS, key_id=KeyId(sample_id("day 2")), incarnation=2, bucket=day)
    await log.write_keys(KeyDestroyed(first.key_id), KeyDestroyed(access.key_id), second)
    await log.fold(*models)
    found = await keys.tenant(SAMPLE_TENANT)
    assert (None if found is None else found.key_id) == second.key_id
    assert await keys.access_key(SAMPLE_TENANT, 2, day) is None, "the day has no key in this one yet"
    await log.write_keys(again)
    await log.fold(*models)
    found = await keys.access_key(SAMPLE_TENANT, 2, day)
    assert (None if found is None else found.key_id) == again.key_id


async def test_a_record_of_another_log_or_of_an_unknown_kind_stops_the_partition(log: Log) -> None:
    strange = KeyRecord(
        log_id=log.installation.log_id,
        key_id=KeyId(sample_id("strange")),
        kind="quantum",
        tenant=SAMPLE_TENANT,
        incarnation=1,
        wrapped_by="kek",
        wrapped=b"w",
        created_at=data_key(log).created_at,
    )
    (offset,) = await log.write_keys(strange)
    with pytest.raises(ProjectionStopped) as stopped:
        await log.fold(KeysModel(log.redis))
    assert stopped.value.offset == offset


async def test_a_foreign_key_stops_the_partition(log: Log) -> None:
    (offset,) = await log.write_keys(sample_key(LogId(sample_id("elsewhere")), KeyKind.TENANT))
    with pytest.raises(ProjectionStopped) as stopped:
        await log.fold(KeysModel(log.redis))
    assert stopped.value.offset == offset


async def test_a_subject_is_open_closed_or_unknown_whatever_keys_there_are(log: Log) -> None:
    root = KeyId(sample_id("root"))
    issued = KeyIssued(
        incarnation=1, subject=SAMPLE_SUBJECT, generation=1, bucket=MAY, key_id=data_key(log).key_id,
        root_key_id=root, created=True,
    )  # fmt: skip
    subjects = SubjectsModel(log.redis)
    keys = source(log)
    assert await keys.subject(SAMPLE_TENANT, SAMPLE_SUBJECT) is None
    await log.write(sample_event(issued, command_id=CommandId(sample_id("1"))))
    await log.fold(subjects)
    state = await keys.subject(SAMPLE_TENANT, SAMPLE_SUBJECT)
    assert state == SubjectKeyState(generation=1, closed=False, root_key_id=root)
    await log.write(sample_event(SubjectForgotten(subject=SAMPLE_SUBJECT, generation=1, records=0)))
    await log.fold(subjects)
    state = await keys.subject(SAMPLE_TENANT, SAMPLE_SUBJECT)
    assert state == SubjectKeyState(generation=1, closed=True, root_key_id=None)
    await log.write(sample_event(SubjectReadmitted(subject=SAMPLE_SUBJECT, generation=2)))
    await log.fold(subjects)
    state = await keys.subject(SAMPLE_TENANT, SAMPLE_SUBJECT)
    assert state == SubjectKeyState(generation=2, closed=False, root_key_id=None)
    assert state.erased(1)


async def test_a_source_never_answers_from_a_read_model_that_lost_what_it_had(log: Log) -> None:
    await log.write_keys(data_key(log))
    model = KeysModel(log.redis)
    await log.fold(model)
    keys = source(log)
    assert await keys.key(SAMPLE_TENANT, data_key(log).key_id) is not None
    await log.redis.delete(*[key async for key in log.redis.scan_iter(match=f"{log.prefix('keys')}*")])
    with pytest.raises(KeySourceUnavailable):
        await keys.key(SAMPLE_TENANT, data_key(log).key_id)
    async with running(log.lane(model)):
        await log.caught_up(model)
    assert await keys.key(SAMPLE_TENANT, data_key(log).key_id) is not None


async def test_replaying_from_the_start_gives_the_same(log: Log) -> None:
    await log.write_keys(data_key(log), data_key(log, JUNE), sample_key(log.installation.log_id, KeyKind.TENANT))
    await log.write_keys(KeyDestroyed(data_key(log).key_id))
    await log.fold(KeysModel(log.redis))
    await log.fold(KeysModel(log.redis), generation=2)
    assert await log.contents("keys", 1) == await log.contents("keys", 2) != {}
    assert await log.end(Topic.KEYS) > 4

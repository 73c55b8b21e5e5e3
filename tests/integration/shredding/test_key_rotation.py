"""A key-encryption key rotated on the real stack, from the first wrapping to the day after."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.json import encode
from redis.asyncio import Redis

from eunoe.client.memory import Memory
from eunoe.client.receipts import receipts_until
from eunoe.crypto.errors import SealBroken, WrongKek
from eunoe.crypto.hierarchy import KekWrapper, KeyKind, WrappedKey, before_renewal, key_aad, unwrap_key
from eunoe.crypto.kek import create_key_file, read_key_file
from eunoe.crypto.kek_ring import KekRing
from eunoe.crypto.keys import IndexKey, TenantKeys, open_key
from eunoe.crypto.receipts import receipt_document, verified_statement
from eunoe.crypto.records import from_record
from eunoe.operations.backup_errors import BackupUseless
from eunoe.operations.key_rotation import RotationWishes, rotating
from eunoe.operations.keys_in_use import KeysInUse, keys_in_use
from eunoe.operations.rotation_errors import RotationRefused
from eunoe.readmodels.errors import BeingFilled
from eunoe.readmodels.recall.index_key import ID_BYTES, read_stored
from eunoe.readmodels.recall.keys import scope_name
from eunoe.runtime.holding import Holder
from eunoe.runtime.principals import control_signer
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import Settings
from eunoe.schemas.codec import KEY_RECORDS
from eunoe.schemas.control import KekRotation, RotationStage
from eunoe.schemas.ids import AgentId, CommandId, KeyId, LogId, Offset, Partition, PrincipalName, TenantId
from eunoe.schemas.receipts import OF_BACKUPS, WORDING, Stage
from eunoe.schemas.topics import Topic
from eunoe.testing.waiting import until
from eunoe.worker.embedded import running_services
from eunoe.worker.foundation import open_foundation
from eunoe.worker.roles import Role
from restored_log import (
    Copied,
    RedisBackup,
    TopicsBackup,
    another_database,
    redis_backup,
    restored,
    topics_backup,
)
from shred_log import SCOPE, WHERE, raw

OFFICER = PrincipalName("dev-officer")
ATTESTED = "There is no copy of the old key."
LAST = Stage.BACKUPS_UNREADABLE


@pytest.fixture
def both(settings: Settings, tmp_path: Path) -> Settings:
    """The old KEK in use, the new one beside it."""
    create_key_file(tmp_path / "kek-new")
    return replace(settings, kek_other_file=tmp_path / "kek-new")


def swapped(settings: Settings) -> Settings:
    return replace(settings, kek_file=settings.kek_other_file, kek_other_file=settings.kek_file)


def ids(settings: Settings) -> tuple[str, str]:
    assert settings.kek_file is not None
    assert settings.kek_other_file is not None
    return read_key_file(settings.kek_file).kek_id, read_key_file(settings.kek_other_file).kek_id


async def rotate(settings: Settings, until: RotationStage, **wishes: object) -> KekRotation:
    given = {"settle": 0.2, "patience": 30.0, "attested": ATTESTED} | wishes
    asked = RotationWishes(until=until, **given)  # type: ignore[arg-type]  # a table of wishes has no types of its own
    async with rotating(replace(settings, principal=OFFICER), asked, print) as rotation:
        return await rotation.rotate()


async def in_use(settings: Settings) -> KeysInUse:
    async with open_foundation(settings, "status") as foundation:
        return await keys_in_use(foundation)


@asynccontextmanager
async def working(settings: Settings) -> AsyncIterator[Memory]:
    """A worker of every role, and a client."""
    async with running_services(settings) as running:
        await running.ready()
        async with Memory.connect(settings) as memory:
            yield memory


async def forget(settings: Settings, memory: Memory, subject: str, stage: Stage) -> CommandId:
    async with Memory.connect(replace(settings, principal=OFFICER)) as officer:
        outcome = await officer.forget_subject(subject, tenant="acme")
    found = await receipts_until(settings, memory.installation, TenantId("acme"), [outcome.command_id], stage, 40)
    assert stage in {json.loads(each.body)["stage"] for each in found}
    return outcome.command_id


def public_key(settings: Settings) -> bytes:
    assert settings.attest_key is not None
    return control_signer(settings.attest_key).verifier().public


@dataclass(slots=True)
class Traffic:
    """Writes and reads all the while; everything that goes wrong is kept."""

    memory: Memory
    time: str
    written: int = 0
    read: int = 0
    problems: list[str] = field(default_factory=list)

    async def run(self) -> None:
        while True:
            name = f"{self.time}-{self.written}"
            outcome = await self.memory.remember(f"Likes tea number {name}.", subject=name, **WHERE)
            if outcome.refused:
                self.problems.append(str(outcome.reason))
            self.written += 1
            found = await self.memory.search("green", **SCOPE)
            if not any(each.statement == "Prefers green tea." for each in found.records):
                self.problems.append("not found")
            self.read += 1

    @asynccontextmanager
    async def flowing(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.run())
        try:
            yield
        finally:
            task.cancel()
            done = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(done[0], asyncio.CancelledError), done
        assert not self.problems
        assert min(self.written, self.read) > 0, "the control: there was traffic"


@dataclass(slots=True)
class Backup:
    """Key records of the topic and what Redis holds of `recall`, as somebody copied them."""

    log_id: LogId
    keys: list[WrappedKey]
    index: bytes
    redis: Mapping[bytes, bytes]

    def opens(self, ring: KekRing, live: list[WrappedKey]) -> set[KeyId]:
        """What opens of it, by any KEK and any tenant key that there is, whatever the labels say."""
        tenants, found = [], set()
        for key in (*self.keys, *live):
            for by in (key, before_renewal(key)):
                if by is not None and by.kind is KeyKind.TENANT and (plain := self._plain(KekWrapper(ring), by, "")):
                    opened = open_key(self.log_id, by, plain)
                    assert isinstance(opened, TenantKeys)
                    tenants.append(opened)
        for key in (*self.keys, self.index_key):
            wrappers: list[tuple[KekWrapper | TenantKeys, str]] = [(KekWrapper(ring), "")]
            wrappers += [(each, each.wrapper_id) for each in tenants]
            if any(self._plain(wrapper, key, named) for wrapper, named in wrappers):
                found.add(key.key_id)
        return found

    def _plain(self, wrapper: KekWrapper | TenantKeys, key: WrappedKey, named: str) -> bytes | None:
        try:
            return wrapper.unwrap(key.wrapped, key_aad(self.log_id, key, key.wrapped_by), named or key.wrapped_by)
        except (WrongKek, SealBroken):
            return None

    @property
    def index_key(self) -> WrappedKey:
        return msgspec.msgpack.decode(self.index[ID_BYTES:], type=tuple[WrappedKey, str])[0]

    def has_term(self, ring: KekRing, term: str) -> bool:
        """Whether a searcher who opens the index key meets the term."""
        wrapped = next(each for each in self.keys if each.kind is KeyKind.TENANT)
        tenant = open_key(self.log_id, wrapped, unwrap_key(KekWrapper(ring), self.log_id, wrapped))
        assert isinstance(tenant, TenantKeys)
        key = open_key(self.log_id, self.index_key, unwrap_key(tenant, self.log_id, self.index_key))
        assert isinstance(key, IndexKey)
        tokens = [key.token(scope_name(agent, "support"), term) for agent in (AgentId("bot"), None)]
        return any(token in name + content for name, content in self.redis.items() for token in tokens)


async def tried(settings: Settings, there: Settings) -> KekRotation:
    """With the copy of the new key that is kept apart."""
    assert settings.kek_file is not None
    async with rotating(replace(settings, principal=OFFICER), RotationWishes(patience=30.0), print) as rotation:
        return await rotation.try_backup(there.brokers, there.topics, read_key_file(settings.kek_file))


async def only_a_fresh_and_whole_backup_counts(settings: Settings, stale: TopicsBackup) -> None:
    fresh = await topics_backup(settings)
    for what, backup, changed in (
        ("keys that lay there at the fence are not in it", stale, {}),
        ("keys that lay there at the fence are not in it", fresh, {"KEYS": without_a_key}),
        ("facts until the fence it has", {**fresh, Topic.LIFECYCLE: stale[Topic.LIFECYCLE]}, {}),
        ("are not those of the live log", fresh, {"LIFECYCLE": two_exchanged}),
    ):
        there = await restored(settings, backup, **changed)
        with pytest.raises(BackupUseless, match=what):
            await tried(settings, there)
    with pytest.raises(BackupUseless, match="the live installation itself"):
        await tried(settings, settings)
    step = await tried(settings, await restored(settings, fresh))
    assert step.backup is not None
    assert step.backup.keys == len({each.key for each in fresh[Topic.KEYS] if each.value is not None})
    assert step.backup.bodies >= 2


def without_a_key(records: Sequence[Copied]) -> Sequence[Copied]:
    """One that lives, of somebody."""
    destroyed = {each.key for each in records if each.value is None}
    living = [KEY_RECORDS.decode(each.value) for each in records if each.value and each.key not in destroyed]
    gone = next(each.key_id for each in living if each.kind == KeyKind.DATA)
    return [each for each in records if each.key != gone.encode()]


def two_exchanged(records: Sequence[Copied]) -> Sequence[Copied]:
    return [records[0], records[2], records[1], *records[3:]]


async def found_in(there: Settings) -> bool:
    """Whether a client of what was restored finds the forgotten person. Raises what it raises."""
    async with Memory.connect(there) as memory:
        return bool((await memory.search("black", **SCOPE)).records)


@asynccontextmanager
async def filled_from(stale: TopicsBackup, settings: Settings, log_id: LogId) -> AsyncIterator[Settings]:
    """Topics from before, with read models filled from them as far as they can be, by who has no erasure ledger."""
    there = replace(await restored(settings, stale), erasure_ledger=None)
    async with (
        another_database(there, log_id, {}) as apart,
        running_services(apart, frozenset({Role.PROJECT})) as running,
    ):

        async def settled() -> bool:
            return not running.problems() or any("WrongKek" in each for each in running.problems())

        await until(settled)
        yield apart


async def older_ones_find(settings: Settings, log_id: LogId, stale: TopicsBackup, snapshot: RedisBackup) -> list[str]:
    """What comes of an older Redis under the live log, and of older topics: found, or the error that said why not."""
    results = []
    async with another_database(settings, log_id, snapshot) as apart:
        results.append(await answer_of(apart))
    async with filled_from(stale, settings, log_id) as apart:
        results.append(await answer_of(apart))
    return results


async def answer_of(there: Settings) -> str:
    try:
        return "found" if await found_in(there) else "not found"
    except (WrongKek, BeingFilled) as error:
        return type(error).__name__


async def key_records(settings: Settings) -> list[WrappedKey]:
    return [from_record(KEY_RECORDS.decode(value)) for _, value in await raw(settings, Topic.KEYS) if value is not None]


async def backed_up(settings: Settings, log_id: LogId, redis: Redis) -> Backup:
    prefix = Prefix(log_id, Partition(0), "recall")
    stored: dict[bytes, bytes] = {}
    client: Any = redis
    async for key in client.scan_iter(f"{prefix}*"):
        kind = await client.type(key)
        match kind:
            case b"string":
                stored[key] = await client.get(key)
            case b"hash":
                stored[key] = b"".join(part for pair in (await client.hgetall(key)).items() for part in pair)
            case b"zset":
                stored[key] = b"".join(await client.zrange(key, 0, -1))
            case _:
                stored[key] = b""
    index = await read_stored(redis, prefix, TenantId("acme"))
    assert index is not None
    return Backup(log_id, await key_records(settings), index, stored)


async def test_another_kek_takes_the_place_of_the_old_one_while_everything_goes_on(
    both: Settings, redis: Redis
) -> None:
    old, new = ids(both)
    assert both.kek_file is not None
    olds = KekRing((read_key_file(both.kek_file),))
    async with working(both) as memory:
        await memory.remember("Prefers green tea.", subject="anna", **WHERE)
        outcome = await memory.remember("Prefers black tea.", subject="boris", **WHERE)
        assert (await memory.search("black", after=outcome.token, **SCOPE)).records
        log_id = memory.installation.log_id
        backup = await backed_up(both, log_id, redis)
        assert backup.opens(olds, []) == {each.key_id for each in (*backup.keys, backup.index_key)}, "the control"
        assert backup.has_term(olds, "w:black"), "the control"
        old_topics, old_redis = await topics_backup(both), await redis_backup(redis, log_id)
        assert await older_ones_find(both, log_id, old_topics, old_redis) == ["found", "found"], "the control"
        request = await forget(both, memory, "boris", Stage.COMPACTED)
        before = await in_use(both)
        assert set(before.by_kek) == {old}
        assert set(before.index_keys) == {old}
        killed = Holder(holder="rotate-killed", held=(old,), first=old, wraps=old, control=Offset(-1))
        listed: Any = redis.hset(
            Prefix(log_id, Partition(0), "holders").key("of:default"), "rotate-killed", encode(killed)
        )
        await listed
        stale = await topics_backup(both)
        async with Traffic(memory, "before").flowing():
            step = await rotate(both, RotationStage.FENCED)
        assert step.fence[0] > before.partitions[0].end
    async with working(swapped(both)) as memory:
        with pytest.raises(RotationRefused, match="a backup from after the fence"):
            await rotate(swapped(both), RotationStage.DESTROYED)
        await only_a_fresh_and_whole_backup_counts(swapped(both), stale)
        async with Traffic(memory, "after").flowing():
            step = await rotate(swapped(both), RotationStage.DESTROYED)
        assert (step.stage, step.evidence) == (RotationStage.DESTROYED, "operator attests")
        assert both.kek_file is not None
        assert not both.kek_file.exists()
        after = await in_use(swapped(both))
        assert set(after.by_kek) == {new}
        assert set(after.index_keys) == {new}
        assert [each.held for each in after.holders] == [(new,)] * len(after.holders)
        left = await key_records(both)
        assert both.kek_other_file is not None
        news = KekRing((read_key_file(both.kek_other_file),))
        live = replace(backup, keys=left).opens(news, [])
        assert left[-1].key_id in live, "the control: what is left opens what is live"
        assert backup.opens(news, left) == set()
        with pytest.raises(WrongKek):
            backup.has_term(news, "w:black")
        assert await older_ones_find(swapped(both), log_id, old_topics, old_redis) == ["WrongKek", "BeingFilled"]
        found = await receipts_until(both, memory.installation, TenantId("acme"), [request], LAST, 30)
        statement = verified_statement(receipt_document(found[-1]), public_key(both))
        assert (statement["stage"], statement["claim"]) == (LAST, WORDING)
        assert OF_BACKUPS not in statement["not_covered"]
        assert any(each.get("said_by_those_who_agreed") == ATTESTED for each in statement["checks"])
        with pytest.raises(RotationRefused, match="two keys"):
            await rotate(swapped(both), RotationStage.DESTROYED)

"""What means nothing any more leaves the ledger: by log time, under the policy in force, never what was refreshed."""

from typing import Any

import pytest
from redis.asyncio import Redis

from eunoe.domain.entries import (
    CommandSeen,
    Entry,
    LedgerKey,
    SubjectState,
    TenantState,
    command_key,
    subject_key,
    tenant_key,
)
from eunoe.processors.ledger.keys import ledger_prefix
from eunoe.processors.ledger.ledger import Change, Ledger, Marks
from eunoe.runtime.redis.errors import WatermarkMismatch
from eunoe.schemas.ids import CommandId, LogId, Millis, Offset, Partition, Pseudonym, TenantId, new_id

OLD = command_key(TenantId("acme"), CommandId("old"))
NEW = command_key(TenantId("acme"), CommandId("new"))


class Kept:
    """A ledger whose retention is what its policy says now."""

    def __init__(self, redis: Redis) -> None:
        self.retention = 1_000
        self.ledger = Ledger(redis, ledger_prefix(LogId(new_id()), Partition(0)), lambda: self.retention)
        self.marks = Marks()

    async def decided(self, key: LedgerKey, at: int) -> None:
        await self.put(key, CommandSeen(decided_at=Millis(at)), at)

    async def put(self, key: LedgerKey, entry: Entry, at: int = 0, forgets: TenantId | None = None) -> None:
        after = Marks(position=Offset(self.marks.position + 1), next_input=Offset(0), decided_at=Millis(at))
        await self.ledger.write(self.marks, [Change({key: entry}, after, forgets)], after)
        self.marks = after

    async def there(self, key: LedgerKey) -> bool:
        entries: dict[LedgerKey, Entry | None] = {}
        await self.ledger.complete(self.marks.position, entries, lambda loaded: {key} - set(loaded))
        return entries[key] is not None


@pytest.fixture
def kept(redis_client: Redis) -> Kept:
    return Kept(redis_client)


async def test_an_entry_goes_once_log_time_is_past_its_retention_and_not_before(kept: Kept) -> None:
    await kept.decided(OLD, 5_000)
    await kept.decided(NEW, 6_000)
    assert (await kept.ledger.drop_lapsed(), await kept.there(OLD)) == (0, True), "decide still answers by it"
    await kept.decided(NEW, 6_001)
    assert await kept.ledger.drop_lapsed() == 1
    assert (await kept.there(OLD), await kept.there(NEW)) == (False, True)
    assert await kept.ledger.drop_lapsed() == 0


async def test_a_policy_that_keeps_longer_or_shorter_is_followed_at_once(kept: Kept) -> None:
    await kept.decided(OLD, 5_000)
    await kept.decided(NEW, 9_000)
    kept.retention = 10_000
    assert await kept.ledger.drop_lapsed() == 0, "written when less was kept"
    kept.retention = 3_999
    assert await kept.ledger.drop_lapsed() == 1
    assert (await kept.there(OLD), await kept.there(NEW)) == (False, True)


async def test_what_a_decision_refreshes_meanwhile_stays(
    kept: Kept, redis_client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    original: Any = redis_client.execute_command
    refreshed = False

    async def racing(*command: Any, **options: Any) -> Any:
        nonlocal refreshed
        answer = await original(*command, **options)
        if not refreshed and command[0] in ("ZRANGE", "FCALL"):  # once it is known what has lapsed
            refreshed = True
            await kept.decided(OLD, 9_001)
        return answer

    await kept.decided(OLD, 5_000)
    await kept.decided(NEW, 9_000)
    await kept.ledger.drop_lapsed()  # loads the library, so that below the deleting call is the first one
    assert not await kept.there(OLD)
    await kept.decided(OLD, 5_001)
    await kept.decided(NEW, 9_000)
    monkeypatch.setattr(redis_client, "execute_command", racing)
    await kept.ledger.drop_lapsed()
    assert refreshed
    assert await kept.there(OLD)


async def test_a_ledger_that_lost_its_marks_drops_nothing(kept: Kept, redis_client: Redis) -> None:
    await kept.decided(OLD, 5_000)
    await kept.decided(NEW, 9_000)
    await redis_client.unlink(kept.ledger._prefix.watermark)
    assert await kept.ledger.drop_lapsed() == 0


async def test_of_a_forgotten_tenant_nothing_stays_but_what_lapses_by_itself(kept: Kept) -> None:
    acme, other = TenantId("acme"), TenantId("acme-2")
    state = TenantState(incarnation=1, key_id=None, closed=True)
    single = SubjectState(generation=1, closed=False, root_key_id=None, records=1)
    person = Pseudonym("a" * 32)
    await kept.decided(NEW, 5_000)
    for tenant in (acme, other):
        await kept.put(subject_key(tenant, person), single)
    await kept.put(tenant_key(acme), state, forgets=acme)
    assert [await kept.there(subject_key(each, person)) for each in (acme, other)] == [False, True]
    assert await kept.there(tenant_key(acme))
    assert await kept.there(NEW), "a command has one outcome, whoever the name stands for"


async def test_whoever_comes_late_removes_nothing_of_the_tenant_that_has_the_name_now(kept: Kept) -> None:
    acme, person = TenantId("acme"), subject_key(TenantId("acme"), Pseudonym("a" * 32))
    late = kept.marks
    await kept.put(tenant_key(acme), TenantState(incarnation=1, key_id=None, closed=True), forgets=acme)
    await kept.put(person, SubjectState(generation=1, closed=False, root_key_id=None, records=1))
    after = Marks(position=Offset(late.position + 1), next_input=Offset(0), decided_at=Millis(0))
    again = Change({tenant_key(acme): TenantState(incarnation=1, key_id=None, closed=True)}, after, acme)
    with pytest.raises(WatermarkMismatch):
        await kept.ledger.write(late, [again], after)
    assert await kept.there(person)

"""What means nothing any more leaves the ledger: by log time, under the policy in force, never what was refreshed."""

from typing import Any

import pytest
from redis.asyncio import Redis

from eunoe.domain.entries import CommandSeen, Entry, LedgerKey, command_key
from eunoe.processors.ledger.keys import ledger_prefix
from eunoe.processors.ledger.ledger import Change, Ledger, Marks
from eunoe.schemas.ids import CommandId, LogId, Millis, Offset, Partition, TenantId, new_id

OLD = command_key(TenantId("acme"), CommandId("old"))
NEW = command_key(TenantId("acme"), CommandId("new"))


class Kept:
    """A ledger whose retention is what its policy says now."""

    def __init__(self, redis: Redis) -> None:
        self.retention = 1_000
        self.ledger = Ledger(redis, ledger_prefix(LogId(new_id()), Partition(0)), lambda: self.retention)
        self.marks = Marks()

    async def decided(self, key: LedgerKey, at: int) -> None:
        after = Marks(position=Offset(self.marks.position + 1), next_input=Offset(0), decided_at=Millis(at))
        await self.ledger.write(self.marks, [Change({key: CommandSeen(decided_at=Millis(at))}, after)], after)
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

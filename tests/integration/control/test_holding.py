"""Who holds key-encryption keys: each process says so in its user's list, by Redis's clock, until it leaves."""

import json
import os
import socket
from types import SimpleNamespace
from typing import Any

from redis.asyncio import Redis

from eunoe.crypto.kek import LocalKek
from eunoe.crypto.kek_ring import KekRing
from eunoe.runtime.control_state import ControlState
from eunoe.runtime.holding import SILENT_MS, holders, holding, strike_off
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.connect import user_of
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import LogId, Partition, new_id
from eunoe.schemas.topics import TopicNames

KEK = LocalKek(b"k" * 32)


def installation() -> Installation:
    return Installation(log_id=LogId(new_id()), partitions=1, names=TopicNames(prefix=""))


async def test_a_process_is_listed_with_where_it_runs_until_it_leaves(redis_client: Redis) -> None:
    here, follower = installation(), SimpleNamespace(state=ControlState())
    control: Any = follower
    async with holding("client", KekRing((KEK,)), control, redis_client, "reader", here):
        async with holding("worker", KekRing((KEK,)), control, redis_client, "decider", here):
            client, worker = await holders(redis_client, here.log_id)
        assert (client.holder.split("-")[0], worker.holder.split("-")[0]) == ("client", "worker")
        for each in (client, worker):
            assert (each.host, each.pid, each.held, each.silent) == (
                *(socket.gethostname(), os.getpid()),
                *((KEK.kek_id,), False),
            )
            assert each.named == f"{each.holder} (process {os.getpid()} on {socket.gethostname()})"
        assert await redis_client.hkeys(f"{prefix(here)}of:reader") == [client.holder.encode()]
        assert [each.holder for each in await holders(redis_client, here.log_id)] == [client.holder], "one has left"
    assert await holders(redis_client, here.log_id) == ()


async def test_silence_is_told_by_the_clock_of_redis_and_the_dead_are_struck_off_any_list(redis_client: Redis) -> None:
    here = installation()
    seconds, _ = await redis_client.time()
    said = {"holder": "worker-a", "held": [], "first": "", "wraps": "", "control": 0}
    for user, name, age_ms in (("decider", "worker-a", SILENT_MS + 5_000), ("reader", "client-b", 2_000)):
        record = said | {"holder": name, "at": seconds * 1_000 - age_ms}
        await redis_client.sadd(f"{prefix(here)}users", user)
        await redis_client.hset(f"{prefix(here)}of:{user}", name, json.dumps(record))
    await redis_client.hset(f"{prefix(here)}of:reader", "nonsense", b"\xff")
    found = {each.holder: each.silent for each in await holders(redis_client, here.log_id)}
    assert found == {"worker-a": True, "client-b": False, "nonsense": True}
    await strike_off(redis_client, here.log_id, ("worker-a", "nonsense"))
    assert [each.holder for each in await holders(redis_client, here.log_id)] == ["client-b"]


def prefix(here: Installation) -> Prefix:
    return Prefix(here.log_id, Partition(0), "holders")


def test_a_url_says_whom_redis_takes_a_client_for() -> None:
    assert user_of("redis://127.0.0.1:6379/0") == "default"
    assert user_of("rediss://eunoe-reader:p%40ss@host:6379/0") == "eunoe-reader"
    assert user_of("redis://:only-a-password@host") == "default"

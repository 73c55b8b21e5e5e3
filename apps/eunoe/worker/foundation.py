"""What every role stands on, opened once per worker: installation, Redis, keys, rules, the end of the log."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer
from redis.asyncio import Redis

from eunoe.crypto.kek_ring import KekRing
from eunoe.crypto.keyring import Keyring
from eunoe.readmodels.key_source import RedisKeySource
from eunoe.runtime.brokers import connecting
from eunoe.runtime.clock import Clock, SystemClock
from eunoe.runtime.control import ControlFollower, following_control
from eunoe.runtime.holding import holding
from eunoe.runtime.installation import Installation, bind_redis, read_installation
from eunoe.runtime.kek import kek_of
from eunoe.runtime.redis.connect import connect, user_of
from eunoe.runtime.settings import Settings
from eunoe.worker.key_models import KeyModels


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """Opened by `open_foundation`. The roles share it; each has a keyring of its own (`keyring`)."""

    settings: Settings
    installation: Installation
    redis: Redis
    control: ControlFollower
    kek: KekRing
    key_models: KeyModels
    ends: AIOKafkaConsumer
    """Reads committed records and has no group; only its offsets are asked for."""
    clock: Clock

    def keyring(self) -> Keyring:
        """Fresh and empty, on the read models. The decider's holds keys that no log has yet, so none is shared."""
        source = RedisKeySource(self.redis, self.installation)
        return Keyring(self.installation.log_id, self.kek, source, self.clock.now)


@asynccontextmanager
async def open_foundation(settings: Settings, name: str = "worker") -> AsyncIterator[Foundation]:
    """Raises what `read_installation`, `connect`, `bind_redis`, `kek_of`, `following_control` and `holding` raise.

    ``name``: what kind of process it is, for whoever asks which ones hold a key-encryption key.
    """
    kek = kek_of(settings)
    async with AsyncExitStack() as closing:
        installation = await read_installation(settings.brokers, settings.topics)
        redis = await connect(settings.redis)
        closing.push_async_callback(redis.aclose)
        await bind_redis(redis, installation)
        ends = AIOKafkaConsumer(
            **connecting(settings.brokers), isolation_level="read_committed", enable_auto_commit=False
        )
        closing.push_async_callback(ends.stop)
        await ends.start()
        # aiokafka 0.14: a consumer stopped before its tasks first ran raises CancelledError from `stop`.
        await asyncio.sleep(0)
        control = await closing.enter_async_context(
            following_control(settings.brokers, installation, settings.control_signers)
        )
        clock = SystemClock()
        await closing.enter_async_context(holding(name, kek, control, redis, user_of(settings.redis), installation))
        yield Foundation(
            settings=settings,
            installation=installation,
            redis=redis,
            control=control,
            kek=kek,
            key_models=KeyModels(redis, installation, ends),
            ends=ends,
            clock=clock,
        )

"""What a benchmark stands on: a broker and a Redis, and an installation of its own with the development policy."""

import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from redis.asyncio import Redis

from eunoe.runtime.installation import Installation, bind_redis, open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.redis.connect import connect
from eunoe.runtime.settings import Settings, load_settings
from eunoe.schemas.ids import PrincipalName
from eunoe.stack.choose import choose_stack
from eunoe.stack.development import AGENT, apply_development, cleaned_quickly, remembered
from eunoe.stack.external import login_variables
from eunoe.stack.local import USUAL
from eunoe.stack.provider import Endpoints
from eunoe.stack.throwaway import local_stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """``settings`` name a principal that may write and read everything. ``redis`` answers in bytes. ``folder`` is gone
    afterwards."""

    endpoints: Endpoints
    settings: Settings
    installation: Installation
    redis: Redis
    folder: Path

    @property
    def ours(self) -> bool:
        """Whether nobody else uses this stack, so that its statistics may be reset."""
        return self.endpoints.provider == "local"

    @property
    def environ(self) -> dict[str, str]:
        """With it, a process of `eunoe` works with this installation."""
        given = {
            f"EUNOE_{name.upper()}": ",".join(value) if isinstance(value, list) else str(value)
            for name, value in remembered(self.settings).items()
        }
        return {**os.environ, **given}


@contextmanager
def endpoints(environ: Mapping[str, str] = os.environ) -> Iterator[Endpoints]:
    """The stack that EUNOE_KAFKA and EUNOE_REDIS name, else one of our own that is gone afterwards.

    Ours keeps its data as a usual one does (an append-only file in Redis, synced each second). Blocks for seconds, and
    for a download the first time: enter it before the event loop runs. Raises `StackError`.
    """
    if environ.get("EUNOE_KAFKA") and environ.get("EUNOE_REDIS"):
        yield choose_stack(environ={**environ, "EUNOE_STACK": "external"}).up()
    else:
        with local_stack(options=USUAL, environ=environ) as stack:
            yield stack.endpoints


@asynccontextmanager
async def prepared(
    where: Endpoints, *, partitions: int, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[Ground]:
    """Topics under a fresh prefix, genesis, secrets, policy; taken away again at the end."""
    name = f"bench-{secrets.token_hex(4)}-"
    given = {"EUNOE_KAFKA": where.kafka, "EUNOE_REDIS": where.redis}
    given |= login_variables(where, environ)
    kept = {key: environ[key] for key in ("EUNOE_DECIDE_BATCH", "EUNOE_PROJECT_BATCH") if key in environ}
    settings = load_settings({**kept, **given})
    settings = replace(
        cleaned_quickly(settings),
        prefix=name,
        group=f"{name}eunoe",
        partitions=partitions,
        principal=PrincipalName(AGENT),
    )
    redis = await connect(where.redis)
    try:
        with tempfile.TemporaryDirectory(prefix="bench-", dir=_near(where)) as folder:
            async with topic_admin(settings.brokers) as admin:
                await apply_topics(admin, settings.topics, partitions, 1, settings.topic_specs)
            installation = await open_installation(settings.brokers, settings.topics)
            await bind_redis(redis, installation)
            settings = await apply_development(settings, installation, Path(folder))
            ground = Ground(
                endpoints=where, settings=settings, installation=installation, redis=redis, folder=Path(folder)
            )
            try:
                yield ground
            finally:
                await _clean(ground)
    finally:
        await redis.aclose()


def _near(where: Endpoints) -> Path | None:
    """The folder of a stack that started here: whoever clears it up also ends what runs from it."""
    return where.directory if where.provider == "local" else None


async def _clean(ground: Ground) -> None:
    """Nothing of ours stays in somebody else's stack."""
    prefix = ground.settings.prefix
    async with topic_admin(ground.settings.brokers) as admin:
        ours = [name for name in await admin.partition_counts() if name.startswith(prefix)]
        await admin.delete(ours)
    await ground.redis.unlink(f"eunoe:installation:{prefix}")
    await forget(ground.redis, f"eunoe:{ground.installation.log_id}:*")


async def forget(redis: Redis, pattern: str) -> int:
    """Unlink every key that matches, in small steps. Returns how many."""
    gone = 0
    found: list[bytes] = []
    async for key in redis.scan_iter(match=pattern, count=1_000):
        found.append(key)
        if len(found) == 500:
            gone += int(await redis.unlink(*found))
            found.clear()
    if found:
        gone += int(await redis.unlink(*found))
    return gone

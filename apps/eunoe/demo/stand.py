"""What the demo stands on: Kafka and Redis, and an installation of its own with its policy and fresh secrets."""

import base64
import os
import secrets
import tempfile
import tomllib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from redis.asyncio import Redis

from eunoe.crypto.secrets import secret_line
from eunoe.crypto.signatures import Algorithm, new_secret_bytes
from eunoe.operations.byte_search import Where
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.control import following_control, publish_control
from eunoe.runtime.installation import Installation, bind_redis, open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.principals import control_signer, create_development_secrets
from eunoe.runtime.redis.connect import connect
from eunoe.runtime.settings import Settings, load_settings
from eunoe.schemas.control import POLICY
from eunoe.schemas.ids import SecretId
from eunoe.stack.choose import choose_stack
from eunoe.stack.development import cleaned_quickly, with_development
from eunoe.stack.external import login_variables
from eunoe.stack.local import USUAL
from eunoe.stack.provider import Endpoints
from eunoe.stack.throwaway import local_stack

_PARTITIONS: Final = 2
_ED25519: Final = "ed25519"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """A ready installation; ``where`` is everything that can be searched for bytes. ``own``: the stack is ours."""

    settings: Settings
    installation: Installation
    where: Where
    own: bool


@contextmanager
def stack_of_demo(environ: Mapping[str, str] = os.environ) -> Iterator[tuple[Endpoints, bool]]:
    """The stack that EUNOE_KAFKA and EUNOE_REDIS name, or one of our own (True) that is gone after the block.

    Ours keeps data as a usual one does, so that Redis's append-only file can be searched too. Blocks for seconds, and
    for a download the first time: enter it before the event loop runs. Raises `StackError`.
    """
    if environ.get("EUNOE_KAFKA") and environ.get("EUNOE_REDIS"):
        yield choose_stack(environ={**environ, "EUNOE_STACK": "external"}).up(), False
    else:
        with local_stack(options=USUAL, environ=environ) as stack:
            yield stack.endpoints, True


@asynccontextmanager
async def prepared(endpoints: Endpoints, *, own: bool, policy: str | None = None) -> AsyncIterator[Stand]:
    """Topics under a fresh prefix, genesis, secrets, and ``policy`` (None: the development policy) in force.

    In somebody else's stack everything is taken away again at the end, and only what is ours is searched.
    """
    prefix = f"demo-{secrets.token_hex(4)}-"
    settings = load_settings(
        {"EUNOE_KAFKA": endpoints.kafka, "EUNOE_REDIS": endpoints.redis, **login_variables(endpoints, os.environ)}
    )
    settings = replace(cleaned_quickly(settings), prefix=prefix, group=f"{prefix}eunoe", partitions=_PARTITIONS)
    redis = await connect(endpoints.redis)
    try:
        with tempfile.TemporaryDirectory(prefix="eunoe-demo-") as folder:
            async with topic_admin(settings.brokers) as admin:
                await apply_topics(admin, settings.topics, _PARTITIONS, 1, settings.topic_specs)
            installation = await open_installation(settings.brokers, settings.topics)
            await bind_redis(redis, installation)
            settings = await _in_force(settings, installation, Path(folder), policy)
            where = _where(settings, endpoints, redis, installation, own)
            try:
                yield Stand(settings=settings, installation=installation, where=where, own=own)
            finally:
                if not own:
                    await _take_away(settings, installation, redis)
    finally:
        await redis.aclose()


def _where(settings: Settings, endpoints: Endpoints, redis: Redis, installation: Installation, own: bool) -> Where:
    if own:
        folder = endpoints.directory
        return Where(
            kafka=settings.brokers, redis=redis, kafka_folders=(folder / "kafka",), redis_folders=(folder / "redis",)
        )
    ours = f"eunoe:{installation.log_id}:"
    return Where(kafka=settings.brokers, redis=redis, prefix=installation.names.prefix, keys=f"{ours}*", scratch=ours)


async def _in_force(settings: Settings, installation: Installation, folder: Path, policy: str | None) -> Settings:
    made = create_development_secrets(folder)
    settings = with_development(settings, made)
    body = made.policy if policy is None else with_secrets(policy, folder).encode()
    async with following_control(settings.brokers, installation, settings.control_signers) as follower:
        await publish_control(
            settings.brokers,
            follower,
            installation,
            signer=control_signer(made.control_key),
            clock=SystemClock(),
            name=POLICY,
            body=body,
            reason="eunoe demo",
        )
    return settings


def with_secrets(policy: str, folder: Path) -> str:
    """Makes a secret in ``folder`` for each principal of ``policy`` that has none there; fills in ``@NAME@``."""
    for name, rule in tomllib.loads(policy).get("principals", {}).items():
        for secret in rule.get("secrets", ()):
            algorithm, path = Algorithm(secret["algorithm"]), folder / f"{name}.secret"
            if not path.exists():
                content = new_secret_bytes()
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "w") as file:
                    file.write(secret_line(algorithm, SecretId(secret["id"]), content) + "\n")
            if secret["algorithm"] == _ED25519:
                public = control_signer(path).verifier().public
                policy = policy.replace(f"@{name}@", base64.b64encode(public).decode())
    return policy


async def _take_away(settings: Settings, installation: Installation, redis: Redis) -> None:
    async with topic_admin(settings.brokers) as admin:
        await admin.delete([each for each in await admin.partition_counts() if each.startswith(settings.prefix)])
    await redis.unlink(f"eunoe:installation:{settings.prefix}")
    found = [key async for key in redis.scan_iter(match=f"eunoe:{installation.log_id}:*", count=1_000)]
    for at in range(0, len(found), 500):
        await redis.unlink(*found[at : at + 500])

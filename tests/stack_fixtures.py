"""One broker and one Redis for the whole session, started when the first test asks for them.

EUNOE_KAFKA and EUNOE_REDIS name a running stack instead (`eunoe up --json` prints them): nothing is started then, and
nothing is removed from it but what tests made themselves. Where a Docker engine answers, testcontainers runs the
services of docker-compose.yml (not run where eunoe was developed: no engine was there).
"""

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from redis.asyncio import Redis

from eunoe.schemas.topics import TopicNames
from eunoe.stack.choose import choose_stack, named_stack
from eunoe.stack.local import LocalStack
from eunoe.stack.provider import Endpoints
from eunoe.stack.throwaway import local_stack

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def stack() -> Iterator[Endpoints]:
    """Where the session's Kafka and Redis are. Shared: a test that stops or empties them wants `own_stack`."""
    with ExitStack() as cleanup:
        chosen = choose_stack()
        match chosen.provider:
            case "external":
                yield chosen.up()
            case "compose":
                yield cleanup.enter_context(_containers())
            case "local":
                yield cleanup.enter_context(local_stack()).endpoints


@pytest.fixture
def own_stack(tmp_path: Path) -> Iterator[LocalStack]:
    """A broker and Redis of this test's own, to be killed, paused and emptied (`broker`, `redis_server`)."""
    with local_stack(tmp_path / "stack") as mine:
        yield mine


@pytest.fixture(scope="session")
def kafka_log_directories(stack: Endpoints) -> tuple[Path, ...]:
    """Where the broker's segment files are, to search them for bytes. Skips where they cannot be reached."""
    found = named_stack(stack.provider, stack.directory).log_directories()
    if not found:
        pytest.skip(f"the segment files of the {stack.provider} stack cannot be reached")
    return found


@pytest.fixture
def kafka_bootstrap(stack: Endpoints) -> str:
    return stack.kafka


@pytest.fixture
def redis_url(stack: Endpoints) -> str:
    return stack.redis


@pytest.fixture
def topic_prefix() -> str:
    """Unique per test, so that tests share a broker without seeing each other's topics."""
    return f"t{secrets.token_hex(5)}-"


@pytest.fixture
def topic_names(topic_prefix: str) -> TopicNames:
    return TopicNames(prefix=topic_prefix)


@pytest.fixture
async def redis_client(redis_url: str) -> AsyncIterator[Redis]:
    """Answers in bytes. Keys carry the log id of an installation, so tests need no empty database."""
    client = Redis.from_url(redis_url)
    try:
        yield client
    finally:
        await client.aclose()


@contextmanager
def _containers() -> Iterator[Endpoints]:
    from testcontainers.compose import DockerCompose

    from eunoe.stack.compose import COMPOSE_FILE, KAFKA, REDIS

    services = ["broker", "redis"]
    with DockerCompose(str(ROOT), compose_file_name=COMPOSE_FILE, services=services, wait=True):
        yield Endpoints(kafka=KAFKA, redis=REDIS, provider="compose", directory=Path(os.devnull))

"""A world of its own for each test, in the session's Redis."""

import pytest
from redis.asyncio import Redis

from eunoe.testing.recalling import RecallWorld


@pytest.fixture
def world(redis_client: Redis) -> RecallWorld:
    return RecallWorld(redis=redis_client)

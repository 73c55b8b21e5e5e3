"""Waiting for Kafka with an end: what takes too long, or cannot connect, is `BrokerAway` and never anything else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka.errors import KafkaConnectionError, KafkaTimeoutError

from eunoe.runtime.errors import BrokerAway


@asynccontextmanager
async def within(seconds: float, doing: str) -> AsyncIterator[None]:
    """Raises `BrokerAway` (``doing`` says with what) when the body takes longer than ``seconds`` or cannot connect."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except KafkaConnectionError as error:
        raise BrokerAway(doing, None) from error
    except (TimeoutError, KafkaTimeoutError) as error:
        raise BrokerAway(doing, seconds) from error

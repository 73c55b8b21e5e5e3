"""What is said of a Kafka that does not answer is what was seen: no wait is named that nobody waited."""

import asyncio

import pytest

from eunoe.runtime.brokers import Brokers
from eunoe.runtime.deadline import within
from eunoe.runtime.errors import BrokerAway
from eunoe.runtime.installation import read_installation
from eunoe.schemas.topics import TopicNames
from eunoe.stack.ports import free_ports


async def test_who_took_too_long_is_told_with_the_time() -> None:
    with pytest.raises(BrokerAway, match=r"^Kafka did not answer within 0.01 s while waiting$"):
        async with within(0.01, "waiting"):
            await asyncio.sleep(5)


async def test_a_refused_connection_names_no_time() -> None:
    (port,) = free_ports(1)
    with pytest.raises(BrokerAway, match=r"^Kafka takes no connection: reading the genesis records was not possible$"):
        await read_installation(Brokers(f"127.0.0.1:{port}"), TopicNames(), timeout_seconds=20)

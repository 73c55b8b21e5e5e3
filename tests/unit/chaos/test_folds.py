"""What cannot be told yet after the last fault is waited for, and does not end the run."""

from eunoe.runtime.settings import Settings
from eunoe.stack.ports import free_ports
from eunoe.testing.chaos.folds import behind


async def test_a_broker_that_is_not_back_yet_is_something_to_wait_for() -> None:
    (port,) = free_ports(1)
    (said,) = await behind(Settings(kafka=f"127.0.0.1:{port}"))
    assert said.startswith("not known: Kafka takes no connection")

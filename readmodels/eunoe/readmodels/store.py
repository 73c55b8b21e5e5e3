"""Asking Redis on behalf of a reader: what it does not answer is `StoreUnavailable`, whatever the client calls it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from eunoe.readmodels.errors import BeingMoved, StoreUnavailable
from eunoe.runtime.redis.errors import SlotMoving

_AWAY: Final = (RedisError, OSError, TimeoutError)


@contextmanager
def answers(doing: str) -> Iterator[None]:
    """Raises `StoreUnavailable` for what Redis or the network raises inside, `BeingMoved` for a slot on the move.

    The cause is named by type, not quoted.
    """
    try:
        yield
    except SlotMoving as error:
        raise BeingMoved(doing, type(error).__name__) from error
    except _AWAY as error:
        raise StoreUnavailable(doing, type(error).__name__) from error


async def ask(redis: Redis, *commands: Sequence[str | bytes | int]) -> list[Any]:
    """The answers to ``commands``, in one round trip and in order, not as one transaction."""
    pipeline = redis.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command)
    return list(await pipeline.execute())


def texts(answer: Any) -> dict[str, str]:
    """A hash as text, whether the client made a mapping of it or left it flat."""
    if not isinstance(answer, dict):
        answer = dict(zip(answer[::2], answer[1::2], strict=True))
    return {text(name): text(value) for name, value in answer.items()}


def text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value

"""Moving a projection forward: operations and watermark in one Function call, and reads that notice a lost Redis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgpack
from redis.asyncio import Redis

from eunoe.runtime.redis.errors import WatermarkMismatch
from eunoe.runtime.redis.functions import FunctionLibrary, LoadedFunctions, is_missing_function
from eunoe.runtime.redis.prefix import Prefix

Operation = tuple[str | bytes | int | float, ...]
"""A Redis command with absolute values: ``("SET", key, value)``."""

APPLY: Final = FunctionLibrary("eunoe")
"""The shared library alone, for models without Functions of their own."""
DIGESTED: Final = FunctionLibrary("eunoe_digested", "everything()\n")
"""The same, with a digest over all that the model holds."""


_PACKER: Final = msgpack.Packer(use_bin_type=False)
"""Redis unpacks the older form of msgpack, in which text and bytes are one type; msgspec writes only the newer one."""


@dataclass(frozen=True, slots=True)
class Step:
    """One atomic move from the consumer's position before some records to its position after them."""

    start: int
    to: int
    operations: Sequence[Operation] = ()
    marks: Mapping[str, str | int] = field(default_factory=dict)

    def arguments(self) -> list[Any]:
        flat = [part for mark in self.marks.items() for part in mark]
        return [self.start, self.to, _PACKER.pack(flat), _PACKER.pack(self.operations)]


class Watermark:
    """One partition's mark of one model's generation. A single writer at a time is assumed, a second is noticed."""

    def __init__(self, redis: "Redis", prefix: Prefix, functions: LoadedFunctions | None = None) -> None:
        self._redis = redis
        self._key = prefix.watermark
        self._functions = functions or APPLY.load()

    async def position(self) -> int:
        """Where the projection is: the next offset to consume (0 where there is nothing yet)."""
        return int(await self._redis.hget(self._key, "position") or 0)

    async def marks(self) -> Mapping[str, str]:
        """Every field of the mark, as text; empty where there is nothing yet."""
        found = await self._redis.hgetall(self._key)
        return {_text(name): _text(value) for name, value in found.items()}

    async def move(self, steps: Sequence[Step]) -> int:
        """Apply ``steps`` in order, pipelined; each is atomic. Returns the new position.

        Raises `WatermarkMismatch` where a step does not start at the mark; the steps before it have been applied.
        """
        if not steps:
            return await self.position()
        answers = await self._send(steps)
        if any(isinstance(each, Exception) and is_missing_function(each) for each in answers):
            await self._functions.ensure(self._redis)
            answers = await self._send(steps)
        for step, answer in zip(steps, answers, strict=True):
            if isinstance(answer, Exception):
                raise answer
            if answer[0] != 1:
                raise WatermarkMismatch(self._key, step.start, int(answer[1]))
        return steps[-1].to

    async def prepare(self) -> None:
        """Load the Functions where they are missing: readers call them, and may not load them."""
        await self._functions.ensure(self._redis)

    async def _send(self, steps: Sequence[Step]) -> list[Any]:
        pipeline = self._redis.pipeline(transaction=False)
        for step in steps:
            pipeline.execute_command("FCALL", self._functions.function("apply"), 1, self._key, *step.arguments())
        return list(await pipeline.execute(raise_on_error=False))

    async def read(self, expected: int, keys: Sequence[str]) -> tuple[Mapping[str, str], list[bytes | None]]:
        """The marks and the values of string ``keys``, if the position is ``expected``; else `WatermarkMismatch`."""
        answer = await self._functions.call(self._redis, "read", (self._key,), (expected, _PACKER.pack(keys)))
        if answer[0] != 1:
            raise WatermarkMismatch(self._key, expected, int(answer[1]))
        flat = [_text(each) for each in answer[1]]
        return dict(zip(flat[::2], flat[1::2], strict=True)), list(answer[2])


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value

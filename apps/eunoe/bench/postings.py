"""The baseline of projecting: the same postings, one Redis command each, in pipelines of the same size."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack
from redis.asyncio import Redis

from eunoe.readmodels.recall import keys as names
from eunoe.runtime.redis.watermark import Operation

Command = tuple[str | bytes | int | float, ...]


@dataclass(frozen=True, slots=True)
class PlainWriter:
    """Turns what `recall` would do to a record into plain commands. ``prefix``: of the keys, away from all others."""

    prefix: str

    def commands(self, operations: Iterable[Operation]) -> list[Command]:
        """A document, its place in the index of ids, its subject's set, and a ZADD for each posting."""
        found: list[Command] = []
        for operation in operations:
            if operation[0] == "recall.put":
                number, document = operation[1], operation[2]
                assert isinstance(document, bytes)
                found += self._put(str(number), document)
            else:
                found.append(operation)
        return found

    def _put(self, number: str, document: bytes) -> list[Command]:
        head = names.Head.unpack(document)
        member = document[: names.MEMBER_BYTES]
        packed = document[names.HEAD_BYTES + head.guards : head.record_at]
        tenant, memory, sets, scores, scopes = _unpacked(packed)
        commands: list[Command] = [
            ("SET", f"{self.prefix}d:{number}", document),
            ("HSET", f"{self.prefix}i:{tenant.decode()}", memory, number),
        ]
        commands += [("SADD", self.prefix.encode() + each, number) for each in sets]
        for scope, tokens in scopes:
            stem = f"{self.prefix}t:".encode() + scope + b":"
            commands.append(("INCR", f"{self.prefix}n:{scope.decode()}"))
            for at in range(len(tokens) // names.TOKEN_BYTES):
                token = tokens[at * names.TOKEN_BYTES : (at + 1) * names.TOKEN_BYTES]
                score = int.from_bytes(scores[at * names.SCORE_BYTES : (at + 1) * names.SCORE_BYTES])
                commands.append(("ZADD", stem + token, score, member))
        return commands


def postings_in(operations: Iterable[Operation]) -> int:
    """How many postings these operations make."""
    found = 0
    for operation in operations:
        if operation[0] == "recall.put":
            document = operation[2]
            assert isinstance(document, bytes)
            head = names.Head.unpack(document)
            *_, scopes = _unpacked(document[names.HEAD_BYTES + head.guards : head.record_at])
            found += sum(len(tokens) // names.TOKEN_BYTES for _, tokens in scopes)
    return found


async def write(redis: Redis, batches: Sequence[Sequence[Command]]) -> None:
    """One pipeline a batch, without a transaction around it."""
    for batch in batches:
        pipeline = redis.pipeline(transaction=False)
        for command in batch:
            pipeline.execute_command(*command)
        await pipeline.execute()


def _unpacked(packed: bytes) -> Any:
    return msgpack.unpackb(packed, raw=True)

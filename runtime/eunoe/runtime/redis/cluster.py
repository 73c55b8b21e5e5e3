"""The client of a Redis Cluster: redis-py's, but a slot on the move is an error, and every error is a `RedisError`.

redis-py follows ASK: it asks the node a key moves to. There a Function sees only what has arrived and takes the rest
for absent, so half an answer would look like a whole one, and a batch would be written beside half of its data.
"""

from typing import Any, Final

from redis._parsers import _AsyncHiredisParser, _AsyncRESP3Parser
from redis.asyncio.cluster import ClusterPipeline, RedisCluster
from redis.asyncio.connection import DefaultParser
from redis.exceptions import ConnectionError as RedisAway
from redis.exceptions import RedisClusterException

from eunoe.runtime.redis.errors import SlotMoving

MOVING: Final = "SLOTMOVING"
"""What a Function answers on a slot that is leaving (``apply.lua``)."""
_MOVING: Final[dict[str, Any]] = dict.fromkeys((MOVING, "ASK", "TRYAGAIN"), SlotMoving)


class _Fast(_AsyncHiredisParser):
    EXCEPTION_CLASSES = {**_AsyncHiredisParser.EXCEPTION_CLASSES, **_MOVING}  # noqa: RUF012  # redis-py declares it so


class _Plain(_AsyncRESP3Parser):
    EXCEPTION_CLASSES = {**_AsyncRESP3Parser.EXCEPTION_CLASSES, **_MOVING}  # noqa: RUF012  # redis-py declares it so


_PARSER: Final = _Fast if DefaultParser is _AsyncHiredisParser else _Plain


class ClusterAway(RedisAway):
    """What redis-py raises as no `RedisError`: no node answers, or a slot is served by none."""


class Cluster(RedisCluster):
    """Answers are bytes. ``max_connections`` is per node; one more is an error, for it has no pool that waits."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # No parameter of the constructor reaches a connection's parser; nodes found later copy these settings.
        for each in (self.connection_kwargs, *(node.connection_kwargs for node in self.startup_nodes)):
            each.update(parser_class=_PARSER, protocol=3)

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        """Raises `SlotMoving`, or `ClusterAway` where redis-py raises an error of another family."""
        try:
            return await super().execute_command(*args, **kwargs)
        except RedisClusterException as error:
            raise ClusterAway(type(error).__name__) from error

    def pipeline(self, transaction: Any = None, shard_hint: Any = None) -> "Pipeline":
        """As redis-py's: commands of any slots, and with ``transaction`` of one."""
        return Pipeline(self, transaction)  # type: ignore[abstract]  # redis-py never sets it, and its own has it not

    async def _determine_slot(self, command: str, *args: Any) -> int:
        """A call's keys are counted in it: redis-py would send the whole batch to a node to ask which they are."""
        if command in {"FCALL", "FCALL_RO"} and int(args[1]):
            return self.keyslot(args[2])
        return int(await super()._determine_slot(command, *args))


class Pipeline(ClusterPipeline):
    """Each command is answered on its own; one on a slot that moves is not sent a second time."""

    async def execute(self, raise_on_error: bool = True, allow_redirections: bool = True) -> list[Any]:
        """As `Cluster.execute_command`."""
        try:
            return await super().execute(raise_on_error, allow_redirections)
        except RedisClusterException as error:
            raise ClusterAway(type(error).__name__) from error

"""The client of a Redis Cluster: redis-py's, but a slot on the move is an error, and every error is a `RedisError`.

redis-py follows ASK: it asks the node a key moves to. There a Function sees only what has arrived and takes the rest
for absent, so half an answer would look like a whole one, and a batch would be written beside half of its data.

Where a node does not answer, redis-py closes the connections to all of them, under whoever is waiting for an answer.
Here they are only marked: each is closed by its next user, before it is used.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from redis._parsers import _AsyncHiredisParser, _AsyncRESP3Parser
from redis.asyncio.cluster import ClusterNode, ClusterPipeline, NodesManager, RedisCluster
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


_CALLING: Final[ContextVar[bool]] = ContextVar("a call is under way", default=False)


@contextmanager
def _calling() -> Iterator[None]:
    """What is closed within is closed by redis-py on the way to another attempt, not by the owner of the client."""
    before = _CALLING.set(True)
    try:
        yield
    except RedisClusterException as error:
        raise ClusterAway(type(error).__name__) from error
    finally:
        _CALLING.reset(before)


class _Node(ClusterNode):
    __slots__ = ()

    async def disconnect_free_connections(self) -> None:
        """A connection that is free now may be somebody's by the time it is closed."""
        for each in self._free:
            each.mark_for_reconnect()  # type: ignore[no-untyped-call]  # redis-py gives it no types

    async def disconnect(self) -> None:
        """Of the client's owner, and of redis-py when it gives up a node."""
        if _CALLING.get():
            for each in self._connections:
                each.mark_for_reconnect()  # type: ignore[no-untyped-call]  # redis-py gives it no types
        else:
            await super().disconnect()


class _Nodes(NodesManager):
    """redis-py makes nodes by the name of the class, so they are made `_Node` where they are taken in."""

    __slots__ = ()

    def set_nodes(self, old: dict[str, ClusterNode], new: dict[str, ClusterNode], remove_old: bool = False) -> None:
        for each in new.values():
            each.__class__ = _Node
        for name in old.keys() - new.keys() if remove_old else ():
            old[name].__class__ = ClusterNode  # nobody finds it any more, so nobody else would close what is free there
        super().set_nodes(old, new, remove_old)

    async def aclose(self, attr: str = "nodes_cache") -> None:
        default = self.default_node
        await super().aclose(attr)
        if _CALLING.get():
            self.default_node = default  # others are on their way through it


class Cluster(RedisCluster):
    """Answers are bytes. ``max_connections`` is per node; one more is an error, for it has no pool that waits."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # No parameter of the constructor reaches a connection's parser; nodes found later copy these settings.
        for each in (self.connection_kwargs, *(node.connection_kwargs for node in self.startup_nodes)):
            each.update(parser_class=_PARSER, protocol=3)
        self.nodes_manager.__class__ = _Nodes
        for node in self.startup_nodes:
            node.__class__ = _Node

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        """Raises `SlotMoving`, or `ClusterAway` where redis-py raises an error of another family."""
        with _calling():
            return await super().execute_command(*args, **kwargs)

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
        with _calling():
            return await super().execute(raise_on_error, allow_redirections)

"""A read model as it was at an offset, without what must not be known any more.

A generation that was built as of then is projected on: what came later changes nothing in it, but what erases does. Who
was forgotten since is forgotten in it too (DESIGN §6: erasures apply at wall-clock time, to as-of reads too). The end
of a record that came only later says nothing in it: not even that there was one.
"""

from collections.abc import Sequence
from typing import Final

from eunoe.readmodels.projector import ReadModel
from eunoe.readmodels.removing import Removal, let_go_of
from eunoe.readmodels.source import Positioned
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation
from eunoe.schemas.events import (
    Event,
    Fact,
    ForgettingRequested,
    ForgettingWithdrawn,
    HoldLifted,
    MemoryForgotten,
    SubjectForgotten,
    SubjectHeld,
    TenantForgettingRequested,
    TenantForgotten,
)
from eunoe.schemas.ids import Offset
from eunoe.schemas.topics import Topic

_ALWAYS: Final = (
    SubjectForgotten, MemoryForgotten, ForgettingRequested, ForgettingWithdrawn, SubjectHeld, HoldLifted,
    TenantForgotten, TenantForgettingRequested,
)  # fmt: skip
_ADDS: Final = frozenset({"SET", "HSET", "HSETNX", "SADD", "ZADD"})


class AsOf:
    """``model`` as before ``until``. Only of models of ``memory-lifecycle``.

    A model of which nothing is erased says so by ``forgets = False``: what comes later is passed over in it.
    """

    def __init__(self, model: ReadModel[Event], until: Offset) -> None:
        self._model = model
        self._until = until
        self.name: Final = model.name
        self.source: Final[Topic] = model.source
        self.functions: Final[LoadedFunctions | None] = model.functions

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Event]]) -> Sequence[Sequence[Operation]]:
        counting = [each for each in records if each.offset < self._until or self._erases(each.value.fact)]
        folded: dict[int, Sequence[Operation]] = {
            each.offset: self._of_what_is_there(each, operations)
            for each, operations in zip(counting, await self._model.fold(prefix, counting), strict=True)
        }
        return [folded.get(each.offset, ()) for each in records]

    def _erases(self, fact: Fact) -> bool:
        return getattr(self._model, "forgets", True) and isinstance(fact, _ALWAYS)

    def _of_what_is_there(self, record: Positioned[Event], operations: Sequence[Operation]) -> Sequence[Operation]:
        if record.offset < self._until or not isinstance(record.value.fact, MemoryForgotten):
            return operations
        return [("known", *each) if each[0] in _ADDS else each for each in operations]

    async def let_go(self, removal: Removal) -> None:
        """As the model does."""
        await let_go_of(self._model, removal)

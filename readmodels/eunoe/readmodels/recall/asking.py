"""Asking the read model: under the tenant's index key, and not before it has the position asked for."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from redis.asyncio import Redis

from eunoe.crypto.errors import KeyClosed
from eunoe.crypto.keyring import Keyring
from eunoe.readmodels.errors import ForeignToken, NotYet, UnknownPlace
from eunoe.readmodels.recall import keys as names
from eunoe.readmodels.recall.candidates import Refused
from eunoe.readmodels.recall.errors import BadScope
from eunoe.readmodels.recall.index_key import TenantIndex, open_index, read_stored, wrapper_in
from eunoe.readmodels.recall.scope import ReadGate
from eunoe.readmodels.serving import Serving, being_filled
from eunoe.readmodels.store import answers
from eunoe.readmodels.tenants import TenantStanding, standing_in
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import Offset, Pseudonym, TenantId
from eunoe.schemas.outcomes import Token

A = TypeVar("A")

_FIRST_PAUSE_S: Final = 0.002
_LONGEST_PAUSE_S: Final = 0.05


class KnownSubject(str):
    """The subject of a `ReadScope` by its pseudonym, for whoever never learns the name. Any other text is a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a tenant's records are, and under which key. ``index`` None: nothing of the tenant is readable here.

    ``keys``: what the Functions are given; with the second one they answer only while this generation serves.
    ``least``: the position before which they do not answer: the one asked for, or that of an answer given before.
    """

    prefix: Prefix
    keys: Sequence[str]
    index: TenantIndex | None
    subject: Pseudonym | None
    least: Offset


@dataclass(slots=True, kw_only=True)
class Asker:
    """Keeps opened index keys, at most ``kept`` of them. ``generation``: a certain one; None: the one that serves."""

    redis: Redis
    installation: Installation
    keyring: Keyring
    rules: Callable[[TenantId], str]
    gate: ReadGate
    generation: int | None
    kept: int = 1_000
    _serving: Serving = field(init=False)
    _indexes: OrderedDict[tuple[TenantId, int], TenantIndex] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self._serving = Serving(self.redis, self.installation, names.MODEL, self.generation)

    def prefix(self, tenant: TenantId) -> Prefix:
        """Under the generation last known to serve."""
        return self._serving.known(self.installation.partition_of(tenant))

    def least(self, tenant: TenantId, after: str | None) -> Offset:
        """The position that ``after`` asks for. Raises `BadToken`, `ForeignToken` or `UnknownPlace`."""
        if after is None:
            return Offset(0)
        token = Token.parse(after)
        if token.log_id != self.installation.log_id:
            raise ForeignToken(expected=self.installation.log_id, found=token.log_id)
        if token.partition != (own := self.installation.partition_of(tenant)):
            raise UnknownPlace(f"it is of partition {token.partition}, the tenant lives in {own}")
        return token.position

    async def ask(
        self,
        tenant: TenantId,
        subject: str | None,
        call: Callable[[Place], Awaitable[tuple[Mapping[str, str], A] | Refused]],
        wanted: Offset,
        timeout: float,
    ) -> tuple[Mapping[str, str], A]:
        """The marks and the answer of ``call``, once the model has ``wanted`` and the key is the one it was built with.

        Raises `ReadRefused`, `NotYet` after ``timeout`` seconds, `BeingFilled` where the model lost what it answered
        from before, `StoreUnavailable`, or what opening the index key raises.
        """
        if not 0 <= timeout < math.inf:  # NaN is neither, and would never be over
            raise BadScope("timeout", "must be a number of seconds, not negative and not endless")
        clock = asyncio.get_running_loop().time
        deadline, pause = clock() + timeout, _FIRST_PAUSE_S
        partition = self.installation.partition_of(tenant)
        while True:
            prefix = await self._serving.current(partition)
            seen = self._serving.seen(prefix)
            try:
                with answers("searching"):
                    place = await self._place(prefix, tenant, subject, max(wanted, seen))
                    answer = await call(place)
            except Exception:
                # It may have met a generation that was being removed, or one of other text rules.
                if await self._serving.look(partition) == prefix:
                    raise
                continue
            if not isinstance(answer, Refused):
                self._serving.saw(prefix, Offset(int(answer[0].get("position", 0))), seen)
                await self._entered(tenant, place)
                return answer
            if answer.why == "generation":
                await self._serving.look(partition)
                continue
            if answer.position < seen:
                raise being_filled(prefix, answer.position, seen)
            if answer.why == "key":
                self._indexes.pop((tenant, place.prefix.generation), None)
            left = deadline - clock()
            if left <= 0:
                raise NotYet(names.MODEL, partition, wanted, answer.position, timeout)
            await asyncio.sleep(min(pause, left))
            pause = min(_LONGEST_PAUSE_S, pause * 2)

    async def _entered(self, tenant: TenantId, place: Place) -> None:
        """Raises `ReadRefused` where the caller has nothing to do with this incarnation, or the tenant is forgotten: it
        has no index key then, and neither has one of which nothing was ever written. What the generation itself says
        is asked, for another model may not have come as far."""
        if place.index is not None:
            self.gate.enter(tenant, TenantStanding(incarnation=place.index.key.meta.incarnation))
        else:
            with answers("reading a tenant"):
                standing = await standing_in(self.redis, place.prefix, tenant)
            self.gate.enter(tenant, standing)

    async def serves(self, place: Place) -> bool:
        """Whether the place is still what readers are answered from."""
        return await self._serving.look(place.prefix.partition) == place.prefix

    async def _place(self, prefix: Prefix, tenant: TenantId, subject: str | None, least: Offset) -> Place:
        keys = (prefix.watermark, prefix.generations) if self.generation is None else (prefix.watermark,)
        try:
            index = await self._index(prefix, tenant)
            named = None if subject is None or index is None else await self._pseudonym(tenant, subject)
        except KeyClosed:
            return Place(prefix=prefix, keys=keys, index=None, subject=None, least=least)
        return Place(prefix=prefix, keys=keys, index=index, subject=named, least=least)

    async def _pseudonym(self, tenant: TenantId, subject: str) -> Pseudonym:
        keys = await self.keyring.tenant(tenant)
        return Pseudonym(str(subject)) if isinstance(subject, KnownSubject) else keys.pseudonym(subject)

    async def _index(self, prefix: Prefix, tenant: TenantId) -> TenantIndex | None:
        place = (tenant, prefix.generation)
        known = self._indexes.get(place)
        if known is not None:
            self._indexes.move_to_end(place)
            return known
        stored = await read_stored(self.redis, prefix, tenant)
        if stored is None:
            return None
        keys = await self.keyring.opening(tenant, wrapper_in(stored))
        found = open_index(keys, prefix.log_id, stored, self.rules(tenant))
        if found is not None:
            self._indexes[place] = found
            while len(self._indexes) > self.kept:
                self._indexes.popitem(last=False)
        return found

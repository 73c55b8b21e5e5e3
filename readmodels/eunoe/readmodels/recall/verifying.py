"""Whether a generation that was built answers as it should, beyond what its digest says: words, and finding.

A digest covers records, not postings: those are blinded under the generation's own key. So what was counted of each
record is compared with the generation that serves, and records are looked for by their own rarest words.
"""

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from redis.asyncio import Redis

from eunoe.crypto.errors import KeyClosed
from eunoe.crypto.keyring import Keyring
from eunoe.readmodels.rebuild.errors import NotFound, OtherWords
from eunoe.readmodels.recall import candidates
from eunoe.readmodels.recall import keys as names
from eunoe.readmodels.recall.analyse import Analyser, QueryTerms, Term
from eunoe.readmodels.recall.candidates import Found, Request
from eunoe.readmodels.recall.functions import RECALL
from eunoe.readmodels.recall.index_key import TenantIndex, open_index, read_stored, rules_in, rules_of, wrapper_in
from eunoe.readmodels.recall.opening import open_body, record_of
from eunoe.readmodels.recall.rank import Bm25
from eunoe.readmodels.recall.record import Postings, StoredRecord
from eunoe.readmodels.recall.scope import Admission, Filters, ReadScope
from eunoe.readmodels.recall.stored import instant
from eunoe.readmodels.store import answers, ask
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import Millis, Offset, PrincipalName, TenantId
from eunoe.schemas.values import Sensitivity

QUERIES: Final = 200
RAREST: Final = 3
_RUN: Final = 200
_MOST: Final = 1_000
_HIGHEST: Final = tuple(Sensitivity)[-1]


@dataclass(slots=True, kw_only=True)
class RecallCheck:
    """For a rebuild of `recall`. ``queries``: how many records of a partition are looked for, chosen by chance."""

    redis: Redis
    keyring: Keyring
    analyser: Callable[[TenantId], Analyser]
    clock: Callable[[], Millis]
    ranking: Bm25 = field(default_factory=Bm25)
    functions: LoadedFunctions = field(default_factory=RECALL.load)
    queries: int = QUERIES
    chance: random.Random = field(default_factory=random.Random)

    async def check(self, live: Prefix, built: Prefix) -> Mapping[str, int]:
        """Raises `OtherWords` or `NotFound`."""
        compared = await self._words(live, built)
        asked = await self.found(built)
        return {"compared by words": compared, "found by their words": asked}

    async def _words(self, live: Prefix, built: Prefix) -> int:
        """Records counted by other text rules on purpose are not compared, nor those that only one of the two has."""
        compared, other, rules = 0, [], {}
        async for numbers in self._numbers(built):
            pairs = zip(
                numbers, await self._documents(live, numbers), await self._documents(built, numbers), strict=True
            )
            for number, mine, theirs in pairs:
                if mine is None or theirs is None:
                    continue
                tenant = record_of(theirs, names.Head.unpack(theirs)).tenant
                if tenant not in rules:
                    rules[tenant] = await self._rules(live, tenant) == await self._rules(built, tenant)
                if rules[tenant]:
                    compared += 1
                    if word_counts(mine) != word_counts(theirs):
                        other.append(str(number))
        if other:
            raise OtherWords(names.MODEL, built.partition, other)
        return compared

    async def found(self, built: Prefix) -> int:
        """How many records were looked for. Raises `NotFound`."""
        chosen: list[int] = []
        seen = 0
        async for numbers in self._numbers(built):
            for number in numbers:
                seen += 1
                if len(chosen) < self.queries:
                    chosen.append(number)
                elif (at := self.chance.randrange(seen)) < self.queries:
                    chosen[at] = number
        asked, missed = 0, []
        for number, document in zip(chosen, await self._documents(built, chosen), strict=True):
            if document is not None and (found := await self._finds(built, document)) is not None:
                asked += 1
                if not found:
                    missed.append(str(number))
        if missed:
            raise NotFound(names.MODEL, built.partition, asked, missed)
        return asked

    async def _finds(self, built: Prefix, document: bytes) -> bool | None:
        """Whether a search by its rarest words brings the record; None for one that no search may bring now."""
        head = names.Head.unpack(document)
        record, now = record_of(document, head), self.clock()
        until = record.valid_until
        bounded = (record.valid_from or 0) > now or (until is not None and until <= now)
        if head.state != names.ACTIVE or record.expires_at <= now or bounded:
            return None
        body = await open_body(self.keyring, record)
        index = None if body is None else await self._index(built, record.tenant)
        if body is None or index is None:
            return None
        held = self.analyser(record.tenant).document(body.statement, instant(record.observed_at)).counts
        terms = [term for term, _ in held]
        keys = (built.watermark,)
        every = self._request(record, index, terms, 0)
        counted = await candidates.count(self.redis, self.functions, keys, every, terms, 0)
        if isinstance(counted, candidates.Refused) or not terms:
            return None
        frequencies = counted[1].frequencies
        ordered = sorted(terms, key=lambda term: (frequencies[term], term))[:RAREST]
        rarest = [term for term in ordered if frequencies[term] <= _MOST]
        if not rarest:
            return None
        most = max(frequencies[term] for term in rarest)
        request = self._request(record, index, rarest, most + 1)
        answer = await candidates.search(self.redis, self.functions, keys, request, _MOST)
        return isinstance(answer, Found) and any(hit.document == document for hit in answer.hits)

    def _request(self, record: StoredRecord, index: TenantIndex, terms: Sequence[Term], cap: int) -> Request:
        scope = ReadScope(
            tenant=record.tenant,
            agent=record.agent,
            purpose=record.purposes[0],
            principal=PrincipalName("rebuild"),
            surface=record.surfaces[0] if record.surfaces else None,
        )
        filters = Filters.of(scope, Admission(max_sensitivity=_HIGHEST, control_offset=0), self.clock(), None)
        query = QueryTerms(weights=tuple((term, 1.0) for term in terms), unusable=None, clipped=False)
        return Request.of(scope, filters, None, index.key, query, self.ranking, cap, Offset(0), None, 0)

    async def _index(self, prefix: Prefix, tenant: TenantId) -> TenantIndex | None:
        stored = await read_stored(self.redis, prefix, tenant)
        if stored is None:
            return None
        try:
            keys = await self.keyring.opening(tenant, wrapper_in(stored))
        except KeyClosed:
            return None
        rules = rules_of(self.analyser(tenant), self.ranking)
        return open_index(keys, prefix.log_id, stored, rules)

    async def _rules(self, prefix: Prefix, tenant: TenantId) -> str | None:
        stored = await read_stored(self.redis, prefix, tenant)
        return None if stored is None else rules_in(stored)

    async def _numbers(self, prefix: Prefix) -> AsyncIterator[list[int]]:
        stem, numbers = prefix.key("d:").encode(), []
        client: Any = self.redis
        with answers("listing records"):
            async for key in client.scan_iter(match=stem + b"*", count=_MOST):
                numbers.append(int(key[len(stem) :]))
                if len(numbers) == _RUN:
                    yield numbers
                    numbers = []
        if numbers:
            yield numbers

    async def _documents(self, prefix: Prefix, numbers: Sequence[int]) -> Sequence[bytes | None]:
        if not numbers:
            return ()
        with answers("reading records"):
            found: Sequence[bytes | None] = (
                await ask(self.redis, ("MGET", *(prefix.key(f"d:{each}") for each in numbers)))
            )[0]
        return found


def word_counts(document: bytes) -> Sequence[int]:
    """How often each word of a stored record was counted: in no order, for the words are blinded."""
    head = names.Head.unpack(document)
    return Postings.all_counts(document[names.HEAD_BYTES + head.guards : head.record_at])

"""Hard filters: each keeps a record out by itself, and the same record is found where it does not (the control)."""

from collections.abc import Sequence
from typing import Any

import pytest
from redis.asyncio import Redis

from eunoe.readmodels.recall.errors import BadScope, ReadRefused
from eunoe.readmodels.recall.rank import Bm25
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.ids import AgentId, MemoryId, Millis, TenantId
from eunoe.schemas.values import MemoryClass, Sensitivity, Trust, Visibility
from eunoe.testing.recalling import RecallWorld
from eunoe.testing.samples import SAMPLE_TIME

DAY = 86_400_000
STATEMENT = "Prefers delivery in the evening"


class Spy:
    """Passes calls on and keeps the documents that searches bring."""

    def __init__(self, functions: LoadedFunctions) -> None:
        self._functions = functions
        self.documents: list[Any] = []

    async def call(self, redis: Redis, name: str, keys: Sequence[str], args: Sequence[Any]) -> Any:
        answer = await self._functions.call(redis, name, keys, args)
        if name == "search" and answer[0] == 1:
            self.documents += answer[4]
        return answer


async def found(world: RecallWorld, query: str = "evening delivery", **over: Any) -> list[MemoryId]:
    as_of = over.pop("as_of", None)
    result = await world.reader.search(world.scope(**over), query, as_of=as_of, ranking=Bm25())
    return [each.memory_id for each in result.records]


@pytest.mark.parametrize(
    ("record", "passes", "refused", "reason"),
    [
        ({}, {}, {"tenant": TenantId("globex")}, None),
        ({}, {}, {"agent": AgentId("other-bot")}, None),
        ({}, {}, {"purpose": "billing"}, None),
        ({"visibility": Visibility.SHARED}, {"agent": AgentId("other-bot")}, {"purpose": "billing"}, None),
        ({}, {"subject": "customer-17"}, {"subject": "customer-18"}, None),
        ({"surfaces": ("web",)}, {"surface": "web"}, {"surface": "phone"}, "surface"),
        ({"surfaces": ("web",)}, {"surface": "web"}, {}, "surface"),
        ({}, {"classes": frozenset({MemoryClass.LONG_TERM})}, {"classes": frozenset({MemoryClass.PROFILE})}, "class"),
        ({}, {"trust_min": Trust.ASSERTED}, {"trust_min": Trust.VERIFIED}, "trust"),
        ({}, {"max_sensitivity": Sensitivity.PERSONAL}, {"max_sensitivity": Sensitivity.INTERNAL}, "sensitivity"),
        ({}, {"max_age": DAY}, {"max_age": 0}, "too_old"),
        ({}, {}, {"require_provenance": True}, "provenance"),
        ({"valid_from": Millis(SAMPLE_TIME)}, {}, {"as_of": Millis(SAMPLE_TIME - 1)}, "not_yet_known"),
        ({"valid_until": Millis(SAMPLE_TIME + DAY)}, {}, {"as_of": Millis(SAMPLE_TIME + DAY)}, "validity"),
        ({"valid_from": Millis(SAMPLE_TIME + DAY)}, {"as_of": Millis(SAMPLE_TIME + DAY)}, {}, "validity"),
        (
            {"expires_at": Millis(SAMPLE_TIME + DAY)},
            {"as_of": Millis(SAMPLE_TIME + DAY - 1)},
            {"as_of": Millis(SAMPLE_TIME + DAY)},
            "expired",
        ),
    ],
)
async def test_each_scope_field_changes_the_result(
    world: RecallWorld, record: dict[str, Any], passes: dict[str, Any], refused: dict[str, Any], reason: str | None
) -> None:
    await world.open_tenant(TenantId("globex"))
    made = Millis(SAMPLE_TIME - 1 if "max_age" in refused else SAMPLE_TIME)
    memory_id = await world.remember(STATEMENT, created_at=made, **record)
    assert await found(world, **passes) == [memory_id]
    as_of = refused.pop("as_of", None)
    spy = Spy(world.reader.functions)
    reader = world.new_reader(functions=spy)
    result = await reader.search(world.scope(**refused), "evening delivery", as_of=as_of)
    assert result.records == ()
    assert spy.documents == []  # it was refused before it was scored, not after it was opened
    # A record outside the scope is never touched; inside, the first filter that refused it is counted.
    assert result.excluded == ({} if reason is None else {reason: 1})
    assert result.examined == (0 if reason is None else 1)
    # An exact read goes by the same filters.
    assert await world.reader.get(world.scope(**refused), memory_id, as_of=as_of) is None
    as_of = passes.pop("as_of", None)
    exact = await world.reader.get(world.scope(**passes), memory_id, as_of=as_of)
    assert exact is not None
    assert exact.statement == STATEMENT


async def test_two_users_of_one_agent_get_disjoint_results(world: RecallWorld) -> None:
    mine = await world.remember(STATEMENT, whom="anna")
    yours = await world.remember(STATEMENT, whom="boris")
    assert await found(world, subject="anna") == [mine]
    assert await found(world, subject="boris") == [yours]
    assert await found(world) == [mine, yours]


async def test_a_scope_without_data_is_empty_and_never_falls_back(world: RecallWorld) -> None:
    await world.remember(STATEMENT)
    unknown = await world.reader.search(world.scope(tenant=TenantId("nobody")), "evening delivery")
    assert (unknown.records, unknown.examined) == ((), 0)
    assert await found(world, agent=AgentId("new-bot")) == []
    assert await found(world, subject="never-heard-of") == []
    assert len(await found(world)) == 1


async def test_tenants_are_matched_exactly_and_never_by_prefix(world: RecallWorld) -> None:
    names = [TenantId(name) for name in ("acme", "acme-2", "acme.2", "acm", "ACME")]
    ids = {name: await world.remember(STATEMENT, tenant=name) for name in names}
    for name in names:
        assert await found(world, tenant=name) == [ids[name]]
    agents = [AgentId(name) for name in ("a", "a.b", "a-b", "s", "shared")]
    owned = {name: await world.remember("Reads novels", agent=name) for name in agents}
    for agent in agents:
        assert await found(world, "novels", agent=agent) == [owned[agent]]


async def test_one_memory_id_in_two_tenants_is_two_records(world: RecallWorld) -> None:
    memory_id = await world.remember(STATEMENT)
    await world.remember("Something else about delivery", tenant=TenantId("globex"), memory_id=memory_id)
    mine = await world.reader.get(world.scope(), memory_id)
    theirs = await world.reader.get(world.scope(tenant=TenantId("globex")), memory_id)
    assert mine is not None
    assert theirs is not None
    assert (mine.statement, theirs.statement) == (STATEMENT, "Something else about delivery")


async def test_counts_never_leak_across_scopes(world: RecallWorld) -> None:
    await world.remember(STATEMENT)
    before = (await world.reader.search(world.scope(), "evening")).records[0].score
    for _ in range(5):
        await world.remember(STATEMENT, tenant=TenantId("globex"))
        await world.remember(STATEMENT, agent=AgentId("other-bot"))
        await world.remember(STATEMENT, purposes=("billing",))
    assert (await world.reader.search(world.scope(), "evening")).records[0].score == before
    await world.remember(STATEMENT)
    assert (await world.reader.search(world.scope(), "evening")).records[0].score != before


async def test_an_expired_record_that_was_not_swept_gives_way_to_the_next_best(world: RecallWorld) -> None:
    best = await world.remember("Delivery in the evening", expires_at=Millis(SAMPLE_TIME + DAY))
    others = [await world.remember(f"Delivery in the evening, said on occasion number {at}") for at in range(12)]
    assert (await found(world))[0] == best
    world.now = Millis(SAMPLE_TIME + DAY)
    after = await found(world)
    assert best not in after
    assert len(after) == 10
    assert set(after) <= set(others)


async def test_hits_without_a_document_are_dropped_and_refilled(world: RecallWorld) -> None:
    ids = [await world.remember(f"Delivery number {at} in the evening") for at in range(15)]
    lost = (await found(world))[:5]
    for memory_id in lost:
        number = ids.index(memory_id)
        await world.redis.delete(world.prefix().key(f"d:{number}"))
    after = await found(world)
    assert len(after) == 10
    assert not set(after) & set(lost)


async def test_provenance_satisfies_where_it_is_asked_for(world: RecallWorld) -> None:
    sourced = MemoryBody(statement=STATEMENT, source_uri="crm://1")
    memory_id = await world.remember(STATEMENT, contents=sourced)
    await world.remember(STATEMENT)
    assert await found(world, require_provenance=True) == [memory_id]


async def test_the_gate_is_asked_before_anything_is_read(world: RecallWorld) -> None:
    memory_id = await world.remember(STATEMENT)
    world.gate.max_sensitivity = Sensitivity.PUBLIC
    assert await found(world, max_sensitivity=Sensitivity.RESTRICTED) == []
    world.gate.refusing = "reads_off"
    reader = world.new_reader(redis=None)
    with pytest.raises(ReadRefused) as refused:
        await reader.search(world.scope(), "evening")
    assert refused.value.reason == "reads_off"
    with pytest.raises(ReadRefused):
        await reader.get(world.scope(), memory_id)


@pytest.mark.parametrize(
    "over",
    [{"tenant": "a/b"}, {"agent": ""}, {"purpose": "a:b"}, {"surface": "{p1}"}, {"subject": ""}, {"max_age": -1}],
)
def test_a_scope_that_names_nothing_possible_is_refused(world: RecallWorld, over: dict[str, Any]) -> None:
    with pytest.raises(BadScope) as refused:
        world.scope(**over)
    assert refused.value.field in over


@pytest.mark.parametrize("over", [{"limit": -1}, {"limit": True}, {"limit": 101}, {"budget": -1}])
async def test_impossible_sizes_are_refused(world: RecallWorld, over: dict[str, Any]) -> None:
    with pytest.raises(BadScope):
        await world.reader.search(world.scope(), "evening", **over)

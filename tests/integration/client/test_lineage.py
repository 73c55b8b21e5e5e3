"""What was built on what is forgotten is found by nobody, in its own words or any other, and its key is destroyed."""

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from eunoe.client.ingesting import ingest
from eunoe.client.memory import Memory
from eunoe.client.seed_file import SeedScope, seed_lines, seed_memory_id
from eunoe.crypto.errors import KeyClosed
from eunoe.crypto.hierarchy import WrappedKey
from eunoe.readmodels.key_source import RedisKeySource
from eunoe.readmodels.recall.result import RecalledMemory
from eunoe.readmodels.serving import Serving
from eunoe.readmodels.store import text
from eunoe.readmodels.subjects import NAME, SubjectNames
from eunoe.runtime.settings import Settings
from eunoe.schemas.contract.records import MemoryRecord
from eunoe.schemas.ids import KeyId, MemoryId, PrincipalName, TenantId
from eunoe.schemas.outcomes import Outcome
from eunoe.testing.waiting import until
from eunoe.worker.embedded import RunningServices

ACME = TenantId("acme")
WHERE: dict[str, Any] = {
    "tenant": "acme", "agent": "bot", "purposes": ["support"], "ttl": "P30D",
    "source": {"kind": "user_explicit", "uri": "crm://1"},
}  # fmt: skip
SCOPE = {"tenant": "acme", "agent": "bot", "purpose": "support"}


@pytest.fixture
async def officer(settings: Settings, services: RunningServices) -> AsyncIterator[Memory]:
    async with Memory.connect(replace(settings, principal=PrincipalName("dev-officer"))) as memory:
        yield memory


async def read(memory: Memory, outcome: Outcome) -> dict[str, RecalledMemory]:
    found = await memory.search("drinks", **SCOPE, after=outcome.token)
    return {each.statement: each for each in found.records}


async def own_key(memory: Memory, outcome: Outcome) -> KeyId:
    """The key that serves the record alone."""
    redis, installation = memory.reading.reader.redis, memory.installation
    prefix = await Serving(redis, installation, NAME).look(installation.partition_of(ACME))
    found = await redis.get(SubjectNames(prefix).alone(ACME, MemoryId(outcome.memory_id or "")))
    assert found is not None, "it has no key of its own"
    return KeyId(text(found))


async def key(memory: Memory, key_id: KeyId) -> WrappedKey | None:
    return await RedisKeySource(memory.reading.reader.redis, memory.installation).key(ACME, key_id)


async def destroyed(memory: Memory, key_id: KeyId) -> bool:
    try:
        return await key(memory, key_id) is None
    except KeyClosed:
        return True


async def test_a_summary_of_two_people_goes_with_either_and_so_does_what_stands_on_it(
    memory: Memory, officer: Memory
) -> None:
    tea = await memory.remember("Anna drinks tea.", subject="anna", **WHERE)
    rum = await memory.remember("Boris drinks rum.", subject="boris", **WHERE)
    found = await read(memory, rum)
    both = await memory.remember(
        "Together they like drinks.", subject="anna", derived_from=list(found.values()), **WHERE
    )
    found = await read(memory, both)
    assert {each.memory_id for each in found["Together they like drinks."].derived_from} == {
        tea.memory_id, rum.memory_id,
    }  # fmt: skip
    plan = await memory.remember(
        "Carla buys drinks.", subject="carla", derived_from=[found["Together they like drinks."]], **WHERE
    )
    keys = [await own_key(memory, each) for each in (both, plan)]
    assert all([await key(memory, each) is not None for each in keys])
    gone = await officer.forget_subject("boris", tenant="acme")
    assert (gone.kind, gone.records) == ("SubjectForgotten", 3)
    assert list(await read(memory, gone)) == ["Anna drinks tea."]
    for each in keys:
        await until(partial(destroyed, memory, each), 20)
    async with Memory.connect(replace(memory.settings, principal=PrincipalName("dev-reviewer"))) as reviewer:
        history = await reviewer.history("acme", plan.memory_id or "")
        assert history.entries[0].derived_from == (both.memory_id,)
        assert (history.entries[-1].kind, history.entries[-1].reasons) == ("SubjectForgotten", ("lineage",))
    again = await memory.remember(
        "Again drinks.", subject="anna", derived_from=[{"memory_id": both.memory_id, "version": 1}], **WHERE
    )
    assert (again.reason, again.field) == ("erased", "derived_from")


async def test_a_seed_file_names_what_a_record_was_built_on_and_a_forgotten_seed_takes_it_along(
    memory: Memory, officer: Memory
) -> None:
    scope = SeedScope(agent="bot", purposes=("support",), ttl="P30D", subject="anna")
    fields = "{tenant_id: acme, memory_class: long_term, kind: fact, source: trusted_profile, confidence: 0.9,"
    raw = f"""memory:
  seed_records:
    - {fields} memory_id: tea, content: Anna drinks tea.}}
    - {fields} memory_id: day, content: She drinks all day., derived_from: [tea]}}
"""
    report = await ingest(memory, seed_lines(raw.encode(), scope))
    assert report.accepted == 2, report
    seed = MemoryRecord("tea", "acme", "long_term", "fact", "Anna drinks tea.", "trusted_profile", 0.9)
    gone = await officer.forget_memory(seed_memory_id(seed, "bot"), tenant="acme")
    (withdrawn,) = gone.withdrawn
    assert await read(memory, gone) == {}
    async with Memory.connect(replace(memory.settings, principal=PrincipalName("dev-reviewer"))) as reviewer:
        last = (await reviewer.history("acme", withdrawn)).entries[-1]
    assert (last.kind, last.reasons, last.withdrawn_with) == ("MemoryWithdrawn", ("lineage",), gone.memory_id)
    report = await ingest(memory, seed_lines(raw.encode(), scope))
    assert report.accepted == 0, report
    words = await memory.remember("she drinks  ALL day.", subject="anna", **WHERE)
    assert (words.reason, words.field) == ("erased", "statement")

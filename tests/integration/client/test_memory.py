"""`Memory` on a real worker: written, awaited, read; in order; and honest where the world is away."""

import json
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import pytest

from eunoe.client.ingesting import ingest
from eunoe.client.line_problems import BadLine
from eunoe.client.memory import Memory
from eunoe.crypto.errors import WrongKek
from eunoe.crypto.kek import create_key_file
from eunoe.producers.errors import CallerError, NoKeyYet, TooLarge
from eunoe.readmodels.errors import NoOutcome
from eunoe.readmodels.recall.errors import BadScope, ReadRefused
from eunoe.runtime.control_state import switch_body
from eunoe.runtime.errors import ForeignLog, NotInstalled
from eunoe.runtime.installation import Installation
from eunoe.runtime.settings import Settings
from eunoe.schemas.control import SWITCH_PREFIX, Switch
from eunoe.schemas.ids import PrincipalName, TenantId, new_id
from eunoe.schemas.outcomes import OutcomeStatus
from eunoe.testing.control import put_in_force
from eunoe.testing.waiting import until
from eunoe.worker.embedded import RunningServices, running_services
from eunoe.worker.roles import Role

SOURCE = {"kind": "user_explicit", "uri": "crm://1"}
WHERE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purposes": ["support"], "source": SOURCE, "ttl": "P30D"}
SCOPE = {"tenant": "acme", "agent": "bot", "purpose": "support"}


async def statements(memory: Memory, query: str, **more: Any) -> list[str]:
    return [each.statement for each in (await memory.search(query, **SCOPE, **more)).records]


async def test_one_reads_what_one_wrote(memory: Memory) -> None:
    outcome = await memory.remember("Prefers green tea.", subject="anna", **WHERE)
    assert outcome.status is OutcomeStatus.ACCEPTED
    assert await statements(memory, "tea", after=outcome.token) == ["Prefers green tea."]
    assert await statements(memory, "tea", after=outcome.token, subject="boris") == []
    assert outcome.memory_id is not None
    history = await memory.history("acme", outcome.memory_id, agent="bot", purpose="support")
    assert [each.kind for each in history.entries] == ["MemoryAccepted"]
    assert await memory.outcome("acme", outcome.command_id) == outcome
    assert await memory.outcome("acme", new_id()) is None


async def test_another_tenant_agent_or_purpose_sees_nothing(memory: Memory) -> None:
    outcome = await memory.remember("Prefers green tea.", **WHERE)
    for other in ({"agent": "other"}, {"purpose": "billing"}):
        assert (await memory.search("tea", **(SCOPE | other), after=outcome.token)).records == ()
    assert (await memory.search("tea", **(SCOPE | {"tenant": "acme-2"}))).records == ()
    assert await statements(memory, "tea", after=outcome.token) == ["Prefers green tea."]


async def test_a_field_that_is_wrong_is_named_before_anything_is_sent(memory: Memory) -> None:
    with pytest.raises(BadLine, match="confidence"):
        await memory.remember("x", confidence=float("nan"), **WHERE)
    with pytest.raises(BadLine, match="unknown field"):
        await memory.remember("x", colour="red", **WHERE)
    with pytest.raises(TooLarge, match="statement"):
        await memory.remember("x" * 4_001, **WHERE)
    for wait in (float("nan"), float("inf"), -1.0):
        with pytest.raises(CallerError, match="timeout"):
            await memory.remember("x", timeout=wait, **WHERE)
        with pytest.raises(BadScope, match="timeout"):
            await memory.search("x", timeout=wait, **SCOPE)


async def test_a_file_is_sent_in_order_so_a_line_may_build_on_the_one_before(memory: Memory) -> None:
    lines = []
    for number in range(200):
        record = new_id()
        lines.append(
            {"op": "remember", "statement": f"Thing {number}.", "memory_id": record, "subject": f"s{number}", **WHERE}
        )
        lines.append({"op": "retract", "tenant": "acme", "memory_id": record, "expected_version": 1})
    seen: list[int] = []
    report = await ingest(memory, [json.dumps(line).encode() for line in lines], progress=seen.append)
    assert (report.accepted, report.done, report.failed, report.refused) == (200, 200, [], [])
    assert sum(seen) == 400
    again = await ingest(memory, [json.dumps(line).encode() for line in lines])
    assert (again.duplicate, again.accepted, again.clean) == (400, 0, True)


async def test_a_switch_is_in_force_for_readers_and_writers_within_two_seconds(
    memory: Memory, settings: Settings
) -> None:
    outcome = await memory.remember("Prefers green tea.", **WHERE)

    async def reads() -> bool:
        try:
            return await statements(memory, "tea", after=outcome.token) == ["Prefers green tea."]
        except ReadRefused as refused:
            return refused.reason != "reads_off"

    async def writes() -> bool:
        probe = await memory.remember(f"Probe, {new_id()}.", **(WHERE | {"agent": "probe"}))
        assert probe.reason in (None, "writes_off")
        return not probe.refused

    assert await reads()
    assert await writes()
    await switch(settings, memory.installation, Switch(reads=False, writes=False))
    await until(lambda: denied(reads()), 2)
    await until(lambda: denied(writes()), 2)
    await switch(settings, memory.installation, Switch())
    await until(reads, 2)
    await until(writes, 2)


async def denied(answer: Awaitable[bool]) -> bool:
    return not await answer


async def switch(settings: Settings, installation: Installation, to: Switch) -> None:
    await put_in_force(settings, installation, f"{SWITCH_PREFIX}acme", switch_body(to))


async def test_without_a_worker_a_command_is_not_reported_as_done(settings: Settings) -> None:
    async with Memory.connect(settings) as memory:
        with pytest.raises(NoKeyYet, match="is a worker running"):
            await memory.remember("Prefers green tea.", timeout=0.3, **WHERE)
    async with running_services(settings), Memory.connect(settings) as memory:
        assert not (await memory.remember("Prefers black tea.", **WHERE)).refused
    async with Memory.connect(settings) as memory:
        with pytest.raises(NoOutcome) as caught:
            await memory.remember("Prefers green tea.", timeout=0.3, **WHERE)
    async with running_services(settings), Memory.connect(settings) as memory:
        # It was on the log all the time, and its id is still good to ask by.
        found = await memory.outcomes.wait(TenantId("acme"), caught.value.command_id, 15)
        assert found.status is OutcomeStatus.ACCEPTED


async def test_projecting_alone_decides_nothing_and_deciding_alone_goes_on_without_readers(settings: Settings) -> None:
    async with running_services(settings, frozenset({Role.PROJECT})) as running:
        await running.ready()
        models = {"keys", "subjects", "outcomes", "history", "recall", "review"}
        assert {each.name for each in running.services} == models
    async with running_services(settings, frozenset({Role.DECIDE})) as running:
        await running.ready()
        assert [each.name for each in running.services] == ["decide"]


async def test_what_does_not_fit_this_installation_is_refused_at_the_door(settings: Settings, memory: Memory) -> None:
    with pytest.raises(NotInstalled):
        async with Memory.connect(replace(settings, prefix="nowhere-")):
            pass
    await memory.remember("Prefers green tea.", **WHERE)
    assert settings.secrets is not None
    other = settings.secrets / "other-kek"
    create_key_file(other)
    async with Memory.connect(replace(settings, kek_file=other)) as wrong:
        with pytest.raises(WrongKek):
            await wrong.remember("Prefers black tea.", **WHERE)
    key = f"eunoe:installation:{settings.prefix}"
    redis = memory.reading.reader.redis
    await redis.set(key, new_id())
    with pytest.raises(ForeignLog):
        async with Memory.connect(settings):
            pass
    await redis.set(key, memory.installation.log_id)


async def test_a_principal_is_who_its_secret_says(settings: Settings, services: RunningServices) -> None:
    async with Memory.connect(replace(settings, principal=PrincipalName("dev-officer"))) as officer:
        refused = await officer.remember("Prefers green tea.", **WHERE)
        assert refused.reason == "not_allowed"
    assert settings.secrets is not None
    stolen = settings.secrets / "dev-reviewer.secret"
    as_other = replace(settings, principal=PrincipalName("dev-officer"), secret_file=stolen)
    async with Memory.connect(as_other) as impostor:
        with pytest.raises(ReadRefused, match="not_authenticated"):
            await impostor.search("tea", **SCOPE)

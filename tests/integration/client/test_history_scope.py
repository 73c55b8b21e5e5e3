"""What happened to a record is told to whoever could read it, and to those who review or operate; to nobody else."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from eunoe.client.memory import Memory
from eunoe.readmodels.recall.errors import BadScope
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import PrincipalName, new_id
from eunoe.schemas.outcomes import Outcome
from eunoe.testing.waiting import until
from eunoe.worker.embedded import RunningServices

CRM = {"kind": "user_explicit", "uri": "crm://1"}
MAIL = {"kind": "third_party", "uri": "mail://7"}
WHERE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purposes": ["support"], "ttl": "P30D", "source": CRM}
SCOPE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purpose": "support"}


@pytest.fixture
async def officer(settings: Settings, services: RunningServices) -> AsyncIterator[Memory]:
    async with Memory.connect(replace(settings, principal=PrincipalName("dev-officer"))) as officer:
        yield officer


async def kinds(by: Memory, outcome: Outcome, **over: Any) -> list[str]:
    found = await by.history(memory_id=str(outcome.memory_id), **(SCOPE | over))
    return [each.kind for each in found.entries]


async def told(by: Memory, outcome: Outcome, *expected: str, **over: Any) -> None:
    async def is_told() -> bool:
        return await kinds(by, outcome, **over) == list(expected)

    await until(is_told)


async def test_a_history_goes_as_far_as_the_scope_of_whoever_asks(memory: Memory, officer: Memory) -> None:
    own = await memory.remember("Prefers tea.", **WHERE)
    waiting = await memory.remember("Prefers milk.", **(WHERE | {"agent": "other", "source": MAIL}))
    shared = await memory.remember("Closes at six.", **(WHERE | {"agent": "other", "visibility": "shared"}))
    await told(officer, shared, "MemoryAccepted", agent=None, purpose=None)
    assert await kinds(memory, own) == ["MemoryAccepted"]
    assert await kinds(memory, shared) == ["MemoryAccepted"]
    assert await kinds(memory, waiting, agent="other") == ["MemoryQuarantined"]
    assert await kinds(memory, waiting) == []
    assert await kinds(memory, own, purpose="billing") == []
    assert await kinds(memory, own, tenant="acme-2") == []
    for missing in ("agent", "purpose"):
        with pytest.raises(BadScope, match=missing):
            await kinds(memory, own, **{missing: None})
    with pytest.raises(BadScope, match="UUID"):
        await memory.history(memory_id="not-an-id", **SCOPE)
    assert await kinds(officer, waiting, agent=None, purpose=None) == ["MemoryQuarantined"]


async def test_of_people_whom_nobody_may_read_an_agent_learns_nothing(memory: Memory, officer: Memory) -> None:
    tea = await memory.remember("Prefers tea.", **WHERE, subject="anna")
    await told(memory, tea, "MemoryAccepted")
    asked = await memory.forget_subject("anna", tenant="acme")
    assert asked.kind == "ForgettingRequested"
    await memory.search("tea", **SCOPE, after=asked.token)
    await told(memory, tea)
    await told(officer, tea, "MemoryAccepted")
    gone = await officer.forget_subject("anna", tenant="acme")
    assert not gone.refused
    await told(officer, tea, "MemoryAccepted", "SubjectForgotten")
    assert await kinds(memory, tea) == []


async def test_why_says_how_a_record_of_the_own_scope_ended(memory: Memory, officer: Memory) -> None:
    old = await memory.remember("Delivery at noon.", **WHERE)
    new = await memory.correct(str(old.memory_id), "Delivery at night.", expected_version=1, **WHERE)
    assert not new.refused
    await told(memory, old, "MemoryAccepted", "MemorySuperseded")

    async def why(outcome: Outcome | None, **over: Any) -> str:
        which = new_id() if outcome is None else str(outcome.memory_id)
        return (await memory.why(which, "delivery", after=new.token, **(SCOPE | over))).because

    assert await why(new) == "selected"
    assert await why(old) == "superseded"
    assert await why(old, agent="other") == "not_found"
    assert await why(old, purpose="billing") == "not_found"
    assert await why(None) == "not_found"
    back = await memory.retract(str(new.memory_id), tenant="acme", expected_version=1)
    assert not back.refused
    await told(memory, new, "MemoryAccepted", "MemoryRetracted")
    assert await why(new) == "retracted"

"""Asking to be forgotten, legal holds and grace on a real worker: who reads when, and when something is destroyed."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from eunoe.client.held import read_log
from eunoe.client.lines import line_of
from eunoe.client.memory import Memory
from eunoe.producers.errors import KeyRefused
from eunoe.producers.sent import Sent
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.runtime.principals import create_development_secrets
from eunoe.runtime.settings import Settings
from eunoe.schemas.control import POLICY
from eunoe.schemas.events import Event
from eunoe.schemas.ids import CommandId, Offset, PrincipalName, TenantId
from eunoe.schemas.outcomes import Outcome
from eunoe.testing.control import changed, put_in_force
from eunoe.testing.waiting import until
from eunoe.worker.embedded import RunningServices

SOURCE = {"kind": "user_explicit", "uri": "crm://1"}
WHERE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purposes": ["support"], "source": SOURCE, "ttl": "P30D"}
SCOPE = {"tenant": "acme", "agent": "bot", "purpose": "support"}


@asynccontextmanager
async def connected(settings: Settings, name: str) -> AsyncIterator[Memory]:
    async with Memory.connect(replace(settings, principal=PrincipalName(name))) as memory:
        yield memory


@pytest.fixture
async def officer(settings: Settings, services: RunningServices) -> AsyncIterator[Memory]:
    async with connected(settings, "dev-officer") as memory:
        yield memory


async def read(memory: Memory, outcome: Outcome, **more: Any) -> list[str]:
    found = await memory.search("prefers", **SCOPE, after=outcome.token, **more)
    return sorted(each.statement for each in found.records)


async def test_an_agent_asks_reads_end_at_once_and_nothing_is_destroyed(memory: Memory, officer: Memory) -> None:
    kept = await memory.remember("Prefers tea.", subject="anna", **WHERE)
    other = await memory.remember("Prefers milk.", subject="boris", **WHERE)
    assert kept.memory_id is not None
    assert await read(memory, other) == ["Prefers milk.", "Prefers tea."]
    asked = await memory.forget_subject("anna", tenant="acme")
    assert (asked.kind, asked.due_at) == ("ForgettingRequested", None)
    assert await read(memory, asked) == ["Prefers milk."]
    assert await read(memory, asked, subject="anna") == []
    found = await memory.search("prefers", **SCOPE, after=asked.token)
    assert (found.excluded, found.examined) == ({}, 1)  # who may not be read for now is in no count
    assert not (await memory.why(kept.memory_id, "prefers", **SCOPE)).selected
    inspected = await officer.inspect(tenant="acme", after=asked.token)
    assert [each.record.memory_id for each in inspected.records] == [other.memory_id]
    assert (await memory.remember("Prefers rum.", subject="anna", **WHERE)).reason == "subject_restricted"
    back = await memory.withdraw("anna", tenant="acme")
    assert await read(memory, back) == ["Prefers milk.", "Prefers tea."]
    gone = await officer.forget_subject("anna", tenant="acme")
    assert (gone.kind, gone.records) == ("SubjectForgotten", 1)
    assert await read(memory, gone) == ["Prefers milk."]


async def test_a_hold_ends_reads_defers_the_erasure_and_lets_it_run_when_it_lifts(
    memory: Memory, officer: Memory
) -> None:
    await memory.remember("Prefers tea.", subject="anna", **WHERE)
    day = datetime.now(UTC) + timedelta(days=90)
    held = await officer.hold("anna", tenant="acme", review_at=day)
    assert (held.kind, await read(memory, held)) == ("SubjectHeld", [])
    ((_, review_at),) = await officer.holds("acme")
    assert abs(review_at - day.timestamp() * 1_000) < 1
    with pytest.raises(ReadRefused):
        await memory.holds("acme")
    deferred = await officer.forget_subject("anna", tenant="acme")
    assert (deferred.kind, deferred.refused) == ("ForgettingRequested", False)
    lifted = await officer.lift_hold("anna", tenant="acme")
    assert (lifted.kind, await read(memory, lifted)) == ("HoldLifted", [])

    async def forgotten() -> bool:
        return (await officer.forget_subject("anna", tenant="acme")).reason == "subject_closed"

    await until(forgotten, 20)
    assert await officer.holds("acme") == []
    assert await read(memory, lifted) == []


async def test_a_hold_on_anybody_defers_the_end_of_the_tenant_and_ends_its_reads(
    memory: Memory, officer: Memory
) -> None:
    await memory.remember("Prefers tea.", subject="anna", **WHERE)
    kept = await memory.remember("Prefers milk.", subject="boris", **WHERE)
    assert await read(memory, kept) == ["Prefers milk.", "Prefers tea."]
    await officer.hold("anna", tenant="acme", review_at=datetime.now(UTC) + timedelta(days=90))
    deferred = await officer.forget_tenant("acme")
    assert (deferred.kind, deferred.refused) == ("TenantForgettingRequested", False)
    with pytest.raises(ReadRefused, match="tenant_restricted"):
        await read(memory, deferred)
    assert (await memory.remember("Prefers rum.", subject="boris", **WHERE)).reason == "tenant_restricted"
    lifted = await officer.lift_hold("anna", tenant="acme")
    assert lifted.kind == "HoldLifted"

    async def ended() -> bool:
        return (await officer.forget_tenant("acme")).reason == "tenant_forgotten"

    await until(ended, 20)
    with pytest.raises(ReadRefused, match="tenant_forgotten"):
        await read(memory, await officer.forget_tenant("acme"))


async def test_two_people_and_a_grace_period_where_the_policy_says_so(
    memory: Memory, officer: Memory, settings: Settings, tmp_path: Path
) -> None:
    await memory.remember("Prefers tea.", subject="anna", **WHERE)
    await memory.remember("Prefers tea.", subject="probe", **WHERE)
    await stricter(settings, memory, tmp_path / "secrets")
    asked = await memory.forget_subject("anna", tenant="acme")
    assert asked.due_at is not None
    await until(lambda: _closed(memory), 20)
    assert (await officer.readmit("anna", tenant="acme")).kind == "ActionProposed"
    assert (await officer.readmit("anna", tenant="acme")).reason == "same_owner"
    async with connected(settings, "dev-reviewer") as second:
        assert (await second.readmit("anna", tenant="acme")).kind == "SubjectReadmitted"
    assert not (await memory.remember("Prefers rum.", subject="anna", **WHERE)).refused


async def test_a_forgotten_memory_is_gone_everywhere_and_its_words_do_not_come_back(
    memory: Memory, officer: Memory
) -> None:
    tea = await memory.remember("Prefers tea.", subject="anna", **WHERE)
    milk = await memory.remember("Prefers milk.", subject="anna", **WHERE)
    sister = await memory.remember("Her sister prefers rum.", subject="anna", about=("carla",), **WHERE)
    assert tea.memory_id is not None
    assert sister.memory_id is not None
    gone = await officer.forget_memory(tea.memory_id, tenant="acme")
    assert (gone.kind, gone.own_key) == ("MemoryForgotten", False)
    assert await read(memory, gone) == ["Her sister prefers rum.", "Prefers milk."]
    assert not (await memory.why(tea.memory_id, "prefers", **SCOPE)).selected
    assert tea.memory_id not in {each.record.memory_id for each in (await officer.inspect(tenant="acme")).records}
    for words in ("Prefers tea.", "- prefers  TEA"):
        again = await memory.remember(words, subject="anna", **WHERE)
        assert (again.reason, again.field) == ("erased", "statement")
    correction = await memory.correct(milk.memory_id or "", "prefers tea", expected_version=1, subject="anna", **WHERE)
    assert correction.reason == "erased"
    assert not (await memory.remember("Prefers tea.", subject="boris", **WHERE)).refused
    alone = await officer.forget_memory(sister.memory_id, tenant="acme")
    assert alone.own_key


async def _closed(memory: Memory) -> bool:
    return (await memory.remember("Prefers gin.", subject="anna", **WHERE)).reason == "subject_closed"


async def stricter(settings: Settings, memory: Memory, folder: Path) -> None:
    """The development policy, but with two people, a second's grace, and a reviewer who may readmit too."""
    text = create_development_secrets(folder).policy.decode()
    text = changed(
        text,
        ("version = 1", "version = 2"),
        ("two_people = false", 'two_people = true\ngrace = "PT1S"'),
        ('["review", "read", "write"]', '["review", "read", "write", "readmit"]'),
    )
    await put_in_force(settings, memory.installation, POLICY, text.encode(), "stricter")
    await until(lambda: _follows(memory), 10)


async def _follows(memory: Memory) -> bool:
    probe = await memory.forget_subject("probe", tenant="acme")
    withdrawn = await memory.withdraw("probe", tenant="acme")
    return probe.due_at is not None and not withdrawn.refused


async def test_a_forgetting_amid_a_thousand_writes_leaves_nothing_readable_and_one_outcome_each(
    memory: Memory, officer: Memory
) -> None:
    """In whatever order they meet: what came before is gone, what came after is refused."""
    await memory.remember("Prefers milk.", subject="boris", **WHERE)
    sent: list[Sent] = []
    became: Counter[str] = Counter()
    forgetting: asyncio.Task[Outcome] | None = None
    for number in range(1_000):
        if number == 500:
            forgetting = asyncio.create_task(officer.forget_subject("anna", tenant="acme", timeout=30.0))
        line = line_of({"op": "remember", "statement": f"Prefers tea number {number}.", "subject": "anna", **WHERE})
        try:
            sent.append(await memory.send(line))
        except KeyRefused as refused:
            became[str(refused.outcome.reason)] += 1
        await asyncio.sleep(0)  # sending waits for nothing as long as there is room
    assert forgetting is not None
    outcome = await forgetting
    assert (outcome.kind, outcome.reason) == ("SubjectForgotten", None)
    for each in await asyncio.gather(*(each.outcome(60.0) for each in sent)):
        became[str(each.reason or each.kind)] += 1
    assert became.total() == 1_000
    assert set(became) == {"MemoryAccepted", "subject_closed"}, "the control: some came before, and some after"
    assert outcome.records == became["MemoryAccepted"]
    last = await memory.remember("Prefers rum.", subject="boris", **WHERE)
    assert await read(memory, last) == ["Prefers milk.", "Prefers rum."]
    answers: Counter[CommandId] = Counter()

    def take(_: Offset, event: Event) -> None:
        answers[event.header.command_id] += 1

    await read_log(memory.looking.kafka, memory.installation, TenantId("acme"), Offset(0), take)
    assert len(answers) > 1_000
    assert set(answers.values()) == {1}

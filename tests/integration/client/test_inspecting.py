"""What is held, for people: filters, rights, and nothing that the caller may not read."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from eunoe.client.memory import Memory
from eunoe.readmodels.recall.errors import BadScope, ReadRefused
from eunoe.readmodels.recall.inspecting import Inspection, Status
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import MemoryId, PrincipalName
from eunoe.schemas.values import Confirmation, MemoryClass, Trust
from eunoe.worker.embedded import RunningServices

SOURCE = {"kind": "user_explicit", "uri": "crm://1"}
WHERE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purposes": ["support"], "source": SOURCE, "ttl": "P30D"}

SCOPE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purpose": "support"}


@pytest.fixture
async def reviewer(settings: Settings, services: RunningServices) -> AsyncIterator[Memory]:
    async with Memory.connect(replace(settings, principal=PrincipalName("dev-reviewer"))) as reviewer:
        yield reviewer


class Held:
    """Writes records and waits for them."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.token: str | None = None

    async def write(self, statement: str, **over: Any) -> MemoryId:
        outcome = await self.memory.remember(statement, **(WHERE | over))
        assert not outcome.refused, outcome
        assert outcome.memory_id is not None
        self.token = outcome.token
        return outcome.memory_id

    async def ids(self, by: Memory | None = None, **filters: Any) -> list[MemoryId]:
        """What ``by`` is shown; the agent itself has to say as whom it looks, and what for."""
        who = by or self.memory
        found = await who.inspect(**({"tenant": "acme", "after": self.token} | (SCOPE if by is None else {}) | filters))
        return [each.record.memory_id for each in found.records]


async def test_records_are_shown_newest_first_and_filtered(memory: Memory, reviewer: Memory) -> None:
    held = Held(memory)
    tea = await held.write("Prefers tea.", subject="anna")
    note = await held.write("Waits for a call.", kind="note", **{"class": "short_term"}, purposes=["billing"])
    other = await held.write("Prefers milk.", agent="other")
    assert await held.ids(reviewer) == [other, note, tea]
    assert await held.ids(reviewer, agent="other") == [other]
    assert await held.ids(reviewer, purpose="billing") == [note]
    assert await held.ids(reviewer, subject="anna") == [tea]
    assert await held.ids(reviewer, subject="nobody-we-know") == []
    assert await held.ids(reviewer, classes=[MemoryClass.SHORT_TERM]) == [note]
    assert await held.ids(reviewer, kinds=["fact"]) == [other, tea]
    assert await held.ids(reviewer, statuses=[Status.EXPIRED]) == []
    one = await reviewer.inspect(tenant="acme", limit=1)
    assert ([each.record.memory_id for each in one.records], one.more) == ([other], True)
    (found,) = (await memory.inspect(**SCOPE, subject="anna")).records
    record = found.record
    assert (found.status, record.version, record.source_uri) == (Status.ACTIVE, 1, "crm://1")
    assert (record.trust, record.confirmation) == (Trust.ASSERTED, Confirmation.CONFIRMED)
    assert record.expires_at > record.created_at
    with pytest.raises(BadScope):
        await reviewer.inspect(tenant="acme", limit=5_000)


async def test_an_agent_says_as_whom_it_looks_and_what_for(memory: Memory, reviewer: Memory) -> None:
    held = Held(memory)
    tea = await held.write("Prefers tea.")
    private = await held.write("Prefers milk.", agent="other")
    shared = await held.write("The office closes at six.", agent="other", visibility="shared")
    assert await held.ids(reviewer) == [shared, private, tea]
    for missing in ("agent", "purpose"):
        with pytest.raises(BadScope, match=missing):
            await held.ids(**{missing: None})
    assert await held.ids() == [shared, tea]
    assert await held.ids(purpose="billing") == []


async def test_what_is_quarantined_is_for_reviewers(memory: Memory, reviewer: Memory) -> None:
    held = Held(memory)
    tea = await held.write("Prefers tea.")
    waiting = await held.write("Says somebody.", source={"kind": "third_party", "uri": "mail://1"})
    assert await held.ids() == [tea]
    assert not (await memory.inspect(**SCOPE, limit=1)).more  # not even that there is one
    assert (await reviewer.inspect(tenant="acme", limit=1)).more
    assert await held.ids(reviewer) == [waiting, tea]
    assert await held.ids(reviewer, statuses=[Status.QUARANTINED]) == [waiting]
    with pytest.raises(ReadRefused, match="not_allowed"):
        await held.ids(statuses=[Status.QUARANTINED])


async def test_what_is_kept_for_a_surface_is_no_matter_for_every_reader(memory: Memory, reviewer: Memory) -> None:
    held = Held(memory)
    kept = await held.write("Prefers tea.", surfaces=["mail"])
    assert await held.ids() == []
    assert await held.ids(reviewer) == [kept]


async def test_conflicts_and_their_end_are_seen(memory: Memory) -> None:
    held = Held(memory)
    old = await held.write("Delivery at noon.", key="delivery.window", subject="anna")
    new = await held.write("Delivery at night.", key="delivery.window", subject="anna")
    found = await memory.inspect(**SCOPE, after=held.token)
    assert conflicts(found) == {old: (new,), new: (old,)}
    retracted = await memory.retract(old, tenant="acme", expected_version=2)
    assert not retracted.refused
    assert conflicts(await memory.inspect(**SCOPE, after=retracted.token)) == {new: ()}


async def test_a_conflict_is_told_at_once_and_ends_when_it_is_answered(memory: Memory) -> None:
    said = {**WHERE, "key": "delivery.window", "subject": "anna"}
    old = await memory.remember("Delivery at noon.", **said)
    new = await memory.remember("Delivery at night.", **said)
    assert new.memory_id is not None
    assert new.conflicts == (old.memory_id,)
    found = await memory.search("delivery", **SCOPE, after=new.token)
    assert {each.memory_id: each.conflicts for each in found.records} == {
        old.memory_id: (new.memory_id,),
        new.memory_id: (old.memory_id,),
    }
    over = [{"memory_id": old.memory_id, "version": 2}]
    answered = await memory.resolve(new.memory_id, tenant="acme", expected_version=1, over=over)
    assert (answered.refused, answered.superseded) == (False, (old.memory_id,))
    found = await memory.search("delivery", **SCOPE, after=answered.token)
    assert [(each.memory_id, each.conflicts, each.version) for each in found.records] == [(new.memory_id, (), 2)]
    kinds = [each.kind for each in (await memory.history(memory_id=old.memory_id or "", **SCOPE)).entries]
    assert kinds == ["MemoryAccepted", "MemoryContested", "MemorySuperseded"]


def conflicts(found: Inspection) -> dict[MemoryId, tuple[MemoryId, ...]]:
    return {each.record.memory_id: each.record.conflicts for each in found.records}


async def test_another_tenant_or_a_forgotten_person_is_not_shown(memory: Memory, settings: Settings) -> None:
    held = Held(memory)
    tea = await held.write("Prefers tea.", subject="anna")
    milk = await held.write("Prefers milk.", subject="boris")
    assert await held.ids() == [milk, tea]
    assert (await memory.inspect(**(SCOPE | {"tenant": "acme-2"}))).records == ()
    async with Memory.connect(replace(settings, principal=PrincipalName("dev-officer"))) as officer:
        held.token = (await officer.forget_subject("anna", tenant="acme")).token
    assert await held.ids() == [milk]
    assert await held.ids(subject="anna") == []

"""Reviewing on the whole pipeline: what waits is listed, shown beside what it touches, and decided."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

import pytest

from eunoe.client.memory import Memory
from eunoe.client.review_shown import Changed, Relation, ShownConflict, ShownQuarantined, Withheld
from eunoe.readmodels.recall.errors import BadScope, ReadRefused
from eunoe.readmodels.review_items import Conflict, Page, Quarantined
from eunoe.runtime.control_state import switch_body
from eunoe.runtime.settings import Settings
from eunoe.schemas.control import POLICY, SWITCH_PREFIX, Switch
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.outcomes import Outcome, OutcomeStatus
from eunoe.schemas.values import SourceKind
from eunoe.testing.control import changed, put_in_force
from eunoe.testing.waiting import until
from eunoe.worker.embedded import RunningServices

MAIL = {"kind": "third_party", "uri": "mail://7", "event_ids": ["e-7"]}
CRM = {"kind": "user_explicit", "uri": "crm://1"}
WHERE: dict[str, Any] = {
    "tenant": "acme",
    "agent": "bot",
    "purposes": ["support"],
    "subject": "anna",
    "ttl": "P30D",
    "source": CRM,
}


@dataclass(frozen=True, slots=True)
class Reviewers:
    """``agent`` writes, ``reviewer`` decides, ``officer`` may do neither but erase."""

    settings: Settings
    services: RunningServices
    agent: Memory
    reviewer: Memory
    officer: Memory
    original: str

    async def writes(self, statement: str, **over: Any) -> Outcome:
        outcome = await self.agent.remember(statement, **(WHERE | over))
        assert not outcome.refused, outcome
        return outcome

    async def publish(self, name: str, body: bytes) -> None:
        await put_in_force(self.settings, self.agent.installation, name, body)

    async def policy(self, *changes: tuple[str, str]) -> None:
        """The development policy with ``changes``, in force for deciders and readers when this returns."""
        text, now = self.original, self.reviewer.reading.gate.state.policy
        assert now is not None
        text = changed(text, ("version = 1", f"version = {now.version + 1}"), *changes)
        before = self.services.rules.offset
        await self.publish(POLICY, text.encode())

        async def adopted() -> bool:
            bodies = [each.reading.gate.state.adopted[POLICY].record.body for each in (self.agent, self.reviewer)]
            return bodies == [text.encode()] * 2 and self.services.rules.offset > before

        await until(adopted, 5)


@pytest.fixture
async def people(settings: Settings, services: RunningServices) -> AsyncIterator[Reviewers]:
    async with AsyncExitStack() as closing:
        clients = [
            await closing.enter_async_context(Memory.connect(replace(settings, principal=PrincipalName(f"dev-{name}"))))
            for name in ("agent", "reviewer", "officer")
        ]
        original = clients[0].reading.gate.state.adopted[POLICY].record.body.decode()
        agent, reviewer, officer = clients
        yield Reviewers(settings, services, agent, reviewer, officer, original)


def ids(page: Page) -> list[Any]:
    return [each.memory_id for each in page.items if isinstance(each, Quarantined)]


async def test_what_waits_is_shown_with_all_that_a_decision_needs(people: Reviewers) -> None:
    old = await people.writes("Prefers delivery after six.", key="delivery")
    beside = await people.writes("The delivery goes to the back door.", key="door")
    await people.writes("Delivery to the neighbour is fine.", subject="boris")
    held = await people.writes("Prefers delivery after nine.", key="delivery", source=MAIL)
    assert (held.status, held.reason) == (OutcomeStatus.QUARANTINED, "untrusted_source")
    page = await people.reviewer.reviews("acme", after=held.token)
    assert ids(page) == [held.memory_id]
    item = page.items[0]
    assert isinstance(item, Quarantined)
    assert item.source_kind is SourceKind.THIRD_PARTY
    assert old.memory_id in item.conflicts_with

    shown = await people.reviewer.review(str(held.memory_id), "acme", after=held.token)
    assert isinstance(shown, ShownQuarantined)
    assert shown.item == item
    assert shown.body is not None
    assert (shown.body.statement, shown.body.source_uri) == ("Prefers delivery after nine.", "mail://7")
    (compared,) = shown.compared
    assert (compared.relation, compared.memory_id) == (Relation.CONTRADICTS, old.memory_id)
    assert [(each.change, each.text) for each in compared.diff] == [
        (Changed.SAME, "Prefers delivery after"),
        (Changed.REMOVED, " six."),
        (Changed.ADDED, " nine."),
    ]
    assert [each.memory_id for each in shown.corroborating] == [beside.memory_id]
    assert (shown.wait, shown.decide) == (0, f"{held.memory_id}@1")
    assert "lasting change of memory, not about one tool call" in shown.notice
    assert await people.reviewer.review(str(old.memory_id), "acme") is None

    # What came into use since it came is shown too, and gives way where the approval names it as it was seen.
    since = await people.writes("Prefers delivery at noon.", key="delivery")
    await people.writes("Prefers delivery at dawn.", key="delivery", purposes=["sales"])
    shown = await people.reviewer.review(str(held.memory_id), "acme", after=since.token)
    assert isinstance(shown, ShownQuarantined)
    assert [each.memory_id for each in shown.compared] == [old.memory_id, since.memory_id]
    named = {"memory_id": shown.compared[1].memory_id, "version": shown.compared[1].version}
    wanted: dict[str, Any] = {"tenant": "acme", "expected_version": 1}
    unseen = await people.reviewer.promote(str(held.memory_id), replaces={**named, "version": 7}, **wanted)
    assert unseen.reason == "version_conflict"
    done = await people.reviewer.promote(str(held.memory_id), replaces=named, **wanted)
    assert done.status is OutcomeStatus.DONE, done
    assert (done.superseded, done.conflicts) == ((since.memory_id,), (old.memory_id,))
    page = await people.reviewer.reviews("acme", after=done.token)
    assert [type(each) for each in page.items] == [Conflict], "with what was not named"


async def test_a_correction_that_waits_is_compared_with_what_it_would_replace(people: Reviewers) -> None:
    old = await people.writes("Lives in Bonn.")
    held = await people.agent.correct(
        str(old.memory_id), "Lives in Berlin.", expected_version=1, **(WHERE | {"source": MAIL})
    )
    shown = await people.reviewer.review(str(held.memory_id), "acme", after=held.token)
    assert isinstance(shown, ShownQuarantined)
    (compared,) = shown.compared
    assert (compared.relation, compared.memory_id, compared.version) == (Relation.REPLACES, old.memory_id, 1)


async def test_an_open_conflict_waits_until_somebody_answers(people: Reviewers) -> None:
    first = await people.writes("Prefers tea.", key="drink")
    second = await people.writes("Prefers coffee.", key="drink")
    assert second.status is OutcomeStatus.ACCEPTED
    page = await people.reviewer.reviews("acme", reason="conflict", after=second.token)
    (conflict,) = page.items
    assert isinstance(conflict, Conflict)
    assert {each.memory_id: each.version for each in conflict.members} == {first.memory_id: 2, second.memory_id: 1}
    shown = await people.reviewer.review(str(first.memory_id), "acme")
    assert isinstance(shown, ShownConflict)
    assert {each.record.statement for each in shown.members if each.record} == {"Prefers tea.", "Prefers coffee."}
    assert shown.members[1].diff
    (keep,) = [each for each in shown.members if each.memory_id == second.memory_id]
    over = [{"memory_id": first.memory_id, "version": 2}]
    line = await people.reviewer.resolve(keep.memory_id, tenant="acme", expected_version=keep.version, over=over)
    assert not line.refused, line
    assert (await people.reviewer.reviews("acme", after=line.token)).items == ()


async def test_only_who_may_review_sees_the_queue_and_only_of_its_tenants(people: Reviewers) -> None:
    held = await people.writes("Prefers tea.", source=MAIL)
    for other in (people.agent, people.officer):
        with pytest.raises(ReadRefused, match="not_allowed"):
            await other.reviews("acme")
        with pytest.raises(ReadRefused, match="not_allowed"):
            await other.review(str(held.memory_id), "acme")
    assert ids(await people.reviewer.reviews("acme", after=held.token)) == [held.memory_id]
    assert await people.reviewer.review(str(held.memory_id), "umbrella") is None
    assert (await people.reviewer.reviews("umbrella")).items == ()
    assert (await people.reviewer.reviews("umbrella", subject="anna")).items == ()
    with pytest.raises(BadScope, match="reason"):
        await people.reviewer.reviews("acme", reason="because")
    with pytest.raises(BadScope, match="limit"):
        await people.reviewer.reviews("acme", limit=0)


async def test_by_subject_and_source(people: Reviewers) -> None:
    anna = await people.writes("Prefers tea.", source=MAIL)
    boris = await people.writes("Prefers coffee.", subject="boris", source={"kind": "model_output", "uri": "run://1"})
    reviews, after = people.reviewer.reviews, boris.token
    assert ids(await reviews("acme", after=after)) == [anna.memory_id, boris.memory_id]
    assert ids(await reviews("acme", subject="boris")) == [boris.memory_id]
    assert ids(await reviews("acme", source=SourceKind.THIRD_PARTY)) == [anna.memory_id]
    assert ids(await reviews("acme", min_age=3_600_000)) == []


async def test_somebody_of_the_authors_owner_is_refused_and_so_is_who_comes_too_early(people: Reviewers) -> None:
    held = await people.writes("Prefers tea.", source=MAIL)
    decide: dict[str, Any] = {"tenant": "acme", "expected_version": 1}
    await people.policy(('owner = "dev-team"', 'owner = "dev-review"'))
    refused = await people.reviewer.promote(str(held.memory_id), **decide)
    assert (refused.status, refused.reason) == (OutcomeStatus.REJECTED, "same_owner")
    await people.policy(("[review.waiting]", '[review.waiting]\nuntrusted_source = "P1D"'))
    early = await people.writes("Prefers coffee.", source=MAIL)
    refused = await people.reviewer.promote(str(early.memory_id), **decide)
    assert (refused.status, refused.reason) == (OutcomeStatus.REJECTED, "waiting_period")
    shown = await people.reviewer.review(str(early.memory_id), "acme", after=refused.token)
    assert isinstance(shown, ShownQuarantined)
    assert 86_000_000 < shown.wait <= 86_400_000
    done = await people.reviewer.promote(str(held.memory_id), **decide)
    assert done.status is OutcomeStatus.DONE, done


async def test_who_is_forgotten_waits_for_nobody(people: Reviewers) -> None:
    held = await people.writes("Prefers tea.", source=MAIL)
    other = await people.writes("Prefers coffee.", source=MAIL, subject="boris")
    assert ids(await people.reviewer.reviews("acme", after=other.token)) == [held.memory_id, other.memory_id]
    gone = await people.officer.forget_subject("anna", tenant="acme")
    page = await people.reviewer.reviews("acme", after=gone.token)
    assert ids(page) == [other.memory_id]
    assert await people.reviewer.review(str(held.memory_id), "acme") is None

    async def removed() -> bool:
        return (await people.reviewer.reviews("acme")).waiting == 1

    await until(removed, 10)


async def test_a_text_is_withheld_where_the_reviewer_may_not_read_it(people: Reviewers) -> None:
    held = await people.writes("Prefers tea.", source=MAIL, sensitivity="restricted")
    shown = await people.reviewer.review(str(held.memory_id), "acme", after=held.token)
    assert isinstance(shown, ShownQuarantined)
    assert shown.body is not None
    await people.publish(f"{SWITCH_PREFIX}acme", switch_body(Switch(reads=False)))

    async def off() -> bool:
        return not people.reviewer.reading.gate.state.reads_allowed(held_tenant)

    held_tenant: Any = "acme"
    await until(off, 5)
    shown = await people.reviewer.review(str(held.memory_id), "acme")
    assert isinstance(shown, ShownQuarantined)
    assert (shown.body, shown.withheld, shown.corroborating) == (None, Withheld.READS_OFF, ())
    assert ids(await people.reviewer.reviews("acme")) == [held.memory_id]
    await people.publish(f"{SWITCH_PREFIX}acme", switch_body(Switch()))
    lower = (
        'actions = ["review", "read", "write"]\nsource_kinds = "*"\nmax_sensitivity = "restricted"',
        'actions = ["review"]\nsource_kinds = "*"\nmax_sensitivity = "personal"',
    )
    await people.policy(lower)
    shown = await people.reviewer.review(str(held.memory_id), "acme")
    assert isinstance(shown, ShownQuarantined)
    assert (shown.body, shown.withheld) == (None, Withheld.SENSITIVITY)
    personal = await people.writes("Prefers coffee.", source=MAIL)
    shown = await people.reviewer.review(str(personal.memory_id), "acme", after=personal.token)
    assert isinstance(shown, ShownQuarantined)
    assert shown.body is not None

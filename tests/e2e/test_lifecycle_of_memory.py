"""The six tests that define the job (A65), at the level of the stream: real Kafka, real Redis, the public client."""

from dataclasses import replace
from typing import Any, Final

from redis.asyncio import Redis

from e2e.conftest import People
from eunoe.client.memory import Memory
from eunoe.readmodels.recall.result import SearchResult
from eunoe.schemas.events import Reason
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.outcomes import Outcome, OutcomeStatus
from eunoe.testing.crashing import flush_installation
from eunoe.testing.waiting import until
from eunoe.worker.embedded import running_services

SCOPE: Final = {"tenant": "acme", "agent": "support-bot"}
ASK: Final[dict[str, Any]] = {**SCOPE, "purpose": "support"}


async def remember(memory: Memory, statement: str, **over: Any) -> Outcome:
    fields = {
        **SCOPE,
        "purposes": ["support"],
        "subject": "customer-17",
        "source": {"kind": "user_explicit", "uri": "crm://tickets/4711"},
        "ttl": "P30D",
    }
    return await memory.remember(statement, **{**fields, **over})


def statements(result: SearchResult) -> list[str]:
    return [each.statement for each in result.records]


async def test_quarantine_absent_promote_visible(people: People) -> None:
    said = {"kind": "third_party", "uri": "mail://1"}
    outcome = await remember(people.agent, "Reports go to the accounting office.", source=said)
    assert outcome.status is OutcomeStatus.QUARANTINED
    control = await remember(people.agent, "Reports are read on Mondays.")
    before = await people.agent.search("reports", after=control.token, **ASK)
    assert statements(before) == ["Reports are read on Mondays."]
    asked: dict[str, Any] = {"tenant": "acme", "expected_version": 1}
    by_agent = await people.agent.promote(str(outcome.memory_id), **asked)
    assert (by_agent.status, by_agent.reason) == (OutcomeStatus.REJECTED, Reason.NOT_ALLOWED)
    promoted = await people.reviewer.promote(str(outcome.memory_id), **asked)
    assert promoted.status is OutcomeStatus.DONE, promoted
    after = await people.agent.search("reports", after=promoted.token, **ASK)
    assert sorted(statements(after)) == ["Reports are read on Mondays.", "Reports go to the accounting office."]


async def test_stale_version_cannot_overwrite(people: People) -> None:
    first = await remember(people.agent, "Delivery before noon.")
    change: dict[str, Any] = {**SCOPE, "purposes": ["support"], "subject": "customer-17", "ttl": "P30D"}
    change["source"] = {"kind": "user_explicit", "uri": "crm://tickets/4712"}
    won = await people.agent.correct(str(first.memory_id), "Delivery after six.", expected_version=1, **change)
    lost = await people.agent.correct(str(first.memory_id), "Delivery on Sunday.", expected_version=1, **change)
    assert won.status is OutcomeStatus.ACCEPTED
    assert lost.status is OutcomeStatus.REJECTED
    assert lost.reason in {Reason.VERSION_CONFLICT, Reason.WRONG_STATE}
    assert lost.current_version == 2
    found = await people.agent.search("delivery", after=lost.token, **ASK)
    assert statements(found) == ["Delivery after six."]


async def test_correction_supersedes(people: People) -> None:
    first = await remember(people.agent, "Drinks coffee in the morning.")
    change: dict[str, Any] = {**SCOPE, "purposes": ["support"], "subject": "customer-17", "ttl": "P30D"}
    change["source"] = {"kind": "user_explicit", "uri": "crm://tickets/4713"}
    second = await people.agent.correct(
        str(first.memory_id), "Drinks tea in the morning.", expected_version=1, **change
    )
    found = await people.agent.search("drinks morning", after=second.token, **ASK)
    assert statements(found) == ["Drinks tea in the morning."]

    async def told() -> bool:
        return len((await people.reviewer.history("acme", str(first.memory_id))).entries) == 2

    await until(told)
    entries = (await people.reviewer.history("acme", str(first.memory_id))).entries
    assert [each.version for each in entries] == [1, 2]


async def test_forget_removes_all_of_a_subject(people: People) -> None:
    for number in range(3):
        await remember(people.agent, f"Invoice {number} was paid.", subject="customer-17")
    other = await remember(people.agent, "Invoice nine was paid.", subject="customer-18")
    assert len(statements(await people.agent.search("invoice paid", after=other.token, **ASK))) == 4
    forgotten = await people.officer.forget_subject("customer-17", tenant="acme")
    assert forgotten.status is OutcomeStatus.DONE
    assert forgotten.records == 3
    after = await people.agent.search("invoice paid", after=forgotten.token, **ASK)
    assert statements(after) == ["Invoice nine was paid."]
    late = await remember(people.agent, "Invoice ten was paid.", subject="customer-17")
    assert late.status is OutcomeStatus.REJECTED
    assert late.reason == Reason.SUBJECT_CLOSED


async def test_expired_and_over_budget_not_returned(people: People) -> None:
    short = await remember(people.agent, "The parking code is 4711.", ttl="PT4S")
    lasting = await remember(people.agent, "The parking garage closes at ten.")
    both = await people.agent.search("parking", after=lasting.token, **ASK)
    assert len(both.records) == 2, "the control: both were there"

    async def gone() -> bool:
        return statements(await people.agent.search("parking", **ASK)) == ["The parking garage closes at ten."]

    await until(gone)

    async def swept() -> bool:
        entries = (await people.reviewer.history("acme", str(short.memory_id))).entries
        return [each.kind for each in entries][-1:] == ["MemoryExpired"]

    await until(swept)
    long = "The parking rules say " + "that every visitor signs in at the desk " * 8 + "before parking parking parking."
    over = await remember(people.agent, long)
    whole = await people.agent.search("parking visitor desk", after=over.token, **ASK)
    assert whole.records[0].statement == long, "the control: without a budget the long one is first"
    tight = await people.agent.search("parking visitor desk", budget=30, **ASK)
    assert statements(tight) == ["The parking garage closes at ten."]
    assert [each.id for each in tight.skipped] == [over.memory_id]


async def test_log_restores_state(people: People, redis_client: Redis) -> None:
    first = await remember(people.agent, "Speaks Portuguese.")
    waiting = await remember(people.agent, "Speaks Klingon.", source={"kind": "third_party", "uri": "mail://2"})
    gone = await remember(people.agent, "Speaks Latin.", subject="customer-18")
    forgotten = await people.officer.forget_subject("customer-18", tenant="acme")
    before = await people.agent.search("speaks", after=forgotten.token, **ASK)
    assert statements(before) == ["Speaks Portuguese."]
    assert await flush_installation(redis_client, people.platform.installation.log_id) > 0
    settings = replace(people.platform.settings, principal=PrincipalName("dev-officer"))
    async with running_services(people.platform.settings), Memory.connect(settings) as again:
        # The token outlives the read model: waiting for it waits until the log is folded that far again.
        after = await again.search("speaks", after=forgotten.token, timeout=60, **ASK)
        assert [each.memory_id for each in after.records] == [first.memory_id]
        assert after.records[0].version == 1
        for outcome in (waiting, gone):
            entries = (await again.history("acme", str(outcome.memory_id))).entries
            assert entries, "history was not restored"

"""How much may be written in a minute: the decider's limits, and what they do for those who share a partition."""

from dataclasses import replace

import pytest
from msgspec import structs

from eunoe.schemas.commands import RememberMemory
from eunoe.schemas.events import CommandDuplicate, CommandRejected, KeyIssued, MemoryAccepted, MemoryForgotten, Reason
from eunoe.schemas.ids import KeyId, LogId, Millis, Offset, Partition, TenantId
from eunoe.schemas.outcomes import outcome_of
from eunoe.schemas.policy import RATE_WINDOW_MS, RateRules
from unit.domain.samples import (
    ACME,
    ALICE,
    BOB,
    MONTH,
    NOW,
    OTHER_AGENT,
    POLICY,
    correct,
    draft,
    forget,
    once,
    remember,
)
from unit.domain.scenario import Refused, Scenario, replayed

NOISY = ACME
QUIET = [TenantId(f"quiet-{number}") for number in range(50)]
LIMITED = Refused(reason=Reason.RATE_LIMITED, field="principal")


def limited(**rules: int) -> Scenario:
    return Scenario(policy=replace(POLICY, rates=RateRules(**rules)))


def written(tenant: TenantId, name: str, key: KeyId) -> RememberMemory:
    return structs.replace(remember(draft(f"{tenant} {name}", key)), tenant=tenant)


def minute(scenario: Scenario) -> None:
    scenario.now = Millis(scenario.now + RATE_WINDOW_MS)


def test_one_noisy_and_fifty_quiet_tenants_on_one_partition() -> None:
    """All the quiet ones write is taken in the minute they write it, however much lies before it; of the noisy one's
    as much as the policy says, and its refusals cost the ledger nothing."""
    scenario = limited(per_minute=20)
    keys = {tenant: scenario.key(ALICE, MONTH, tenant) for tenant in (NOISY, *QUIET)}
    minute(scenario)
    commands = [written(NOISY, str(number), keys[NOISY]) for number in range(1_000)]
    for number, tenant in enumerate(QUIET):
        # Spread over the flood, the last one behind all of it.
        commands.insert((number + 1) * 21 - 1, written(tenant, "prefers tea", keys[tenant]))
    start = len(scenario.events)
    for each in commands:
        scenario.ask(each)
    decided = scenario.events[start:]
    taken = [event.header.tenant for event in decided if isinstance(event.fact, MemoryAccepted)]
    refused = [event.header.tenant for event in decided if isinstance(event.fact, CommandRejected)]
    assert {tenant: taken.count(tenant) for tenant in (NOISY, *QUIET)} == {NOISY: 20, **dict.fromkeys(QUIET, 1)}
    assert refused == [NOISY] * 980
    # Of what was taken, the quiet ones' records stand behind at most the limit of the noisy one's.
    assert max(taken[: taken.index(tenant)].count(NOISY) for tenant in QUIET) <= 20
    assert replayed(scenario.events) == scenario.store, "the log alone tells how much was written"


def test_a_new_minute_of_log_time_has_room_again() -> None:
    scenario = limited(per_minute=2)
    key = scenario.key(ALICE, MONTH)
    scenario.when(remember(draft("tea", key))).then(LIMITED)  # both keys were asked for in this minute
    minute(scenario)
    scenario.given(remember(draft("tea", key)), remember(draft("milk", key)))
    scenario.when(remember(draft("rum", key)), correct(draft("gin", key), "tea", 1)).then(LIMITED, LIMITED)
    minute(scenario)
    scenario.given(remember(draft("rum", key)), correct(draft("gin", key), "tea", 1))


def test_a_refusal_says_when_there_is_room_again() -> None:
    scenario = limited(per_minute=2)
    key = scenario.key(ALICE, MONTH)
    scenario.now = Millis(NOW - NOW % RATE_WINDOW_MS + RATE_WINDOW_MS + 45_000)
    scenario.given(remember(draft("tea", key)), remember(draft("milk", key)))
    scenario.ask(remember(draft("rum", key)))
    outcome = outcome_of(scenario.events[-1], LogId("log"), Partition(0), Offset(1))
    assert outcome is not None
    assert (outcome.reason, outcome.retry_after) == ("rate_limited", 15_000)
    kept = outcome_of(scenario.events[-2], LogId("log"), Partition(0), Offset(0))
    assert kept is not None
    assert kept.retry_after is None


def test_a_tenant_has_a_limit_of_its_own_over_all_who_write_in_it() -> None:
    scenario = limited(per_minute=3, tenant_per_minute=4)
    key = scenario.key(ALICE, MONTH)
    minute(scenario)
    scenario.given(*(remember(draft(name, key)) for name in ("tea", "milk", "rum")))
    scenario.when(remember(draft("gin", key))).then(LIMITED)
    scenario.given(remember(draft("gin", key)), by=OTHER_AGENT)
    scenario.when(remember(draft("ale", key)), by=OTHER_AGENT).then(Refused(reason=Reason.RATE_LIMITED, field="tenant"))


def test_what_is_asked_again_is_answered_and_taking_back_is_never_limited() -> None:
    scenario = limited(per_minute=2)
    key = scenario.key(ALICE, MONTH)
    minute(scenario)
    again = once()
    scenario.given(remember(draft("tea", key), idempotency=again), remember(draft("milk", key)))
    assert isinstance(scenario.ask(remember(draft("tea", key), idempotency=again)), CommandDuplicate)
    assert isinstance(scenario.ask(forget("milk")), MemoryForgotten)


def test_keys_to_write_with_are_limited_too() -> None:
    scenario = limited(per_minute=2)
    scenario.key(ALICE, MONTH)
    with pytest.raises(AssertionError, match="rate_limited"):
        scenario.key(BOB, MONTH)
    minute(scenario)
    assert isinstance(scenario.key(BOB, MONTH), str)
    assert isinstance(scenario.events[-1].fact, KeyIssued)


def test_without_a_limit_nothing_is_refused() -> None:
    scenario = Scenario()
    key = scenario.key(ALICE, MONTH)
    scenario.given(*(remember(draft(str(number), key)) for number in range(200)))

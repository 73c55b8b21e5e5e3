"""A producer keeps to the policy's limits by the minute."""

import pytest

from eunoe.producers.pace import Pace, TooFast
from eunoe.schemas.ids import Millis, TenantId
from eunoe.schemas.policy import RATE_WINDOW_MS, RateRules

NOISY = TenantId("noisy")
NOW = Millis(1_000 * RATE_WINDOW_MS + 20_000)


def test_one_noisy_tenant_takes_no_room_from_fifty_quiet_ones() -> None:
    """Of a thousand at once the noisy one sends its share; so whatever a quiet one sends lies behind no more."""
    pace, rules = Pace(), RateRules(per_minute=20)
    sent: list[TenantId] = []
    for number in range(1_000):
        for tenant in (NOISY, TenantId(f"quiet-{number}")) if number >= 950 else (NOISY,):
            try:
                pace.take(tenant, rules, NOW)
            except TooFast:
                continue
            sent.append(tenant)
    assert sent[:20] == [NOISY] * 20
    assert sent[20:] == [f"quiet-{number}" for number in range(950, 1_000)]


def test_it_says_when_there_is_room_again_and_then_there_is() -> None:
    pace, rules = Pace(), RateRules(per_minute=5, tenant_per_minute=1)
    pace.take(NOISY, rules, NOW)
    with pytest.raises(TooFast, match=r"try again in 40\.0 s") as full:
        pace.take(NOISY, rules, NOW)
    assert full.value.retry_after == 40_000
    pace.take(NOISY, rules, Millis(NOW + full.value.retry_after))


def test_without_limits_nothing_is_counted() -> None:
    pace = Pace()
    for _ in range(10_000):
        pace.take(NOISY, RateRules(), NOW)

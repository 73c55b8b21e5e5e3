"""Mandatory expiry, its maximum per kind, clock skew, and the key that a record's end asks for."""

import pytest

from eunoe.domain.retention import month_of
from eunoe.schemas.events import MemoryAccepted, Reason
from eunoe.schemas.ids import Bucket, Millis
from unit.domain.samples import ALICE, BOB, DAY, MINUTE, MONTH, NOW, draft, memory, remember
from unit.domain.scenario import Refused, Scenario

_END = Millis(NOW + 7 * DAY)
"""The furthest a note may live."""


@pytest.fixture
def scenario() -> Scenario:
    return Scenario()


@pytest.mark.parametrize(
    ("ttl", "expires_at", "reason", "field"),
    [
        (None, 0, Reason.EXPIRY_MISSING, "expires_at"),
        (None, -5, Reason.EXPIRY_MISSING, "expires_at"),
        (None, NOW - 1, Reason.EXPIRY_PASSED, "expires_at"),
        (None, NOW, Reason.EXPIRY_PASSED, "expires_at"),
        (None, _END + 1, Reason.EXPIRY_TOO_FAR, "expires_at"),
        (0, NOW + 1, Reason.INVALID_FIELD, "ttl"),
        (-DAY, NOW + DAY, Reason.INVALID_FIELD, "ttl"),
        (7 * DAY + 1, _END, Reason.EXPIRY_TOO_FAR, "ttl"),
        (DAY, NOW + DAY + 5 * MINUTE + 1, Reason.EXPIRY_SKEWED, "expires_at"),
        (DAY, NOW + DAY - 5 * MINUTE - 1, Reason.EXPIRY_SKEWED, "expires_at"),
        (2 * MINUTE, NOW - 1, Reason.EXPIRY_PASSED, "expires_at"),
    ],
)
def test_an_expiry_is_required_ahead_and_within_the_kinds_maximum(
    scenario: Scenario, ttl: int | None, expires_at: int, reason: Reason, field: str
) -> None:
    key = scenario.key(ALICE, Bucket("2027-01"))
    late = draft("m", key, kind="note", ttl=ttl, expires_at=Millis(expires_at))
    scenario.when(remember(late)).then(Refused(reason=reason, field=field))


@pytest.mark.parametrize(
    ("ttl", "expires_at"),
    [
        (None, NOW + 1),
        (None, _END),
        (7 * DAY, _END),
        (7 * DAY, _END + 5 * MINUTE),
        (DAY, NOW + DAY - 5 * MINUTE),
        (2 * MINUTE, NOW + 1),
    ],
)
def test_the_bounds_themselves_are_allowed(scenario: Scenario, ttl: int | None, expires_at: int) -> None:
    key = scenario.key(ALICE, Bucket("2027-01"))
    good = draft("m", key, kind="note", ttl=ttl, expires_at=Millis(expires_at))
    assert isinstance(scenario.ask(remember(good)), MemoryAccepted)


def test_kinds_have_different_maxima(scenario: Scenario) -> None:
    key = scenario.key(ALICE, MONTH)
    scenario.when(remember(draft("m", key, kind="note"))).then(Refused(reason=Reason.EXPIRY_TOO_FAR))
    scenario.given(remember(draft("m", key, kind="fact")))


def test_a_key_of_another_month_is_the_wrong_key(scenario: Scenario) -> None:
    scenario.when(remember(draft("m", scenario.key(ALICE, Bucket("2027-03"))))).then(
        Refused(reason=Reason.WRONG_KEY, field="key_id")
    )
    scenario.given(remember(draft("m", scenario.key(ALICE, MONTH))))


@pytest.mark.parametrize("changes", [{"about": (BOB,)}, {"kind": "diagnosis"}])
def test_some_records_need_a_key_of_their_own(scenario: Scenario, changes: dict[str, object]) -> None:
    month = scenario.key(ALICE, MONTH)
    others = scenario.key(ALICE, Bucket(memory("other")))
    own = scenario.key(ALICE, Bucket(memory("m")))
    for key in (month, others):
        scenario.when(remember(draft("m", key, **changes))).then(Refused(reason=Reason.WRONG_KEY))
    scenario.given(remember(draft("m", own, **changes)))


def test_any_record_may_have_a_key_of_its_own(scenario: Scenario) -> None:
    scenario.given(remember(draft("m", scenario.key(ALICE, Bucket(memory("m"))))))


@pytest.mark.parametrize(
    ("at", "month"),
    [
        (0, "1970-01"),
        (1_798_761_599_999, "2026-12"),
        (1_798_761_600_000, "2027-01"),
        (1_709_164_800_000, "2024-02"),
        (253_402_300_799_999, "9999-12"),
    ],
)
def test_a_month_is_a_utc_month(at: int, month: str) -> None:
    assert month_of(Millis(at)) == month


def test_an_instant_beyond_the_calendar_is_too_far(scenario: Scenario) -> None:
    key = scenario.key(ALICE, Bucket(memory("m")))
    scenario.when(remember(draft("m", key, expires_at=Millis(10**18)))).then(Refused(reason=Reason.EXPIRY_TOO_FAR))

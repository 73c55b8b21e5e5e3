import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.schemas.durations import BadDuration, duration_millis, duration_text


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("P180D", 180 * 86_400_000),
        ("P2W", 14 * 86_400_000),
        ("PT15M", 900_000),
        ("P1DT12H", 129_600_000),
        ("PT0.5S", 500),
        ("PT1.007S", 1_007),
        ("P0D", 0),
    ],
)
def test_a_duration_in_milliseconds(text: str, millis: int) -> None:
    assert duration_millis(text) == millis


@pytest.mark.parametrize("text", ["P180D", "PT36H", "PT90M", "PT61S", "PT0.5S", "PT1.007S", "P0D"])
def test_a_duration_is_told_in_the_largest_unit_that_fits(text: str) -> None:
    assert duration_millis(duration_text(duration_millis(text))) == duration_millis(text)
    assert duration_text(duration_millis(text)) == text.replace("PT0.5S", "PT0.500S")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "P",
        "PT",
        "P1",
        "1D",
        "P1M",
        "P1Y",
        "P-1D",
        "-P1D",
        "p1d",
        "P1DT",
        "PT1H ",
        "P1.5D",
        "PT1.S",
        "P١D",
        "PT1M1H",
    ],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(BadDuration):
        duration_millis(text)


@given(st.integers(0, 999_999), st.integers(0, 999_999), st.integers(0, 999_999_999))
def test_parts_add_up(days: int, hours: int, seconds: int) -> None:
    assert duration_millis(f"P{days}DT{hours}H{seconds}S") == days * 86_400_000 + hours * 3_600_000 + seconds * 1_000

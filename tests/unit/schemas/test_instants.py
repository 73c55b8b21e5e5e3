"""Instants as people read them."""

import pytest

from eunoe.schemas.instants import LAST, instant


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (None, None),
        (0, "1970-01-01T00:00:00.000Z"),
        (1_796_000_000_123, "2026-11-30T00:53:20.123Z"),
        (LAST, "9999-12-31T23:59:59.999Z"),
        (LAST + 1, "253402300800000"),
        (-1, "-1"),
        (2**62, str(2**62)),
    ],
)
def test_an_instant_is_told_whatever_was_stored(at: int | None, text: str | None) -> None:
    assert instant(at) == text

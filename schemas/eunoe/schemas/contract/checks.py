"""The checks of the contract. Their texts are part of it: callers match on them.

A wrong type is a TypeError; a blank or out-of-range value a ValueError. Text is trimmed first and blank is missing;
True is no number; NaN and the infinities are refused. ``what`` begins each text, such as ``Memory record #3``.
"""

from math import isfinite


def text(value: object, what: str, field: str) -> str:
    """The trimmed text."""
    if not isinstance(value, str):
        raise TypeError(f"{what} field must be a string: {field}")
    trimmed = value.strip()
    if not trimmed:
        raise ValueError(f"{what} field is required: {field}")
    return trimmed


def confidence(value: object, what: str) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{what} confidence must be a number")
    # An integer is compared before it becomes a float: a very large one would overflow.
    if not 0 <= value <= 1 or not isfinite(value):
        raise ValueError(f"{what} confidence must be between 0 and 1")
    return float(value)


def revision(value: object, what: str) -> int:
    """A whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} revision must be an integer")
    if value < 1:
        raise ValueError(f"{what} revision must be positive")
    return value


def limit(value: object, what: str) -> int:
    """A whole number from 0; 0 is legal and asks for nothing."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} limit must be an integer")
    if value < 0:
        raise ValueError(f"{what} limit must be non-negative")
    return value

"""Field by field: what a command can carry at all. What it may carry is policy, and the decider's to say.

Each check takes the field's name and returns its value in the form that the command has, or raises `CallerError`, which
never repeats a value: values are memory content. Values are checked at run time, for callers have no type checker.
"""

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, TypeVar

from eunoe.producers.errors import CallerError, TooLarge
from eunoe.schemas.commands import SeenRef
from eunoe.schemas.ids import Millis, is_name, is_uuid

LAST: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z, the last instant that every reader can print."""

SUBJECT_CHARS: Final = 512
"""Of a subject's name. It is only ever hashed, so the log would not mind: but whom a longer text names nobody will be
able to say again in order to have it forgotten."""

IDEMPOTENCY_CHARS: Final = 256
"""Of an idempotency key; hashed as well. A longer one is a payload by mistake, which differs with every retry."""

LONGEST_WAIT_S: Final = 86_400.0
"""A day. A command without an outcome by then will have none."""

_LARGEST: Final = 2**31 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_LABEL: Final = re.compile(r"[A-Za-z0-9._:/-]{1,128}")
_CODE: Final = re.compile(r"[a-z0-9_.-]{1,64}")
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_Choice = TypeVar("_Choice", bound=StrEnum)


def seen(field: str, value: SeenRef) -> None:
    """A record at a version that it can have."""
    uuid(field, value.memory_id)
    whole(field, value.version, 1)


def text(field: str, value: object) -> str:
    """Any text with a UTF-8 form, not empty."""
    if not isinstance(value, str):
        raise _typed(field, "a text", value)
    if not value:
        raise CallerError(field, "is empty")
    if not value.isascii():
        try:
            value.encode()
            broken = False
        except UnicodeEncodeError:  # its own message would carry the text along
            broken = True
        if broken:
            raise CallerError(field, "holds a lone surrogate, which is no text")
    return value


def statement(field: str, value: object, limit: int) -> str:
    """A text that says something, of at most ``limit`` characters."""
    found = text(field, value)
    if not found.strip():
        raise CallerError(field, "is empty")
    if len(found) > limit:
        raise TooLarge(field, limit, len(found))
    return found


def short(field: str, value: object, limit: int) -> str:
    """A text of at most ``limit`` characters."""
    found = text(field, value)
    if len(found) > limit:
        raise TooLarge(field, limit, len(found))
    return found


def subject(field: str, value: object) -> str:
    """The name by which a person is known to the author."""
    return short(field, value, SUBJECT_CHARS)


def name(field: str, value: object) -> str:
    """Of a tenant, agent, purpose, surface or kind."""
    if not isinstance(value, str) or not is_name(value):
        raise CallerError(field, "must be 1 to 64 of A-Z a-z 0-9 . _ -")
    return value


def names(field: str, values: object, limit: int, *, least: int = 0) -> tuple[str, ...]:
    """So many different names."""
    found = tuple(name(field, each) for each in several(field, values, limit))
    if len(found) < least:
        raise CallerError(field, f"must name at least {least}")
    if len(set(found)) != len(found):
        raise CallerError(field, "names one twice")
    return found


def texts(field: str, values: object, limit: int) -> tuple[str, ...]:
    return tuple(text(field, each) for each in several(field, values, limit))


def label(field: str, value: object) -> str:
    """What stays on the log in the clear: room for a repository or a version, none for a sentence."""
    if not isinstance(value, str) or _LABEL.fullmatch(value) is None:
        raise CallerError(field, "must be 1 to 128 of A-Z a-z 0-9 . _ : / -")
    return value


def code(field: str, value: object) -> str:
    """Never free text: it stays on the log in the clear."""
    if not isinstance(value, str) or _CODE.fullmatch(value) is None:
        raise CallerError(field, "must be a code: 1 to 64 of a-z 0-9 . _ -")
    return value


def uuid(field: str, value: object) -> str:
    if not isinstance(value, str) or not is_uuid(value):
        raise CallerError(field, "must be a UUID in lower case, and not the nil UUID")
    return value


def traceparent(field: str, value: object) -> str:
    """Of W3C Trace Context; anything else could carry content into a header."""
    if not isinstance(value, str) or _TRACEPARENT.fullmatch(value) is None:
        raise CallerError(field, "must be a W3C traceparent: version-traceid-parentid-flags in lower-case hex")
    return value


def choice(field: str, value: object, vocabulary: type[_Choice]) -> _Choice:
    """A value of the vocabulary, or the text that is one."""
    if isinstance(value, vocabulary):
        return value
    for each in vocabulary:
        if isinstance(value, str) and each.value == value:
            return each
    raise CallerError(field, f"must be one of {', '.join(vocabulary)}")


def flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _typed(field, "true or false", value)
    return value


def confidence(field: str, value: object) -> float:
    """From 0 to 1. True is a number to Python and NaN passes many comparisons; neither is a belief (M68)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _typed(field, "a number", value)
    if math.isnan(value) or not 0.0 <= value <= 1.0:
        raise CallerError(field, "must be between 0 and 1")
    return float(value)


def whole(field: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _typed(field, "a whole number", value)
    if not least <= value <= _LARGEST:
        raise CallerError(field, f"must be from {least} to {_LARGEST}")
    return value


def seconds(field: str, value: object) -> float:
    """To wait: NaN and infinity would never be over."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _typed(field, "a number of seconds", value)
    if not 0 <= value <= LONGEST_WAIT_S:
        raise CallerError(field, f"must be from 0 to {LONGEST_WAIT_S:.0f} seconds")
    return float(value)


def instant(field: str, value: object) -> Millis:
    """An aware datetime, or milliseconds since the epoch; from 1970 to 9999."""
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise CallerError(field, "has no offset: nobody knows when that is")
        value = round((value - _EPOCH) / _MILLISECOND)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _typed(field, "a datetime with an offset, or milliseconds", value)
    if not 0 <= value <= LAST:
        raise CallerError(field, "must lie between the years 1970 and 9999")
    return Millis(value)


def duration(field: str, value: object) -> int:
    """A timedelta or milliseconds, above zero."""
    if isinstance(value, timedelta):
        value = value // _MILLISECOND
    if isinstance(value, bool) or not isinstance(value, int):
        raise _typed(field, "a timedelta, or milliseconds", value)
    if value <= 0:
        raise CallerError(field, "must be positive")
    return value


def several(field: str, values: object, limit: int) -> tuple[object, ...]:
    """A list of at most so many."""
    # A text is a sequence of texts to Python; taken for one, "support" would be seven purposes.
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise _typed(field, "a list", values)
    found = tuple(values)
    if len(found) > limit:
        raise TooLarge(field, limit, len(found))
    return found


def _typed(field: str, wanted: str, value: object) -> CallerError:
    return CallerError(field, f"must be {wanted}, not {type(value).__name__}")

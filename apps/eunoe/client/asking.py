"""What a caller may give as an argument of a read, by the argument's name: one table for every read there is.

Without it a value of the wrong kind would fail where it is first used, as a fault of Redis, and an agent would be told
to go on without memory for a mistake of its own (B69).
"""

import math
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import wraps
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

from eunoe.readmodels.recall.errors import BadScope

P = ParamSpec("P")
R = TypeVar("R")

_LARGEST: Final = 2**31 - 1
_LATEST: Final = 1 << 47
"""Milliseconds: what is compared with the times of records in Redis, where numbers are doubles."""


class Kind(NamedTuple):
    """What fits, and what is told of anything else."""

    fits: Callable[[object], bool]
    told: str


def _whole(value: object, lowest: int, highest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest


def _seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _texts(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str) and all(isinstance(each, str) for each in value)


def _or_none(kind: Kind) -> Kind:
    return Kind(lambda value: value is None or kind.fits(value), kind.told)


_TEXT: Final = Kind(lambda value: isinstance(value, str), "must be a text")
_INSTANT: Final = Kind(lambda value: _whole(value, 0, _LATEST), "must be a whole number of milliseconds since 1970")
_AGE: Final = Kind(lambda value: _whole(value, -_LATEST, _LATEST), "must be a whole number of milliseconds")
_NUMBER: Final = Kind(lambda value: _whole(value, -_LARGEST, _LARGEST), "must be a whole number")
_TEXTS: Final = _or_none(Kind(_texts, "must be a collection of texts, not one"))
_SECONDS: Final = Kind(_seconds, "must be a number of seconds, not negative and not endless")
_FLAG: Final = Kind(lambda value: isinstance(value, bool), "must be true or false")

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        **dict.fromkeys(("query", "tenant", "trust_min"), _TEXT),
        **dict.fromkeys(("agent", "purpose", "subject", "surface", "memory_id", "max_sensitivity"), _or_none(_TEXT)),
        **dict.fromkeys(("after", "trace_id", "session_id", "kind", "cursor", "reason", "source"), _or_none(_TEXT)),
        **dict.fromkeys(("as_of", "since"), _or_none(_INSTANT)),
        **dict.fromkeys(("budget", "generation"), _or_none(_NUMBER)),
        **dict.fromkeys(("classes", "kinds", "statuses"), _TEXTS),
        "max_age": _or_none(_AGE),
        "limit": _NUMBER,
        "min_age": _AGE,
        "timeout": _SECONDS,
        "require_provenance": _FLAG,
    }
)


def check_kinds(arguments: Mapping[str, object]) -> None:
    """Raises `BadScope`, naming the first that is of the wrong kind. Of an argument that is not in the table, whoever
    is asked says that there is none."""
    for name, value in arguments.items():
        if name in KINDS and not KINDS[name].fits(value):
            raise BadScope(name, KINDS[name].told)


def well_asked(read: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """``read``, once every argument is of its kind. Raises `BadScope` when it is awaited."""
    shape = signature(read)
    rest = next((each.name for each in shape.parameters.values() if each.kind is Parameter.VAR_KEYWORD), "")

    @wraps(read)
    async def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        given = dict(shape.bind(*args, **kwargs).arguments)
        check_kinds({**given, **given.pop(rest, {})})
        return await read(*args, **kwargs)

    return checked

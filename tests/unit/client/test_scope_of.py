"""What a caller of the client got wrong is said by field, before anything is read."""

import math
from inspect import signature
from typing import Any

import pytest

from eunoe.client.asking import KINDS, well_asked
from eunoe.client.line_problems import BadLine
from eunoe.client.lines import line_of
from eunoe.client.looking import Looking
from eunoe.client.memory import Memory
from eunoe.client.reading import Reading, ScopeFields, scope_of
from eunoe.client.reviewing import Reviewing
from eunoe.readmodels.recall.errors import BadScope
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.values import MemoryClass, Sensitivity, Trust

SCOPE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purpose": "support"}
LOW = PrincipalName("low")


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("purpose", None, "must be given"),
        ("tenant", 5, "must be given, as a text"),
        ("trust_min", "nonsense", "untrusted, asserted, verified"),
        ("classes", ["nonsense"], "short_term, long_term, profile"),
        ("classes", "profile", "a collection"),
        ("max_sensitivity", "secret", "public"),
        ("max_age", "P1D", "milliseconds"),
        ("subject", 7, "a text"),
        ("require_provenance", "yes", "true or false"),
        ("classes", [["profile"]], "a collection"),
        ("trust_min", None, "a text"),
        ("purposes", ["support"], "no field of a read"),
    ],
)
def test_a_field_that_is_none_is_named(field: str, value: Any, told: str) -> None:
    with pytest.raises(BadScope, match=told) as caught:
        scope_of(LOW, **(SCOPE | {field: value}))
    assert caught.value.field == field


def test_what_is_named_as_text_is_taken() -> None:
    fields: dict[str, Any] = {"trust_min": "asserted", "classes": ["profile"], "max_sensitivity": "public"}
    scope = scope_of(LOW, **SCOPE, **fields)
    assert (scope.trust_min, scope.classes) == (Trust.ASSERTED, frozenset({MemoryClass.PROFILE}))
    assert scope.max_sensitivity is Sensitivity.PUBLIC
    missing = {name: value for name, value in SCOPE.items() if name != "purpose"}
    with pytest.raises(BadScope, match="purpose"):
        scope_of(LOW, **missing)


def test_an_unknown_circumstance_is_answered_with_those_there_are() -> None:
    fields = {"op": "remember", "tenant": "acme", "agent": "bot", "purposes": ["p"], "statement": "x", "ttl": "P1D"}
    with pytest.raises(BadLine, match=r"must be one of .*one_off"):
        line_of(fields | {"source": {"kind": "tool", "uri": "u"}, "circumstances": ["nonsense"]})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("query", None),
        ("as_of", "2026-10-15T00:00:00"),
        ("as_of", -1),
        ("as_of", 10**20),
        ("as_of", 1.5),
        ("limit", "5"),
        ("limit", True),
        ("budget", math.nan),
        ("budget", 2**64),
        ("generation", "3"),
        ("timeout", "5"),
        ("timeout", math.nan),
        ("after", 7),
        ("trace_id", 7),
        ("require_provenance", "yes"),
        ("max_age", math.inf),
        ("purpose", ["support"]),
    ],
)
async def test_an_argument_of_the_wrong_kind_is_named_and_asks_nobody(name: str, value: Any) -> None:
    asked: list[str] = []

    @well_asked
    async def search(query: str, *, limit: int = 10, as_of: int | None = None, **fields: Any) -> None:
        asked.append(query)

    with pytest.raises(BadScope) as caught:
        await search(**({"query": "box", **SCOPE} | {name: value}))
    assert (caught.value.field, asked) == (name, [])
    await search("box", limit=5, as_of=1, budget=None, classes=("profile",), timeout=0.5, **SCOPE)
    assert asked == ["box"], "the control"


def test_every_argument_of_a_read_has_a_kind() -> None:
    reads = (Reading.search, Reading.why, Reading.history)
    reads += (Looking.inspect, Looking.traces, Looking.decisions, Looking.holds)  # type: ignore[assignment]  # alike enough
    reads += (Reviewing.reviews, Reviewing.review)  # type: ignore[assignment]  # as those
    named = {name for read in reads for name in signature(read).parameters} | ScopeFields.__annotations__.keys()
    assert named - KINDS.keys() == {"self", "fields"}
    assert all(hasattr(read, "__wrapped__") for read in reads), "all of them are looked at"


async def test_to_go_on_without_memory_is_no_answer_to_a_mistake() -> None:
    for name, value in (("as_of", "2026-10-15T00:00:00"), ("timeout", "soon"), ("purpose", ["support"])):
        with pytest.raises(BadScope) as caught:
            await Memory.try_search(None, "box", **(SCOPE | {name: value}))  # type: ignore[arg-type]  # it is not reached
        assert caught.value.field == name

"""What a caller of the client got wrong is said by field, before anything is read."""

from typing import Any

import pytest

from eunoe.client.line_problems import BadLine
from eunoe.client.lines import line_of
from eunoe.client.reading import scope_of
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

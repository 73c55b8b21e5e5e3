"""The error texts of the contract, word for word, and which of them is a TypeError."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eunoe.schemas.contract.records import MemoryCandidate, MemoryLookup, MemoryRecord
from eunoe.schemas.contract.seeds import seed_records
from eunoe.schemas.contract.store import MemoryStore

RECORD = {
    "memory_id": "mem-001",
    "tenant_id": "acme",
    "memory_class": "profile",
    "kind": "language_preference",
    "content": "Prefers concise answers.",
    "source": "trusted_profile",
    "confidence": 0.9,
    "provenance": "user_confirmed_preference",
    "revision": 1,
}
CANDIDATE = {name: value for name, value in RECORD.items() if name not in ("memory_id", "revision")}
LOOKUP = {"query": "answers", "tenant_id": "acme", "limit": 3}


def record(**changes: Any) -> MemoryRecord:
    return MemoryRecord(**{**RECORD, **changes})


def candidate(**changes: Any) -> MemoryCandidate:
    return MemoryCandidate(**{**CANDIDATE, **changes})


def lookup(**changes: Any) -> MemoryLookup:
    return MemoryLookup(**{**LOOKUP, **changes})


def seed(**changes: Any) -> MemoryRecord:
    """The second of two seeds, so that the index in the text is seen to count from 1."""
    return seed_records({"memory": {"seed_records": [RECORD, {**RECORD, **changes}]}})[1]


NUMBERS = (True, "0.5", None)
OUTSIDE = (-0.001, 1.001, math.nan, math.inf, -math.inf, 10**400)
TEXTS = ("tenant_id", "memory_class", "kind", "content", "source", "provenance")
MAKERS: tuple[tuple[Callable[..., Any], str, tuple[str, ...]], ...] = (
    (record, "Memory record", ("memory_id", *TEXTS)),
    (candidate, "Memory candidate", TEXTS),
    (lookup, "Memory lookup", ("query", "tenant_id")),
    (seed, "Memory record #2", ("memory_id", *TEXTS)),
)


@pytest.mark.parametrize(("make", "what", "field"), [(make, what, field) for make, what, fs in MAKERS for field in fs])
def test_a_text_is_a_text_and_not_blank(make: Callable[..., Any], what: str, field: str) -> None:
    for wrong in (7, None, ["x"], b"x"):
        with pytest.raises(TypeError) as refused:
            make(**{field: wrong})
        assert str(refused.value) == f"{what} field must be a string: {field}"
    for blank in ("", "  \t\n", "\u2003"):
        with pytest.raises(ValueError) as missing:
            make(**{field: blank})
        assert str(missing.value) == f"{what} field is required: {field}"
    assert getattr(make(**{field: "  kept \n"}), field) == "kept"


@pytest.mark.parametrize(("make", "what"), [(make, what) for make, what, _ in MAKERS if make is not lookup])
def test_confidence_is_a_number_from_0_to_1(make: Callable[..., Any], what: str) -> None:
    for wrong in NUMBERS:
        with pytest.raises(TypeError) as refused:
            make(confidence=wrong)
        assert str(refused.value) == f"{what} confidence must be a number"
    for outside in OUTSIDE:
        with pytest.raises(ValueError) as out:
            make(confidence=outside)
        assert str(out.value) == f"{what} confidence must be between 0 and 1"
    for fine in (0, 1, 0.0, 0.5, 1.0):
        assert make(confidence=fine).confidence == fine


@pytest.mark.parametrize(("make", "what"), [(record, "Memory record"), (seed, "Memory record #2")])
def test_revision_is_an_integer_from_1(make: Callable[..., Any], what: str) -> None:
    for wrong in (True, 1.0, "1", None):
        with pytest.raises(TypeError) as refused:
            make(revision=wrong)
        assert str(refused.value) == f"{what} revision must be an integer"
    for outside in (0, -1):
        with pytest.raises(ValueError) as out:
            make(revision=outside)
        assert str(out.value) == f"{what} revision must be positive"
    assert make(revision=7).revision == 7


def test_revision_mode_is_append_or_replace() -> None:
    for wrong in (None, 1, True):
        with pytest.raises(TypeError) as refused:
            candidate(revision_mode=wrong)
        assert str(refused.value) == "Memory candidate revision mode must be a string"
    with pytest.raises(ValueError) as unsupported:
        candidate(revision_mode=" merge ")
    assert str(unsupported.value) == "Memory candidate revision mode is not supported: merge"
    assert [candidate(revision_mode=mode).revision_mode for mode in ("append", " replace ")] == ["append", "replace"]
    assert candidate().revision_mode == "append"


def test_limit_is_an_integer_from_0() -> None:
    for wrong in (True, 1.0, "1", None):
        with pytest.raises(TypeError) as refused:
            lookup(limit=wrong)
        assert str(refused.value) == "Memory lookup limit must be an integer"
    with pytest.raises(ValueError) as negative:
        lookup(limit=-1)
    assert str(negative.value) == "Memory lookup limit must be non-negative"
    assert MemoryStore([record()]).lookup("answers", "acme", limit=0) == ()
    assert MemoryStore([record()]).lookup("answers", "acme", limit=1) == (record(),)


def test_a_store_takes_records_and_candidates_only() -> None:
    with pytest.raises(TypeError) as wrong_record:
        MemoryStore([RECORD])  # type: ignore[list-item]  # what the check is for
    assert str(wrong_record.value) == "Memory store records must be MemoryRecord"
    with pytest.raises(TypeError) as wrong_candidate:
        MemoryStore().with_candidate(CANDIDATE)  # type: ignore[arg-type]  # what the check is for
    assert str(wrong_candidate.value) == "Memory store candidate must be MemoryCandidate"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (None, "Memory store config must be a mapping"),
        ([], "Memory store config must be a mapping"),
        ("memory", "Memory store config must be a mapping"),
        ({"memory": None}, "'memory' must be a mapping"),
        ({"memory": []}, "'memory' must be a mapping"),
        ({"memory": {"seed_records": None}}, "'seed_records' must be a list"),
        ({"memory": {"seed_records": {}}}, "'seed_records' must be a list"),
        ({"memory": {"seed_records": "abc"}}, "'seed_records' must be a list"),
        ({"memory": {"seed_records": [RECORD, None]}}, "Memory record #2 must be a mapping"),
        ({"memory": {"seed_records": ["x"]}}, "Memory record #1 must be a mapping"),
    ],
)
def test_a_start_up_file_has_its_shape(config: object, said: str) -> None:
    with pytest.raises(TypeError) as refused:
        seed_records(config)
    assert str(refused.value) == said


def test_a_seed_has_defaults_by_its_position_and_lacks_nothing_else() -> None:
    required = {name: RECORD[name] for name in ("tenant_id", "memory_class", "kind", "content", "source")}
    first, second = seed_records({"memory": {"seed_records": [RECORD, required]}})
    assert (second.memory_id, second.confidence, second.provenance, second.revision) == ("mem-002", 0.5, "unknown", 1)
    assert first == record()
    for field in required:
        without = {name: value for name, value in required.items() if name != field}
        with pytest.raises(ValueError) as missing:
            seed_records({"memory": {"seed_records": [without]}})
        assert str(missing.value) == f"Memory record #1 field is required: {field}"
    assert seed_records({}) == seed_records({"memory": {}}) == ()


def test_the_texts_of_the_page_are_those_that_are_raised() -> None:
    page = (Path(__file__).parents[3] / "docs" / "contracts.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```text\n(Memory store.*?)^```$", page, re.MULTILINE | re.DOTALL)
    store = MemoryStore()
    attempts: list[Callable[[], Any]] = [
        *(lambda config=config: seed_records(config) for config in (0, {"memory": 0}, {"memory": {"seed_records": 0}})),
        lambda: seed_records({"memory": {"seed_records": [RECORD, 0]}}),
        *(lambda make=make: make(tenant_id=0) for make, _, _ in MAKERS),
        *(lambda make=make: make(tenant_id="") for make, _, _ in MAKERS),
        *(
            lambda make=make, value=value: make(confidence=value)
            for make in (record, candidate, seed)
            for value in ("", 2)
        ),
        *(lambda make=make, value=value: make(revision=value) for make in (record, seed) for value in ("", 0)),
        *(lambda value=value: candidate(revision_mode=value) for value in (0, "merge")),
        *(lambda value=value: lookup(limit=value) for value in ("", -1)),
        lambda: MemoryStore([0]),  # type: ignore[list-item]  # what the check is for
        lambda: store.with_candidate(0),  # type: ignore[arg-type]  # what the check is for
    ]
    raised = set()
    for attempt in attempts:
        with pytest.raises((TypeError, ValueError)) as error:
            attempt()
        text = str(error.value).replace("#2", "#{idx}").replace("tenant_id", "{field}")
        raised.add(text.replace("supported: merge", "supported: {revision_mode}"))
    assert sorted(raised) == sorted(block.splitlines())

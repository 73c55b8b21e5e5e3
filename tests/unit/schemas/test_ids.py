"""Ids that must come out the same everywhere."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from eunoe.schemas.ids import NIL, Millis, derived_id, is_uuid, uuid7

_TEXT = st.text(st.characters(codec="utf-8"))


@given(st.lists(_TEXT, min_size=1, max_size=5))
def test_a_derived_id_is_the_uuid5_of_its_parts(parts: list[str]) -> None:
    namespace = uuid.UUID("6f1d3c1e-6f0a-5c0f-9b0e-0d7f5d6c6e01")
    assert derived_id(*parts) == str(uuid.uuid5(namespace, "\x1f".join(parts)))


def test_the_nil_uuid_is_no_id_and_its_neighbours_are() -> None:
    assert not is_uuid(NIL)
    assert is_uuid(NIL[:-1] + "1")
    assert is_uuid("1" + NIL[1:])


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_a_uuid7_holds_its_instant_and_sorts_by_it(at: int, random: bytes) -> None:
    made = uuid7(Millis(at), random)
    assert is_uuid(made)
    assert uuid.UUID(made).version == 7
    assert int(made.replace("-", "")[:12], 16) == at

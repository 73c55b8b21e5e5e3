import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.schemas.canonical import Field, NotCanonical, canonical

scalars: st.SearchStrategy[Field] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.binary(max_size=700),
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.floats(allow_nan=False),
)
fields: st.SearchStrategy[Field] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6
)


def parse(encoded: bytes) -> list[object]:
    """The values in canonical bytes: that this can be written is what makes the encoding injective."""
    values, rest = [], encoded
    while rest:
        value, rest = parse_one(rest)
        values.append(value)
    return values


def parse_one(rest: bytes) -> tuple[object, bytes]:
    tag, rest = rest[:1], rest[1:]
    if tag in {b"n", b"T", b"F"}:
        return {b"n": None, b"T": True, b"F": False}[tag], rest
    if tag == b"f":
        return ("float", rest[:8]), rest[8:]
    size, rest = int.from_bytes(rest[:4]), rest[4:]
    if tag == b"l":
        items = []
        for _ in range(size):
            item, rest = parse_one(rest)
            items.append(item)
        return tuple(items), rest
    content, rest = rest[:size], rest[size:]
    assert len(content) == size
    if tag == b"b":
        return content, rest
    return (content.decode() if tag == b"s" else int(content)), rest


def tagged(value: Field) -> object:
    """``value`` with what Python's own equality blurs (True and 1, 0.0 and -0.0, list and tuple) told apart."""
    if isinstance(value, float):
        return ("float", canonical("", value)[-8:])
    return tuple(tagged(item) for item in value) if isinstance(value, list | tuple) else value


@given(st.text(st.characters(codec="utf-8"), max_size=20), st.lists(fields, max_size=6))
def test_canonical_bytes_can_be_read_back_so_no_two_values_share_them(label: str, values: list[Field]) -> None:
    read = parse(canonical(label, *values))
    assert repr(read) == repr([label, *map(tagged, values)])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a", None), ("a",)),
        (("a",), (b"a",)),
        ((1,), ("1",)),
        ((1,), (True,)),
        ((1,), (1.0,)),
        ((("a", "b"),), ("a", "b")),
        (((), "a"), (("a",),)),
        ((None,), ("",)),
    ],
)
def test_values_that_look_alike_differ(one: tuple[Field, ...], other: tuple[Field, ...]) -> None:
    assert canonical("label", *one) != canonical("label", *other)
    assert canonical("label", *one) == canonical("label", *one)


def test_the_label_separates_purposes() -> None:
    assert canonical("eunoe/a/1", "x") != canonical("eunoe/b/1", "x")


def test_the_format_is_frozen() -> None:
    encoded = canonical("eunoe/x/1", "é", b"\x00", -7, None, True, False, 1.5, ["a", ("b",)])
    assert encoded.hex() == (
        "7300000009" + b"eunoe/x/1".hex() + "7300000002c3a9" + "620000000100" + "69000000022d37" + "6e" + "54" + "46"
        "663ff8000000000000" + "6c00000002" + "730000000161" + "6c00000001" + "730000000162"
    )


def test_long_fields_carry_their_length_too() -> None:
    for size in (511, 512, 70_000):
        assert parse(canonical("l", "x" * size, b"y" * size)) == ["l", "x" * size, b"y" * size]


@pytest.mark.parametrize("value", ["secret\ud800", float("nan"), {"secret"}, ("ok", ["secret\udfff"])])
def test_what_has_no_canonical_form_is_refused_without_being_quoted(value: Field) -> None:
    with pytest.raises(NotCanonical) as caught:
        canonical("label", "fine", value)
    assert caught.value.position == 1
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None

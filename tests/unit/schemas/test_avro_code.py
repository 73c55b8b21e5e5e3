"""The functions made from a schema write and read what a general Avro library does, and refuse what is no record."""

import io
from typing import Any

import fastavro
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eunoe.schemas.avro_code import MALFORMED, Reader, reader_of, writer_of
from eunoe.schemas.codec import COMMANDS, EVENTS, Codec
from unit.schemas.stored_records import Stored, stored_records
from unit.schemas.test_codec import each_codec

few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LONGEST = 2**63 - 1


class Other(msgspec.Struct):
    name: str | None = None


class Inner(msgspec.Struct):
    items: tuple[Other, ...] = ()


class Every(msgspec.Struct):
    """A value for each kind of field."""

    flag: bool = True
    number: int = 0
    real: float = 0.0
    text: str = ""
    raw: bytes = b""
    maybe: str | None = None
    many: tuple[int, ...] = ()
    inner: Inner | Other = msgspec.field(default_factory=Inner)


OTHER = {"type": "record", "name": "Other", "fields": [{"name": "name", "type": ["string", "null"]}]}
INNER = {
    "type": "record",
    "name": "Inner",
    "fields": [{"name": "items", "type": {"type": "array", "items": OTHER}}],
}
EVERY = fastavro.parse_schema(
    {
        "type": "record",
        "name": "Every",
        "namespace": "test",
        "fields": [
            {"name": "flag", "type": "boolean"},
            {"name": "number", "type": "long"},
            {"name": "real", "type": "double"},
            {"name": "text", "type": "string"},
            {"name": "raw", "type": "bytes"},
            {"name": "maybe", "type": ["null", "string"]},
            {"name": "many", "type": {"type": "array", "items": "long"}},
            {"name": "inner", "type": [INNER, "test.Other"]},
        ],
    }
)


def written(value: Any) -> bytes:
    pieces: list[bytes] = []
    writer_of(EVERY)(value, pieces.append)
    return b"".join(pieces)


def by_fastavro(schema: Any, data: bytes) -> Any:
    return fastavro.schemaless_reader(
        io.BytesIO(data), schema, None, return_record_name=True, return_record_name_override=True
    )


def whole(read: Reader, data: bytes) -> Any:
    plain, end = read(data, 0)
    if end != len(data):
        raise ValueError("it does not end where its bytes do")
    return plain


texts = st.text(max_size=100)
others = st.builds(Other, name=st.none() | texts)
records = st.builds(
    Every,
    flag=st.booleans(),
    number=st.integers(-LONGEST - 1, LONGEST) | st.integers(-70, 70) | st.integers(1_000, 1_050),
    real=st.floats(allow_nan=False),
    text=texts | st.just("x" * 2_000),
    raw=st.binary(max_size=100),
    maybe=st.none() | texts,
    many=st.lists(st.integers(-LONGEST - 1, LONGEST), max_size=100).map(tuple),
    inner=others | st.builds(Inner, items=st.lists(others, max_size=3).map(tuple)),
)


@few
@given(record=records)
def test_every_kind_of_field_is_read_and_written_as_fastavro_does(record: Every) -> None:
    data = written(record)
    plain = msgspec.to_builtins(record, builtin_types=(bytes,))
    plain["inner"] = (f"test.{type(record.inner).__name__}", plain["inner"])
    out = io.BytesIO()
    fastavro.schemaless_writer(out, EVERY, plain)
    assert data == out.getvalue()
    assert whole(reader_of(EVERY), data) == by_fastavro(EVERY, data)


@each_codec
@few
@given(data=st.data())
def test_the_contracts_records_are_read_as_fastavro_reads_them(
    codec: Codec[Any], records: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    body = codec.encode(data.draw(records))[10:]
    assert whole(codec._read, body) == by_fastavro(codec._newest, body)


@pytest.mark.parametrize("stored", stored_records(), ids=lambda stored: stored.stem)
def test_what_is_stored_is_read_as_fastavro_reads_it(stored: Stored) -> None:
    body = stored.codec.encode(stored.record)[10:]
    assert whole(stored.codec._read, body) == by_fastavro(stored.codec._newest, body)


def test_an_array_in_blocks_with_their_sizes_is_read() -> None:
    """Writers that do not know the count in advance end blocks early, or give a block's size after a negative count."""
    record = written(Every(many=(1, 2, 3)))
    assert record.count(b"\x06\x02\x04\x06\x00") == 1
    blocks = b"\x03\x04\x02\x04" + b"\x02\x06" + b"\x00"  # -2 items in 2 bytes, 1 item, the end
    found = whole(reader_of(EVERY), record.replace(b"\x06\x02\x04\x06\x00", blocks))
    assert found == whole(reader_of(EVERY), record)


TEXT_AT = 10
"""A boolean, a number of one byte and a double come before the text's length in `Every()`."""


@pytest.mark.parametrize(
    ("place", "bad"),
    [
        (0, b"\x02"),  # no boolean
        (1, b"\xff" * 9 + b"\x02"),  # a number of 65 bits
        (1, b"\x80" * 11 + b"\x00"),  # a number that goes on and on
        (TEXT_AT, b"\x01"),  # a negative length
        (TEXT_AT, b"\x81\x01"),  # a negative length of two bytes
        (TEXT_AT, b"\x02\xff"),  # no UTF-8
        (TEXT_AT, b"\xfe" * 9 + b"\x01"),  # longer than there are bytes
        (TEXT_AT + 2, b"\x04"),  # no member of the union
        (TEXT_AT + 2, b"\x01"),  # no member either
        (TEXT_AT + 3, b"\xfe" * 8 + b"\x01"),  # more items than bytes
    ],
)
def test_bytes_that_are_no_record_end_in_one_of_the_named_errors(place: int, bad: bytes) -> None:
    sound = written(Every())
    assert whole(reader_of(EVERY), sound)["text"] == ""
    with pytest.raises(MALFORMED):
        whole(reader_of(EVERY), sound[:place] + bad + sound[place + 1 :])


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_a_number_that_does_not_fit_is_not_written(number: int) -> None:
    with pytest.raises(OverflowError):
        written(Every(number=number))


def test_a_lone_surrogate_is_not_written() -> None:
    with pytest.raises(UnicodeEncodeError):
        written(Every(text="\ud800"))


@pytest.mark.parametrize("kind", ["int", {"type": "map", "values": "long"}, ["null", "string", "long"]])
def test_a_type_that_the_contract_does_not_use_is_refused_when_the_code_is_made(kind: Any) -> None:
    schema = fastavro.parse_schema({"type": "record", "name": "R", "fields": [{"name": "f", "type": kind}]})
    for made in (reader_of, writer_of):
        with pytest.raises(NotImplementedError):
            made(schema)


def test_both_hot_records_have_a_reader_of_their_own() -> None:
    assert COMMANDS._read is not EVENTS._read

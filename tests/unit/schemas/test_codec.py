"""Every record comes back from its bytes as it was; bytes that are no record are Undecodable and nothing else."""

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eunoe.schemas.codec import (
    BODIES,
    COMMANDS,
    CONTROL_RECORDS,
    ENVELOPES,
    EVENTS,
    KEY_RECORDS,
    RECEIPTS,
    TRACES,
    Codec,
)
from eunoe.schemas.commands import Command, Draft, MemoryBody, RememberMemory
from eunoe.schemas.control import ControlRecord
from eunoe.schemas.envelope import Envelope
from eunoe.schemas.errors import SchemaError, Undecodable, UnknownSchema
from eunoe.schemas.events import Event, EventHeader, Fact
from eunoe.schemas.keys import KeyRecord
from eunoe.schemas.receipts import ReceiptRecord
from eunoe.schemas.traces import Trace
from eunoe.testing.samples import SAMPLE_TENANT, sample_draft
from unit.schemas.any_record import any_of

CODECS: list[tuple[Codec[Any], st.SearchStrategy[Any]]] = [
    (COMMANDS, any_of(Command)),
    (EVENTS, st.builds(Event, header=any_of(EventHeader), fact=any_of(Fact))),
    (BODIES, any_of(MemoryBody)),
    (ENVELOPES, any_of(Envelope)),
    (KEY_RECORDS, any_of(KeyRecord)),
    (CONTROL_RECORDS, any_of(ControlRecord)),
    (TRACES, any_of(Trace)),
    (RECEIPTS, any_of(ReceiptRecord)),
]
each_codec = pytest.mark.parametrize(("codec", "records"), CODECS, ids=[codec.name for codec, _ in CODECS])
few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def a_command() -> RememberMemory:
    return RememberMemory(tenant=SAMPLE_TENANT, draft=sample_draft(), idempotency=b"i" * 16)


@each_codec
@few
@given(data=st.data())
def test_a_record_comes_back_as_it_was(codec: Codec[Any], records: st.SearchStrategy[Any], data: st.DataObject) -> None:
    record = data.draw(records)
    found = codec.decode(codec.encode(record))
    assert found == record
    assert type(found) is type(record)


@each_codec
@few
@given(data=st.data())
def test_a_cut_or_changed_record_is_undecodable_or_another_valid_one_and_never_a_crash(
    codec: Codec[Any], records: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    whole = codec.encode(data.draw(records))
    cut = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SchemaError):
        codec.decode(whole[:cut])
    with suppress(SchemaError):
        codec.decode(bytes(changed))


@each_codec
@few
@given(tail=st.binary(max_size=200))
def test_garbage_under_a_valid_header_is_undecodable(
    codec: Codec[Any], records: st.SearchStrategy[Any], tail: bytes
) -> None:
    with suppress(Undecodable):
        codec.decode(codec._header + tail)


@pytest.mark.parametrize("codec", [codec for codec, _ in CODECS], ids=lambda codec: codec.name)
@pytest.mark.parametrize("data", [b"", b"\xc3", b"\xc3\x01", b"\xc3\x01" + bytes(7), b"{}", b"\x00" * 40])
def test_what_does_not_start_as_a_record_is_undecodable(codec: Codec[Any], data: bytes) -> None:
    with pytest.raises(Undecodable, match="single object"):
        codec.decode(data)


def test_an_unknown_fingerprint_names_itself() -> None:
    data = bytearray(COMMANDS.encode(a_command()))
    data[2:10] = bytes.fromhex("0123456789abcdef")
    with pytest.raises(UnknownSchema, match="0123456789abcdef"):
        COMMANDS.decode(bytes(data))


def test_a_record_of_another_kind_is_an_unknown_schema() -> None:
    with pytest.raises(UnknownSchema):
        EVENTS.decode(COMMANDS.encode(a_command()))


def test_bytes_after_the_record_are_undecodable() -> None:
    data = COMMANDS.encode(a_command())
    assert COMMANDS.decode(data) == a_command()
    with pytest.raises(Undecodable, match="bytes follow"):
        COMMANDS.decode(data + b"\x00")


@pytest.mark.parametrize("confidence", [float("nan"), float("inf"), float("-inf"), -0.1, 1.01])
def test_a_confidence_that_passes_no_comparison_is_undecodable_on_replay(confidence: float) -> None:
    """M68: it is refused where a record is read, whoever wrote it."""
    assert COMMANDS.decode(COMMANDS.encode(_confident(1.0))) == _confident(1.0)
    with pytest.raises(Undecodable):
        COMMANDS.decode(COMMANDS.encode(_confident(confidence)))


@pytest.mark.parametrize("confidence", [True, "0.9"])
def test_a_confidence_of_another_type_is_no_draft(confidence: Any) -> None:
    plain = msgspec.to_builtins(sample_draft(), builtin_types=(bytes,)) | {"confidence": confidence}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(plain, Draft)


def test_a_word_outside_its_vocabulary_is_undecodable() -> None:
    draft = msgspec.structs.replace(sample_draft(), visibility="everybody")
    stray = msgspec.structs.replace(a_command(), draft=draft)
    with pytest.raises(Undecodable) as caught:
        COMMANDS.decode(COMMANDS.encode(stray))
    assert "everybody" not in str(caught.value)


def _confident(confidence: float) -> RememberMemory:
    return msgspec.structs.replace(a_command(), draft=msgspec.structs.replace(sample_draft(), confidence=confidence))

"""Bytes on topics: Avro in the single-object encoding (``C3 01``, the schema's CRC-64-AVRO fingerprint, the body).

Every schema version ever released stays in ``avro/`` as ``<name>.<version>.avsc``; a record is read with the writer's
schema that its fingerprint names and resolved to the newest. Types and schemas meet in one place: functions made from
the newest schema (`eunoe.schemas.avro_code`), or `fastavro` for an older one, make plain values, `msgspec.convert`
makes the frozen types and checks every field (ranges, vocabularies, NaN) on the way, so a record that was written by
somebody else is checked as strictly as one of ours.
"""

import io
import json
from collections.abc import Callable
from importlib import resources
from typing import Any, Final, Generic, TypeVar, get_args

import fastavro
import msgspec
from fastavro.schema import fingerprint, to_parsing_canonical_form

from eunoe.schemas.avro_code import MALFORMED, reader_of, writer_of
from eunoe.schemas.commands import Command, MemoryBody
from eunoe.schemas.control import ControlRecord
from eunoe.schemas.envelope import Envelope
from eunoe.schemas.errors import Undecodable, UnknownSchema
from eunoe.schemas.events import Event, EventHeader, Fact
from eunoe.schemas.keys import KeyRecord
from eunoe.schemas.receipts import ReceiptRecord
from eunoe.schemas.traces import Trace

T = TypeVar("T")

_MAGIC: Final = b"\xc3\x01"
_HEADER_BYTES: Final = 10
_UNREADABLE: Final = (*MALFORMED, EOFError, AttributeError, StopIteration, MemoryError)
"""What reading bytes that are no record ends in. `msgspec.ValidationError` is a ``ValueError``."""


def _versions(name: str) -> list[Any]:
    folder = resources.files("eunoe.schemas") / "avro"
    found = sorted(
        (int(entry.name.split(".")[1]), entry)
        for entry in folder.iterdir()
        if entry.name.startswith(f"{name}.") and entry.name.endswith(".avsc")
    )
    return [json.loads(entry.read_text("utf-8")) for _, entry in found]


def schema_fingerprint(schema: Any) -> bytes:
    """The eight bytes that name ``schema`` in the header: CRC-64-AVRO of its parsing canonical form, little-endian."""
    return bytes.fromhex(fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO"))


class Codec(Generic[T]):
    """Encodes and decodes one kind of record.

    ``to_record`` gives an object with the newest schema's fields as attributes; ``from_plain`` takes the dict of a
    record that was read, in which a member of a union of records is ``(full name, dict)``.
    """

    def __init__(self, name: str, to_record: Callable[[T], Any], from_plain: Callable[[Any], T]) -> None:
        schemas = _versions(name)
        self.name = name
        self._to_record = to_record
        self._from_plain = from_plain
        *older, newest = schemas
        self._older = {schema_fingerprint(each): fastavro.parse_schema(each) for each in older}
        self._newest = fastavro.parse_schema(newest)
        self._header = _MAGIC + schema_fingerprint(newest)
        self._read = reader_of(self._newest)
        self._write = writer_of(self._newest)

    def encode(self, value: T) -> bytes:
        """The record's bytes."""
        pieces = [self._header]
        self._write(self._to_record(value), pieces.append)
        return b"".join(pieces)

    def decode(self, data: bytes) -> T:
        """The record. Raises `UnknownSchema` or `Undecodable`, neither of which quotes the bytes."""
        if data[:2] != _MAGIC or len(data) < _HEADER_BYTES:
            raise Undecodable(self.name, "it does not start as an Avro single object")
        try:
            if data.startswith(self._header):
                plain, end = self._read(data, _HEADER_BYTES)
            else:
                plain, end = self._resolved(data)
            value = self._from_plain(plain)
        except _UNREADABLE as error:
            raise Undecodable(self.name, type(error).__name__) from None
        if end != len(data):
            raise Undecodable(self.name, "bytes follow the record" if end < len(data) else "it ends early")
        return value

    def _resolved(self, data: bytes) -> tuple[Any, int]:
        """As an `avro_code.Reader`, for what an older schema wrote. Raises `UnknownSchema` too."""
        writer = self._older.get(data[2:_HEADER_BYTES])
        if writer is None:
            raise UnknownSchema(data[2:_HEADER_BYTES].hex())
        body = io.BytesIO(data)
        body.seek(_HEADER_BYTES)
        plain = fastavro.schemaless_reader(
            body, writer, self._newest, return_record_name=True, return_record_name_override=True
        )
        return plain, body.tell()


def _itself(value: T) -> T:
    return value


def _struct_codec(name: str, type_: type[T]) -> Codec[T]:
    return Codec(name, _itself, lambda plain: msgspec.convert(plain, type_))


def _union_types(union: Any) -> dict[str, Any]:
    return {each.__name__: each for each in get_args(union)}


_COMMANDS: Final = _union_types(Command)
_FACTS: Final = _union_types(Fact)


class _CommandRecord(msgspec.Struct, frozen=True, gc=False):
    """A command as its schema has it: a record of one field."""

    command: Command


def _command_from_plain(plain: Any) -> Command:
    name, fields = plain["command"]
    found: Command = msgspec.convert(fields, _COMMANDS[name.rpartition(".")[2]])
    return found


def _event_from_plain(plain: Any) -> Event:
    name, fields = plain["fact"]
    fact = msgspec.convert(fields, _FACTS[name.rpartition(".")[2]])
    return Event(header=msgspec.convert(plain["header"], EventHeader), fact=fact)


COMMANDS: Final[Codec[Command]] = Codec("command", _CommandRecord, _command_from_plain)
EVENTS: Final[Codec[Event]] = Codec("event", _itself, _event_from_plain)
BODIES: Final = _struct_codec("body", MemoryBody)
ENVELOPES: Final = _struct_codec("envelope", Envelope)
KEY_RECORDS: Final = _struct_codec("key", KeyRecord)
CONTROL_RECORDS: Final = _struct_codec("control", ControlRecord)
TRACES: Final = _struct_codec("trace", Trace)
RECEIPTS: Final = _struct_codec("receipt", ReceiptRecord)

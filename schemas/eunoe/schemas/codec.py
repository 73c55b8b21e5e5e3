"""Bytes on topics: Avro in the single-object encoding (``C3 01``, the schema's CRC-64-AVRO fingerprint, the body).

Every schema version ever released stays in ``avro/`` as ``<name>.<version>.avsc``; a record is read with the writer's
schema that its fingerprint names and resolved to the newest. Types and schemas meet in one place: `fastavro` makes
plain values, `msgspec.convert` makes the frozen types and checks every field (ranges, vocabularies, NaN) on the way,
so a record that was written by somebody else is checked as strictly as one of ours.
"""

import io
import json
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any, Final, Generic, TypeVar, get_args

import fastavro
import msgspec
from fastavro.schema import fingerprint, to_parsing_canonical_form

from eunoe.schemas.commands import Command, MemoryBody
from eunoe.schemas.control import ControlRecord
from eunoe.schemas.envelope import Envelope
from eunoe.schemas.errors import Undecodable, UnknownSchema
from eunoe.schemas.events import Event, EventHeader, Fact
from eunoe.schemas.keys import KeyRecord

T = TypeVar("T")

_MAGIC: Final = b"\xc3\x01"
_HEADER_BYTES: Final = 10
_UNREADABLE: Final = (
    EOFError, ValueError, TypeError, IndexError, KeyError, OverflowError, AttributeError, StopIteration, MemoryError
)  # fmt: skip
"""What fastavro and msgspec raise on bytes that are no record. `msgspec.ValidationError` is a ``ValueError``."""


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
    """Encodes and decodes one kind of record. ``to_plain`` and ``from_plain`` bridge its types and Avro's values."""

    def __init__(self, name: str, to_plain: Callable[[T], Mapping[str, Any]], from_plain: Callable[[Any], T]) -> None:
        schemas = _versions(name)
        self.name = name
        self._to_plain = to_plain
        self._from_plain = from_plain
        self._writers = {schema_fingerprint(each): fastavro.parse_schema(each) for each in schemas}
        newest = schema_fingerprint(schemas[-1])
        self._newest = self._writers[newest]
        self._header = _MAGIC + newest

    def encode(self, value: T) -> bytes:
        """The record's bytes."""
        out = io.BytesIO()
        out.write(self._header)
        fastavro.schemaless_writer(out, self._newest, self._to_plain(value))
        return out.getvalue()

    def decode(self, data: bytes) -> T:
        """The record. Raises `UnknownSchema` or `Undecodable`, neither of which quotes the bytes."""
        if data[:2] != _MAGIC or len(data) < _HEADER_BYTES:
            raise Undecodable(self.name, "it does not start as an Avro single object")
        writer = self._writers.get(data[2:_HEADER_BYTES])
        if writer is None:
            raise UnknownSchema(data[2:_HEADER_BYTES].hex())
        body = io.BytesIO(data)
        body.seek(_HEADER_BYTES)
        reader = None if writer is self._newest else self._newest
        try:
            plain = fastavro.schemaless_reader(
                body, writer, reader, return_record_name=True, return_record_name_override=True
            )
            value = self._from_plain(plain)
        except _UNREADABLE as error:
            raise Undecodable(self.name, type(error).__name__) from None
        if body.read(1):
            raise Undecodable(self.name, "bytes follow the record")
        return value


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, builtin_types=(bytes,))


def _struct_codec(name: str, type_: type[T]) -> Codec[T]:
    return Codec(name, _plain, lambda plain: msgspec.convert(plain, type_))


def _union_types(union: Any) -> dict[str, Any]:
    return {each.__name__: each for each in get_args(union)}


_COMMANDS: Final = _union_types(Command)
_FACTS: Final = _union_types(Fact)


def _command_to_plain(command: Command) -> Mapping[str, Any]:
    name = type(command).__name__
    return {"command": (f"eunoe.command.{name}", _plain(command))}


def _command_from_plain(plain: Any) -> Command:
    name, fields = plain["command"]
    found: Command = msgspec.convert(fields, _COMMANDS[name.rpartition(".")[2]])
    return found


def _event_to_plain(event: Event) -> Mapping[str, Any]:
    name = type(event.fact).__name__
    return {"header": _plain(event.header), "fact": (f"eunoe.event.{name}", _plain(event.fact))}


def _event_from_plain(plain: Any) -> Event:
    name, fields = plain["fact"]
    fact = msgspec.convert(fields, _FACTS[name.rpartition(".")[2]])
    return Event(header=msgspec.convert(plain["header"], EventHeader), fact=fact)


COMMANDS: Final[Codec[Command]] = Codec("command", _command_to_plain, _command_from_plain)
EVENTS: Final[Codec[Event]] = Codec("event", _event_to_plain, _event_from_plain)
BODIES: Final = _struct_codec("body", MemoryBody)
ENVELOPES: Final = _struct_codec("envelope", Envelope)
KEY_RECORDS: Final = _struct_codec("key", KeyRecord)
CONTROL_RECORDS: Final = _struct_codec("control", ControlRecord)

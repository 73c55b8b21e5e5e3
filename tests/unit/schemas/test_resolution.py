"""A reader with a newer schema reads what older writers wrote, also inside unions (S37)."""

import copy
import io
from typing import Any

import fastavro
import msgspec
import pytest

from eunoe.schemas import codec
from eunoe.schemas.codec import Codec
from eunoe.schemas.errors import UnknownSchema
from unit.schemas.stored_records import stored_records


def test_old_bytes_are_read_with_the_newer_schemas_default(monkeypatch: pytest.MonkeyPatch) -> None:
    (old,) = codec._versions("command")
    new = _with_field(old, "Draft", {"name": "mood", "type": ["null", "string"], "default": None})
    newer = _codec("command", [old, new], monkeypatch)
    assert newer.decode(codec.COMMANDS.encode(_stored("RememberMemory")))["command"][1]["draft"]["mood"] is None


def test_a_union_that_grew_keeps_its_old_members(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, stored in (("command", codec.COMMANDS), ("event", codec.EVENTS)):
        (old,) = codec._versions(name)
        newer = _codec(name, [old, _with_first_member(old)], monkeypatch)
        for each in stored_records():
            if each.codec is stored:
                member, _ = list(newer.decode(stored.encode(each.record)).values())[-1]
                assert member == f"eunoe.{name}.{each.name}"


def test_a_reader_without_the_newer_schema_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    (old,) = codec._versions("command")
    new = _with_field(old, "Draft", {"name": "mood", "type": ["null", "string"], "default": None})
    newer = _codec("command", [old, new], monkeypatch)
    out = io.BytesIO()
    plain = {"command": ("eunoe.command.IssueKey", msgspec.to_builtins(_stored("IssueKey"), builtin_types=(bytes,)))}
    fastavro.schemaless_writer(out, fastavro.parse_schema(new), plain)
    data = newer._header + out.getvalue()
    assert newer.decode(data)["command"][0] == "eunoe.command.IssueKey"
    with pytest.raises(UnknownSchema):
        codec.COMMANDS.decode(data)


def _stored(name: str) -> Any:
    return next(each.record for each in stored_records() if each.codec is codec.COMMANDS and each.name == name)


def _codec(name: str, schemas: list[Any], monkeypatch: pytest.MonkeyPatch) -> Codec[Any]:
    """A codec of these versions that gives plain values."""
    monkeypatch.setattr(codec, "_versions", lambda _: schemas)
    try:
        return Codec(name, lambda value: value, lambda plain: plain)
    finally:
        monkeypatch.undo()


def _with_field(schema: Any, record: str, field: Any) -> Any:
    changed = copy.deepcopy(schema)
    _find(changed, record)["fields"].append(field)
    return changed


def _with_first_member(schema: Any) -> Any:
    """A new member at the front moves every old one's index on the wire."""
    changed = copy.deepcopy(schema)
    member = {"type": "record", "name": "Surprise", "fields": []}
    changed["fields"][-1]["type"].insert(0, member)
    return changed


def _find(schema: Any, record: str) -> Any:
    """The definition of ``record`` somewhere in ``schema``."""
    if isinstance(schema, dict) and schema.get("name", "").rpartition(".")[2] == record and "fields" in schema:
        return schema
    children = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return next((found for child in children if (found := _find(child, record)) is not None), None)

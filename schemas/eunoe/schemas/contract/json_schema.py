"""The JSON Schemas of the documents, made from the types. The files beside this module are what `documented` gives.

``python -m eunoe.schemas.contract.json_schema`` writes them again after a type has changed; a test compares.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from eunoe.schemas.contract.documents import DOCUMENTS
from eunoe.schemas.contract.review import Reviewed

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def _when(field: str, value: object, then: Mapping[str, Any]) -> dict[str, Any]:
    holds = {"properties": {field: {"const": value}}, "required": [field]}
    return {"if": holds, "then": {"properties": dict(then)}}


_REVIEW_RULES: Final = (
    # The rules of `Reviewed.__post_init__`, which a type alone does not say.
    _when("write_trust_boundary", "untrusted_write", {"activation_policy": {"const": "delayed_review"}}),
    _when("policy_influence", True, {"activation_policy": {"const": "delayed_review"}}),
    _when("activation_policy", "delayed_review", {"quarantine_state": {"not": {"const": "none"}}}),
)


def schema_of(document: type[Struct]) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one of `DOCUMENTS`."""
    (top,), parts = msgspec.json.schema_components((document,), ref_template="#/$defs/{name}")
    body: dict[str, Any] = dict(parts.pop(top["$ref"].rpartition("/")[2]))
    if issubclass(document, Reviewed):
        body["allOf"] = list(_REVIEW_RULES)
    return {"$schema": DIALECT, **body, "$defs": dict(sorted(parts.items()))}


def documented() -> dict[str, str]:
    """The text of each schema file by its name."""
    return {
        f"{_kind(document)}.schema.json": json.dumps(schema_of(document), indent=2, ensure_ascii=False) + "\n"
        for document in DOCUMENTS
    }


def stored_schema(kind: str) -> dict[str, Any]:
    """The stored schema of a ``kind``, as anyone else would read it."""
    found: dict[str, Any] = json.loads(_directory().joinpath(f"{kind}.schema.json").read_text(encoding="utf-8"))
    return found


def _kind(document: type[Struct]) -> str:
    return str(document.__struct_config__.tag)


def _directory() -> Path:
    return Path(__file__).parent


if __name__ == "__main__":
    for name, text in documented().items():
        _directory().joinpath(name).write_text(text, encoding="utf-8")

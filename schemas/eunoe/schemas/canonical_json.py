"""Canonical JSON: what is signed of a document that people read.

Text, whole numbers, true, false, null, lists and objects; keys sorted by code point; no white space; UTF-8; no escapes
but those that JSON requires. The same document always has the same bytes. A fraction has none: it is written as text.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def canonical_json(document: Mapping[str, Any]) -> bytes:
    """Its bytes. ``TypeError`` for a value that has no canonical form, a fraction included."""
    _check(document)
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def _check(value: Any) -> None:
    if value is None or isinstance(value, str | bool | int):
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            if not isinstance(key, str):
                raise TypeError("the names of a signed document are text")
            _check(each)
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        for each in value:
            _check(each)
    else:
        raise TypeError(f"a signed document holds no {type(value).__name__}")

"""One byte string for one sequence of values: what AADs, MACs and digests are taken over.

Each value is written as a type tag, a length (four bytes, big-endian) and its content; a sequence as its tag, its
item count and its items. Every value therefore says where it ends, so two different argument lists never give the
same bytes (a list and a tuple of the same items count as the same value; ``-0.0`` and ``0.0`` do not). The label
comes first and keeps bytes made for one purpose from being taken for another: ``eunoe/body-aad/1``. The format is
frozen: stored bytes were sealed and signed over it. A change of meaning gets a new label.
"""

import math
import struct
from collections.abc import Sequence
from typing import Final

_NO_FORM: Final = "only bytes, str, int, float, bool, None and sequences of them have a canonical form, not {}"

Field = bytes | str | int | float | bool | None | Sequence["Field"]

_LENGTH: Final = struct.Struct(">I")
_DOUBLE: Final = struct.Struct(">d")
_SHORT: Final = 512
_TEXT_HEADS: Final = tuple(b"s" + _LENGTH.pack(n) for n in range(_SHORT))
_BYTES_HEADS: Final = tuple(b"b" + _LENGTH.pack(n) for n in range(_SHORT))
_NONE: Final = b"n"
_BOOL: Final = (b"F", b"T")


class NotCanonical(ValueError):
    """A value without a canonical form: a lone surrogate, a NaN, a type not listed. Never holds the value.

    Blame: caller. ``position`` counts the fields after the label, from 0; -1 is the label.
    """

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"field {position}: {reason}")
        self.position = position
        self.reason = reason


def canonical(label: str, *fields: Field) -> bytes:
    """The canonical bytes of ``fields`` under the domain label ``label``. Raises :class:`NotCanonical`."""
    parts: list[bytes] = []
    _append_text(parts, -1, label)
    for position, field in enumerate(fields):
        _append(parts, position, field)
    return b"".join(parts)


def _append(parts: list[bytes], position: int, field: Field) -> None:
    # Exact types first: an isinstance per union member would double the cost of the hot case, text.
    if type(field) is str:
        _append_text(parts, position, field)
    elif type(field) is bytes:
        size = len(field)
        parts.append(_BYTES_HEADS[size] if size < _SHORT else b"b" + _LENGTH.pack(size))
        parts.append(field)
    elif field is None:
        parts.append(_NONE)
    else:
        _append_rare(parts, position, field)


def _append_text(parts: list[bytes], position: int, text: str) -> None:
    try:
        encoded = text.encode()
    except UnicodeEncodeError:  # its own message would carry the text along
        encoded = None
    if encoded is None:
        raise NotCanonical(position, "text with a lone surrogate has no UTF-8 form")
    size = len(encoded)
    parts.append(_TEXT_HEADS[size] if size < _SHORT else b"s" + _LENGTH.pack(size))
    parts.append(encoded)


def _append_rare(parts: list[bytes], position: int, field: Field) -> None:
    if isinstance(field, bool):
        parts.append(_BOOL[field])
    elif isinstance(field, int):
        digits = b"%d" % field
        parts += (b"i", _LENGTH.pack(len(digits)), digits)
    elif isinstance(field, float):
        if math.isnan(field):
            raise NotCanonical(position, "NaN has no canonical form")
        parts += (b"f", _DOUBLE.pack(field))
    elif isinstance(field, str):
        _append_text(parts, position, str(field))
    elif isinstance(field, bytes):
        _append(parts, position, bytes(field))
    elif isinstance(field, list | tuple):
        parts += (b"l", _LENGTH.pack(len(field)))
        for item in field:
            _append(parts, position, item)
    else:
        raise NotCanonical(position, _NO_FORM.format(type(field).__name__))

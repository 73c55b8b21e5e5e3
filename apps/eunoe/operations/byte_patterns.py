"""Many texts looked for in many bytes at once, in every form that plaintext is likely to take.

Forms: UTF-8 (as it is, in lower case, JSON-escaped, and in pieces, so that a text that was cut or stored in parts is
found too), UTF-16 in both byte orders, hexadecimal, Base64 at each of its three alignments, plain and URL-safe, and the
common digests taken without a key, from which a text that can be guessed is known again (as bytes and in hexadecimal).

A pattern of ``2k - 1`` bytes or more holds, wherever it lies, a whole block of ``k`` bytes at a multiple of ``k``. So
only every k-th position is looked up, among the k first blocks of every pattern, and the cost does not grow with the
number of texts: 20 MB take under a second for ten texts as for ten thousand.
"""

import base64
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

LEAST_BYTES: Final = 6
"""A shorter pattern is not looked for: in 20 MB of ciphertext one of four bytes is found by chance."""
_LONG: Final = 8
_SHORT: Final = 3
_PIECE: Final = 24
"""Characters. A contiguous part of a text is found from ``_PIECE + _STEP`` characters on."""
_STEP: Final = 12


@dataclass(frozen=True, slots=True)
class Wanted:
    """A text that must be nowhere. ``kind`` says what it is (``statement``, ``subject``, …) and may be shown."""

    kind: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Found:
    """``index`` is the position of the text among those wanted; ``form`` is how it was written."""

    index: int
    form: str


class Patterns:
    """Built once from the texts, then asked about any number of bytes."""

    def __init__(self, texts: Sequence[Wanted], raw: Sequence[bytes] = ()) -> None:
        """``raw`` are byte strings that are looked for as they are, with indexes after those of ``texts``.

        A text none of whose forms is long enough is in ``too_short`` by index, and is not looked for.
        """
        self._meanings: dict[bytes, set[Found]] = defaultdict(set)
        self.too_short: list[int] = []
        for index, wanted in enumerate(texts):
            usable = [(form, data) for form, data in forms(wanted.text) if len(data) >= LEAST_BYTES]
            if len(wanted.text.encode()) < LEAST_BYTES:
                self.too_short.append(index)
                continue
            for form, data in usable:
                self._meanings[data].add(Found(index, form))
        for index, data in enumerate(raw, start=len(texts)):
            if len(data) >= LEAST_BYTES:
                self._meanings[data].add(Found(index, "raw"))
        self.longest = max(map(len, self._meanings), default=0)
        self._long = _blocks((each for each in self._meanings if len(each) >= 2 * _LONG - 1), _LONG)
        self._short = _blocks((each for each in self._meanings if len(each) < 2 * _LONG - 1), _SHORT)

    def found_in(self, data: bytes) -> set[Found]:
        """Which texts are in ``data``, and in which forms."""
        return self._look(data, self._long, _LONG) | self._look(data, self._short, _SHORT)

    def _look(self, data: bytes, blocks: "_Blocks", size: int) -> set[Found]:
        found: set[Found] = set()
        if not blocks:
            return found
        for at in range(0, len(data) - size + 1, size):
            block = data[at : at + size]
            if block in blocks:
                for pattern, offset in blocks[block]:
                    if at >= offset and data.startswith(pattern, at - offset):
                        found |= self._meanings[pattern]
        return found


_Blocks = dict[bytes, list[tuple[bytes, int]]]


def _blocks(patterns: Iterable[bytes], size: int) -> _Blocks:
    """Each of the first ``size`` blocks of every pattern, with the patterns that it may be the beginning of."""
    found: _Blocks = {}
    for pattern in patterns:
        for offset in range(size):
            found.setdefault(pattern[offset : offset + size], []).append((pattern, offset))
    return found


def forms(text: str) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every form of ``text``."""
    plain = text.encode()
    yield "utf-8", plain
    if (lower := text.lower()) != text:
        yield "utf-8, lower case", lower.encode()
    if (escaped := json.dumps(text)[1:-1]) != text:
        yield "JSON escapes", escaped.encode()
    for start in range(0, len(text) - _PIECE + 1, _STEP) if len(text) > _PIECE else ():
        yield "utf-8, a piece", text[start : start + _PIECE].encode()
    yield "utf-16-le", text.encode("utf-16-le")
    yield "utf-16-be", text.encode("utf-16-be")
    yield "hex", plain.hex().encode()
    for shift in range(3):
        core = base64_core(plain, shift)
        yield "base64", core
        if (safe := core.translate(_URL_SAFE)) != core:
            yield "base64, URL-safe", safe
    for name, digest in DIGESTS.items():
        data = digest(plain)
        yield name, data
        yield f"{name}, hex", data.hex().encode()


DIGESTS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "SHA-256": lambda plain: hashlib.sha256(plain).digest(),
    "SHA-1": lambda plain: hashlib.sha1(plain, usedforsecurity=False).digest(),
    "MD5": lambda plain: hashlib.md5(plain, usedforsecurity=False).digest(),
    "BLAKE2b": lambda plain: hashlib.blake2b(plain).digest(),
    "BLAKE2b-256": lambda plain: hashlib.blake2b(plain, digest_size=32).digest(),
    "BLAKE2s": lambda plain: hashlib.blake2s(plain).digest(),
}
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")


def base64_core(data: bytes, shift: int) -> bytes:
    """The characters that Base64 makes of ``data`` whatever stands around it, ``shift`` bytes (0 to 2) before it."""
    encoded = base64.b64encode(b"\0" * shift + data).rstrip(b"=")
    first = (0, 2, 3)[shift]
    last = len(encoded) - (1 if (shift + len(data)) % 3 else 0)
    return encoded[first:last]

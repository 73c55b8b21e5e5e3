"""Texts inside a text that a reader does not see as such: encoded, in tag characters, in letters that look Latin."""

import base64
import binascii
import codecs
import html
import re
import unicodedata
from contextlib import suppress
from typing import Final
from urllib.parse import unquote_plus

from eunoe.detectors.folding import unmarked, visible
from eunoe.detectors.lookalikes import masked

_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_WRAPPED: Final = re.compile(r"(?m)^[ \t>]*(?:[A-Za-z0-9+/_-]{8,}\s*\n[ \t>]*)+[A-Za-z0-9+/_-]{2,}={0,2}[ \t]*$")
_NOT_BASE64: Final = re.compile(r"[\s>]+")
_HEX: Final = re.compile("[0-9A-Fa-f]+")
_ESCAPED: Final = re.compile(r"(?:\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}){4,}")
_ESCAPE: Final = re.compile(r"\\[ux]([0-9A-Fa-f]{2,4})")
_TAGS: Final = re.compile("[\U000e0020-\U000e007e]{4,}")
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks; that of UTF-32 begins with that of UTF-16."""
_SHORTEST: Final = 16
_FEW: Final = 4
"""Different upper bytes that text of one or two alphabets has in UTF-16, at most."""
_READABLE: Final = 0.85
_DEPTH: Final = 2


def hidden(text: str, depth: int = _DEPTH) -> tuple[str, ...]:
    """What the text says to a machine besides what it says to a reader: runs of base64 and of hexadecimal digits that
    say something, escapes of characters, tag characters, words wholly of letters that look Latin. Linear."""
    found: list[str] = []
    if not text.isascii():
        found += ["".join(chr(ord(each) - 0xE0000) for each in run) for run in _TAGS.findall(text)]
        found += masked(unmarked(text))
        text = unicodedata.normalize("NFKC", visible(text))
    found += _unescaped(text)
    # Most texts have no word that is long enough, and splitting is quicker than looking for runs.
    if max(map(len, text.split()), default=0) >= _SHORTEST or "\n" in text:
        found += _encoded(text, depth)
    return tuple(found)


def _unescaped(text: str) -> list[str]:
    """What the text is where a browser or a parser has read it."""
    found: list[str] = []
    if "&#" in text and (plain := html.unescape(text)) != text:
        found.append(plain)
    if text.count("%") > _FEW and (plain := unquote_plus(text)) != text:
        found.append(plain)
    if "\\" in text:
        runs: list[str] = _ESCAPED.findall(text)
        found += ["".join(chr(int(each, 16)) for each in _ESCAPE.findall(run)) for run in runs]
    return found


def _encoded(text: str, depth: int) -> list[str]:
    runs: list[str] = _RUN.findall(text)
    if "\n" in text:
        runs += [_NOT_BASE64.sub("", run) for run in _WRAPPED.findall(text)]
    found: list[str] = []
    for run in runs:
        said = _said(run)
        if said is None and "/" in run:
            # In an address the run begins behind a slash, which is a letter of base64 as well.
            said = next(filter(None, map(_said, [each for each in run.split("/") if len(each) >= _SHORTEST])), None)
        if said is not None:
            found.append(said)
            if depth > 1:
                found += hidden(said, depth - 1)
    return found


def _said(run: str) -> str | None:
    """What a run of base64 or of hexadecimal digits says, if it is text."""
    if _HEX.fullmatch(run) and len(run) % 2 == 0:
        return _text(bytes.fromhex(run))
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    if len(plain) % 4 == 1:
        plain = plain[:-1]
    try:
        return _text(base64.b64decode(plain + "=" * (-len(plain) % 4)))
    except binascii.Error:
        return None


def _text(data: bytes) -> str | None:
    for coding in _codings(data):
        with suppress(UnicodeDecodeError):
            text = data.decode(coding)
            readable = sum(each.isalnum() or each in " .,:;!?-_'\"@/\n" for each in text)
            if text and readable >= _READABLE * len(text):
                return text
    return None


def _codings(data: bytes) -> tuple[str, ...]:
    """What its mark says; without one, UTF-16 only where upper bytes are the same all along."""
    for mark, coding in _MARKS:
        if data.startswith(mark):
            return (coding,)
    upper = [("utf-16-le", data[1::2]), ("utf-16-be", data[::2])] if len(data) % 2 == 0 else []
    return ("utf-8", *(coding for coding, each in upper if len(set(each)) <= _FEW))

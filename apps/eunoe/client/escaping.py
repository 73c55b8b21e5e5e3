r"""Text of a memory as a JSON string that a language model cannot take for a mark of its conversation (M59).

Such marks are written as JSON escapes (``system:`` as ``system\u003a``), so nothing is lost: whoever reads the JSON
gets the text back. What no reader sees (bidirectional controls, tags, zero-width and other format characters, variation
selectors) is taken out, for it can only hide something.

Marks are looked for behind compatibility forms (full-width, mathematical letters) and behind letters of other alphabets
that look Latin. The text itself keeps its letters. Which words name who speaks, in which language: `roles.toml`.
"""

import json
import re
import unicodedata
from typing import Final

from eunoe.client.roles import begins_with_role, ends_with_role, folded, names_role

FENCE_NAME: Final = "eunoe-memory"
"""Begins the name of every fence. As such it is never in a field."""

# The alphabets' own signs among the format characters, which are seen: Arabic number signs and their like.
_SEEN: Final = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_UNSEEN: Final = frozenset({"Cf", "Cc", "Cs", "Co"})
_SPACES: Final = frozenset({"Zs", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"
_INVISIBLE: Final = re.compile(
    # Joiners belong to the spelling of Arabic and of the scripts of India, between two of their letters only.
    f"(?<![\u0600-\u0fff])[{_JOINERS}]|[{_JOINERS}](?![\u0600-\u0fff])"
    # Fillers, variation selectors and what else is drawn as nothing without being a format character.
    "|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_MARKS: Final = re.compile(
    r"""
      (?P<angle>[<>])                                         # tags, and the ends of chat tokens
    | (?P<bar>(?<=<)\||\|(?=>))                               # <|im_start|>
    | (?P<colon>:)                                            # behind a role, somebody speaks
    | (?P<bracket>\[)(?=/?\s{0,4}(?P<inside>[^\[\]]{1,60})\])  # [INST], [TOOL_CALLS], [system]
    | (?P<heading>\#)(?=\#{0,6}[\s*_]{0,8}(?P<title>[^\n\#]{1,40}))  # a heading that names a role
    | (?P<code>[`~])(?=(?P=code){2})                          # code fences
    | (?<=eunoe)(?P<name>[^a-z0-9])(?=[^a-z0-9]{0,2}memory)    # our own fence
    """,
    re.VERBOSE,
)
_SPECIAL: Final = re.compile(r"[a-z]+_[a-z_]+|inst|sys")
"""What chat templates put in square brackets besides roles."""


def escaped(text: str) -> str:
    """``text`` between the quotes of a JSON string: on one line, without marks, without what is not seen."""
    clean = visible(text)
    read = folded(clean)
    written: list[str] = []
    end = 0
    for mark in _MARKS.finditer(read.text):
        at = read.places[mark.start()]
        if at < end or not _works(mark, read.text):
            continue
        written += (json.dumps(clean[end:at], ensure_ascii=False)[1:-1], _escape(clean[at]))
        end = at + 1
    written.append(json.dumps(clean[end:], ensure_ascii=False)[1:-1])
    return "".join(written)


def visible(text: str) -> str:
    """``text`` without what no reader sees; line ends are line feeds, other separators are spaces."""
    if text.isascii() and text.isprintable():
        return text
    lines = re.sub("\r\n?|[\u0085\u2028\u2029]", "\n", text)
    return "".join(filter(None, map(_shown, _INVISIBLE.sub("", lines))))


def _works(mark: re.Match[str], text: str) -> bool:
    """Whether what looks like a mark is one: a colon only behind a role, a bracket and a heading only with one."""
    if mark["colon"]:
        return ends_with_role(text, mark.start())
    if mark["bracket"]:
        return _SPECIAL.fullmatch(mark["inside"].strip()) is not None or names_role(mark["inside"])
    return not mark["heading"] or begins_with_role(mark["title"])


def _shown(char: str) -> str:
    if char in "\n\t" or char in _SEEN or char in _JOINERS:
        return char
    category = unicodedata.category(char)
    if category in _SPACES:
        return " "
    return "" if category in _UNSEEN else char


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if char.isascii() else json.dumps(char)[1:-1]

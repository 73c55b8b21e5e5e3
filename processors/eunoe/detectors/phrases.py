"""A phrase of the vocabulary, written short, as the sequences of words it stands for.

``(a|b)`` is either, ``(a )?`` and ``s?`` may be missing, ``word*`` is any word that begins so and ``*word`` one that
ends so, ``<text>`` any word of that kind, ``_`` any one word, ``...`` up to seven words of the same clause, and
``{do}`` in front holds only where a command may begin. A hyphen or an apostrophe is a border of words, as it is in a
text.
"""

import re
from dataclasses import dataclass
from typing import Final

from eunoe.detectors.folding import fold

DO: Final = "{do} "
ANY: Final = "_"
GAP: Final = "..."
ADDRESS: Final = "\ue000"
FIELD: Final = "\ue001"
FORMS: Final = {"@address": ADDRESS, "@field": FIELD}
"""Words by their form, as one character each: an address (mail, link, host), a name of a field (``requester_id``)."""
_MARKS: Final = "()|?"
_MOST: Final = 4_000


class BadPhrase(ValueError):
    """It says nothing, or what it says is not written as a phrase."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """``words`` one after the other; a word may be `ANY`, `GAP`, a stem (``word*``), an ending (``*word``) or one of
    `FORMS`. ``commanding``: it holds only where a command may begin."""

    words: tuple[str, ...]
    commanding: bool


def sequences(phrase: str) -> frozenset[Sequence]:
    """Raises `BadPhrase`."""
    commanding = phrase.startswith(DO)
    texts, end = _either(phrase.removeprefix(DO), 0)
    if end != len(phrase.removeprefix(DO)):
        raise BadPhrase("a bracket is closed that was not opened")
    found = frozenset(Sequence(_words(each), commanding) for each in texts)
    if any(not each.words or each.words[0] in (ANY, GAP) or each.words[-1] == GAP for each in found):
        raise BadPhrase("it begins with no word of its own")
    return found


def _either(text: str, at: int) -> tuple[list[str], int]:
    """The alternatives from ``at`` to the bracket that closes them."""
    done: list[str] = []
    now = [""]
    while at < len(text) and text[at] != ")":
        if text[at] == "|":
            done += now
            now, at = [""], at + 1
            continue
        if text[at] == "(":
            part, at = _either(text, at + 1)
            if at == len(text):
                raise BadPhrase("a bracket is not closed")
        else:
            part = [text[at]]
        at += 1
        if at < len(text) and text[at] == "?":
            part, at = [*part, ""], at + 1
        now = [before + each for before in now for each in part]
        if len(now) + len(done) > _MOST:
            raise BadPhrase("it stands for too many phrases")
    return done + now, at


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for each in text.replace(GAP, f" {GAP} ").split() for word in _parts(each))


def _parts(text: str) -> list[str]:
    if text in (GAP, ANY):
        return [text]
    if _KIND.fullmatch(text):
        return [text]
    if text in FORMS:
        return [FORMS[text]]
    parts = [_ARTICLE.sub("", each) for each in fold(text).translate(_BORDERS).split()]
    for each in parts:
        plain = each.removeprefix("*").removesuffix("*")
        if not plain.isalnum() or (plain != each and len(plain) < _SHORTEST):
            raise BadPhrase(f"{each!r} is no word")
    return parts


_BORDERS: Final = str.maketrans("-'/", "   ")
_SHORTEST: Final = 3
_KIND: Final = re.compile("<[a-z]+>")
_ARTICLE: Final = re.compile("^ال(?=..)")

"""Words that name who speaks, in any language: `roles.toml`. Folded, as the text is in which they are looked for."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from eunoe.schemas.lookalikes import seen

_PUNCTUATION: Final = {
    ord(foreign): latin
    for latin, foreigners in {
        ":": "ː˸։׃܃܄∶꞉፡᠄",
        "<": "‹〈⟨❮ᐸ",
        ">": "›〉⟩❯ᐳ",
        "|": "ǀ∣❘│",
        "(": "（「『",
        ")": "）」』",
        "[": "【〔〖",
        "]": "】〕〗",
    }.items()
    for foreign in foreigners
}
_NUMBER: Final = re.compile(r"\A[\s*_]*(?:(?:\d+|[a-z]|[ivx]+)[.)]\s*)+(?:\d+\s)?|\A[\s*_]*\d+(?:\.\d+)*\s")
"""``1.``, ``2.1``, ``a)``, ``iv.``"""
_WORD: Final = re.compile(r"[^\W_]+")
_SET_OFF: Final = " \t\n*_\"'`~“”‘’«»"
"""What may stand between a role and its colon: space, emphasis, quotation marks."""
_OPENED_BY: Final = {")": "(", "]": "["}
_BRACKETED: Final = 60
"""Characters of what stands in brackets behind a role, at most: "system (administrator of the platform):"."""
_LOOKED_BACK: Final = 48
_MOST_WORDS: Final = 5
_LONGEST: Final = 16
"""Letters of a role at the end of a word, Hangul taken apart."""
_NO_SPACES: Final = re.compile("[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff]")
"""Thai, Lao, Hangul as its letters, kana and Han: there a role may stand at the end of a word with something before."""


@dataclass(frozen=True, slots=True)
class Folded:
    """Small letters as one reads them, without accents; ``places``: where in the text each comes from."""

    text: str
    places: tuple[int, ...]


def folded(text: str) -> Folded:
    """Compatibility forms and accents gone, small Latin letters where one reads Latin letters. Linear."""
    if text.isascii():
        return Folded(text.lower(), tuple(range(len(text))))
    letters: list[str] = []
    places: list[int] = []
    for at, char in enumerate(text):
        plain = seen(char).translate(_PUNCTUATION)
        letters.append(plain)
        places += [at] * len(plain)
    return Folded("".join(letters), tuple(places))


def names_role(text: str) -> bool:
    """Whether a folded text is the name of a role, with what may be joined to it and behind it in brackets."""
    words = _WORD.findall(text.partition("(")[0])
    return len(words) <= _MOST_WORDS and _is_role(words)


def begins_with_role(text: str) -> bool:
    """Whether the first words of a folded text name a role, behind the number that a heading may have."""
    words = _WORD.findall(_NUMBER.sub("", text, count=1))[:_MOST_WORDS]
    return any(_is_role(words[:end]) for end in range(1, len(words) + 1))


def ends_with_role(text: str, end: int) -> bool:
    """Whether a role is named right before ``end`` of a folded text, however it is set off."""
    end = _without(text, end)
    if end and text[end - 1] in _OPENED_BY:
        began = text.rfind(_OPENED_BY[text[end - 1]], max(0, end - _BRACKETED), end)
        end = _without(text, began) if began >= 0 else end
    words = _WORD.findall(text[max(0, end - _LOOKED_BACK) : end].rpartition("\n")[2])[-_MOST_WORDS:]
    return any(_is_role(words[first:]) for first in range(len(words))) or bool(words and _ends_as_role(words[-1]))


def _without(text: str, end: int) -> int:
    while end and text[end - 1] in _SET_OFF:
        end -= 1
    return end


def _is_role(words: list[str]) -> bool:
    """Whether they are a role of one word or two, and then only what is joined to one."""
    roles, tails = _words()
    for length in (1, 2):
        if " ".join(words[:length]) in roles and all(each in tails or each.isdecimal() for each in words[length:]):
            return True
    return False


def _ends_as_role(word: str) -> bool:
    roles, _ = _words()
    firsts = range(max(0, len(word) - _LONGEST), len(word))
    return any(word[first:] in roles for first in firsts if _NO_SPACES.match(word[first]))


@cache
def _words() -> tuple[frozenset[str], frozenset[str]]:
    """Roles, also with a tail written together with them, and tails."""
    data = tomllib.loads((resources.files("eunoe.client") / "roles.toml").read_text("utf-8"))
    roles, tails = (
        frozenset(" ".join(_WORD.findall(folded(each).text)) for words in data[name].values() for each in words)
        for name in ("roles", "tails")
    )
    return roles | {role + tail for role in roles for tail in tails}, tails

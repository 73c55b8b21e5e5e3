"""From text to words: normal form, segmentation by ICU, and the stem of one word by the rules of its script."""

import re
import unicodedata
from enum import Enum
from functools import cache, lru_cache
from typing import Final

import Stemmer
from icu4py.breakers import WordBreaker
from icu4py.locale import Locale

from eunoe.readmodels.recall.analyse_english import IRREGULAR
from eunoe.readmodels.recall.analyse_stop import (
    ENGLISH,
    HAN_AND_KANA,
    KOREAN,
    KOREAN_PARTICLES,
    RUSSIAN,
    THAI,
)

STEMMERS: Final = {
    "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "en": "english", "es": "spanish", "et": "estonian",
    "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hu": "hungarian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
"""Snowball algorithms for languages in Latin script, by ISO 639-1 code."""

_ROOT: Final = Locale("en")
_SOFTEN: Final = (("\u2019", "'"), ("\u02bc", "'"), ("_", " "), ("\u0451", "\u0435"))
_LATIN_LETTERS: Final = str.maketrans("øłđħıæœþð", "oldhiaotd")
_ELIDED: Final = frozenset(("l", "d", "j", "m", "n", "s", "t", "c", "qu"))
_ORDINAL: Final = re.compile(r"(\d+)(?:st|nd|rd|th)")
_STOPS: Final = ".,;:!?"
"""What may end a word that ICU would cut off: within one, some of these join."""
_GROUPED: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


class LoneSurrogate(ValueError):
    """Text that is no Unicode; the edge refuses it before anything is stored. Never carries the text itself."""

    def __init__(self, position: int) -> None:
        super().__init__(f"lone surrogate at character {position}")
        self.position = position


class Script(Enum):
    """The writing system of a word, as far as the rules differ."""

    NUMBER = "number"
    LATIN = "latin"
    CYRILLIC = "cyrillic"
    HAN_OR_KANA = "han_or_kana"
    HANGUL = "hangul"
    THAI = "thai"
    OTHER = "other"


_RANGES: Final = (
    (0x0041, 0x024F, Script.LATIN),
    (0x0400, 0x052F, Script.CYRILLIC),
    (0x0E00, 0x0E7F, Script.THAI),
    (0x1100, 0x11FF, Script.HANGUL),
    (0x1E00, 0x1EFF, Script.LATIN),
    (0x3040, 0x30FF, Script.HAN_OR_KANA),
    (0x3400, 0x9FFF, Script.HAN_OR_KANA),
    (0xAC00, 0xD7A3, Script.HANGUL),
    (0xF900, 0xFAFF, Script.HAN_OR_KANA),
    (0x20000, 0x323AF, Script.HAN_OR_KANA),
)


_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""Unicode's Default_Ignorable_Code_Point: nobody sees them, and a word is the same with one or without."""


def fold(text: str) -> str:
    """NFKC, case folded, one apostrophe, no underscore, ё as е, nothing that nobody sees. (Four `replace` beat one
    `translate` tenfold.)"""
    if not text.isascii():
        text = _UNSEEN.sub("", text)
    folded = unicodedata.normalize("NFKC", text).casefold()
    for old, new in _SOFTEN:
        folded = folded.replace(old, new)
    return folded


def segment(folded: str) -> list[str]:
    """The words of folded text in order, each with a letter or digit, as ICU cuts them. Raises `LoneSurrogate`.

    ICU is not asked where the answer is plain: it always cuts at white space, and never within ASCII letters and digits
    (a third of the time, measured on sentences of ten words).
    """
    if not folded.isascii():
        return cut(folded)
    words: list[str] = []
    for chunk in folded.split():
        word = chunk.rstrip(_STOPS)
        if word.isalnum():
            words.append(word)
        elif word:
            words += cut(chunk)
    return words


def cut(folded: str) -> list[str]:
    """As `segment`, by ICU alone."""
    try:
        breaker = WordBreaker(folded, _ROOT)
    except UnicodeEncodeError as error:
        raise LoneSurrogate(error.start) from None
    return [word for word in breaker if word[0].isalnum() or any(map(str.isalnum, word))]


def script_of(word: str) -> Script:
    """The script of the first letter; NUMBER if there is none."""
    letter = next((char for char in word if char.isalpha()), None)
    if letter is None:
        return Script.NUMBER
    point = ord(letter)
    return next((script for low, high, script in _RANGES if low <= point <= high), Script.OTHER)


@lru_cache(maxsize=32_768)
def stem(word: str, language: str, longest: int) -> tuple[tuple[str, str, Script], ...]:
    """(stem, surface, script) of a segmented word; none for a stop word, two where a dot joins two words.

    ``surface`` is the word without accents, apostrophe or particle; ``longest`` cuts both, in characters. The cache
    holds single words of this process's texts, never a statement.
    """
    script = script_of(word)
    match script:
        case Script.NUMBER:
            return _numbered(word, longest)
        case Script.LATIN:
            return tuple(found for part in _undotted(word) for found in _latin(part, language, longest))
        case Script.CYRILLIC:
            stop, form = RUSSIAN, word
        case Script.HAN_OR_KANA:
            stop, form = HAN_AND_KANA, word
        case Script.HANGUL:
            stop, form = KOREAN, _bare_noun(word)
        case _:
            stop, form = THAI, word
    if word in stop:
        return ()
    form = form[:longest]
    return ((stemmer("russian").stemWord(form) if script is Script.CYRILLIC else form, form, script),)


@cache
def stemmer(algorithm: str) -> Stemmer.Stemmer:
    """The one stemmer of an algorithm. Its calls hold the GIL, so threads may share it."""
    return Stemmer.Stemmer(algorithm)


def _numbered(word: str, longest: int) -> tuple[tuple[str, str, Script], ...]:
    """``1,000`` and ``1000`` are one number, and so are ``07`` and ``7``: dates are written both ways."""
    digits = _GROUPED.sub("", word)
    digits = (digits.lstrip("0") or "0")[:longest]
    return ((digits, digits, Script.NUMBER),)


def _undotted(word: str) -> list[str]:
    """ICU keeps ``end.next`` whole; both sides are words unless one is a single letter (``u.s``)."""
    if "." not in word:
        return [word]
    parts = [part for part in word.split(".") if part]
    return parts if all(len(part) > 1 for part in parts) else ["".join(parts)]


def _latin(word: str, language: str, longest: int) -> tuple[tuple[str, str, Script], ...]:
    form = word if word.isascii() else _without_accents(word)
    if "'" in form:
        form = _without_apostrophe(form)
    if ordinal := _ORDINAL.fullmatch(form):
        return _numbered(ordinal[1], longest)
    if language == "en":
        if form in ENGLISH:
            return ()
        form = form[:longest]
        return ((stemmer("english").stemWord(IRREGULAR.get(form, form)), form, Script.LATIN),)
    form = form[:longest]
    return ((stemmer(STEMMERS[language]).stemWord(form), form, Script.LATIN),) if form else ()


def _without_accents(word: str) -> str:
    """Accents dropped from Latin letters alone: й, が and Thai vowels are letters of their own and stay."""
    plain = "".join(char for char in unicodedata.normalize("NFD", word) if unicodedata.category(char) != "Mn")
    return plain.translate(_LATIN_LETTERS)


def _without_apostrophe(word: str) -> str:
    head, _, tail = word.partition("'")
    if head in _ELIDED and len(tail) > 1:
        return tail.replace("'", "")
    if tail == "t" and head.endswith("n"):
        return head[:-1]
    return head if tail in {"s", "re", "ve", "ll", "d", "m", ""} else head + tail.replace("'", "")


def _bare_noun(word: str) -> str:
    """The noun without its case particle, if two syllables remain."""
    for particle in KOREAN_PARTICLES:
        if word.endswith(particle) and len(word) - len(particle) >= 2:
            return word[: -len(particle)]
    return word

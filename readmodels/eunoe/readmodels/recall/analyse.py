"""Text analysis: the terms under which a memory is filed, and those a query asks for.

Documents and queries pass through the same rules, and a read model's generation is tied to `Analyser.version`: an index
built by one version is never searched with another.

A term is a kind and a text (``w:adopt``): ``w`` is the stem of a word, ``p`` a part of one, ``d`` a date. Parts carry
what a stemmer misses, at a lower weight: the first letters of a word in an alphabet (*adopt* / *adoptee*), the pairs of
characters in Chinese, Japanese and Korean, where two texts may be segmented differently. Korean, spaced by phrase, is
found through them. Dates are those of `analyse_dates`. Each kind is just another term with a document frequency of its
own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Final, NewType

import Stemmer
from icu4py import icu_version

from eunoe.readmodels.recall.analyse_dates import Day, days_in
from eunoe.readmodels.recall.analyse_words import STEMMERS, Script, fold, segment, stem

Term = NewType("Term", str)
"""``w:``, ``p:`` or ``d:`` and the text. In the clear: blinded under the index key before it reaches Redis."""

WORD: Final = "w:"
PART: Final = "p:"
DATE: Final = "d:"
_RULES: Final = "2"
"""Raised with any change in the rules or lists of the `analyse*` modules."""
_PAIRED: Final = (Script.HAN_OR_KANA, Script.HANGUL)


class UnknownLanguage(ValueError):
    """No stemmer for this ISO 639-1 code. The caller's mistake; ``language`` says which."""

    def __init__(self, language: str) -> None:
        super().__init__(f"no stemmer for language {language!r}; known: {', '.join(sorted(STEMMERS))}")
        self.language = language


class Unusable(Enum):
    """Why a query holds no term to search for. Such a query finds nothing, never everything."""

    NO_WORDS = "no_words"
    ONLY_STOP_WORDS = "only_stop_words"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentTerms:
    """``counts``: each distinct term with its count, by first appearance. ``length``: words, stop words left out."""

    counts: tuple[tuple[Term, int], ...]
    length: int
    clipped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """``weights``: each distinct term once, with what it counts for. Empty exactly if ``unusable`` says why.

    ``feedback`` names the terms a second pass added (see `rank_feedback`): they reorder, but select nothing alone.
    """

    weights: tuple[tuple[Term, float], ...]
    unusable: Unusable | None
    clipped: bool
    feedback: frozenset[Term] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyser:
    """The rules for one tenant's language. The limits bound what one hostile text can cost.

    ``longest_text`` and ``longest_word`` are in characters, ``most_words`` counts words after stop words; a text cut by
    the first or last is marked ``clipped``. ``prefix`` is how many first letters make a part; shorter words than
    ``prefix - 1`` have none.
    """

    language: str = "en"
    part_weight: float = 0.4
    prefix: int = 5
    longest_text: int = 16_384
    longest_word: int = 40
    most_words: int = 512

    def __post_init__(self) -> None:
        if self.language not in STEMMERS:
            raise UnknownLanguage(self.language)

    @property
    def version(self) -> str:
        """Names everything that decides which terms a text yields."""
        limits = f"{self.prefix}.{self.longest_text}.{self.longest_word}.{self.most_words}"
        return f"eunoe-{_RULES}/icu-{icu_version}/snowball-{Stemmer.version()}/{self.language}/{limits}"

    def document(self, text: str, observed_at: datetime | None = None) -> DocumentTerms:
        """The terms of a statement, observed then. Raises `LoneSurrogate`."""
        folded = fold(text[: self.longest_text])
        segments = segment(folded)
        words, cut = self._words(segments)
        days = days_in(folded, segments)
        if observed_at is not None:
            days = (Day.of(observed_at), *days)
        counts: dict[Term, int] = {}
        for term in self._terms(words):
            counts[term] = counts.get(term, 0) + 1
        counts |= {Term(DATE + term): 1 for day in days for term in day.filed_under()}
        return DocumentTerms(
            counts=tuple(counts.items()), length=len(words), clipped=cut or len(text) > self.longest_text
        )

    def query(self, text: str) -> QueryTerms:
        """The terms of a query, weighted by kind. Raises `LoneSurrogate`."""
        folded = fold(text[: self.longest_text])
        segments = segment(folded)
        words, cut = self._words(segments)
        clipped = cut or len(text) > self.longest_text
        if not words:
            unusable = Unusable.ONLY_STOP_WORDS if segments else Unusable.NO_WORDS
            return QueryTerms(weights=(), unusable=unusable, clipped=clipped)
        weights = {term: 1.0 if term.startswith(WORD) else self.part_weight for term in self._terms(words)}
        weights |= {Term(DATE + term): 1.0 for day in days_in(folded, segments) for term in day.asked_for()}
        return QueryTerms(weights=tuple(weights.items()), unusable=None, clipped=clipped)

    def _words(self, segments: Iterable[str]) -> tuple[list[tuple[str, str, Script]], bool]:
        words = [found for word in segments for found in stem(word, self.language, self.longest_word)]
        return words[: self.most_words], len(words) > self.most_words

    def _terms(self, words: Iterable[tuple[str, str, Script]]) -> Iterator[Term]:
        for stemmed, surface, script in words:
            yield from _terms_of(stemmed, surface, script, self.prefix)


@lru_cache(maxsize=32_768)
def _terms_of(stemmed: str, surface: str, script: Script, prefix: int) -> tuple[Term, ...]:
    """Of one word. Like the cache of `stem`, this one holds single words of this process's texts."""
    word = Term(WORD + stemmed)
    if script in _PAIRED:
        return (word, *(Term(PART + surface[start : start + 2]) for start in range(len(surface) - 1)))
    if script is not Script.NUMBER and len(surface) >= prefix - 1:
        return (word, Term(PART + surface[:prefix]))
    return (word,)

"""Our own detector: the rule book over the text of a candidate.

Rules about wording look at one sentence at a time: one pass gives the meanings that are in it as bits, and a rule is a
few comparisons of bits. Rules about form look at the text as it was written (letter case tells a secret from a word),
and, where it is disguised, at its folded form and at what is hidden in it.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import re2

from eunoe.detectors.checks import CHECKS
from eunoe.detectors.engine import PatternSet
from eunoe.detectors.folding import hidden, visible
from eunoe.detectors.protocol import MARK, Examined
from eunoe.detectors.rule_book import FormRule, RuleBook, WordRule, rule_book
from eunoe.schemas.values import SourceKind

NAME: Final = "text"
_OWN: Final = frozenset({SourceKind.USER_EXPLICIT, SourceKind.SYSTEM})
SOURCE: Final = "source: "
"""Stands before the address of a source in what rules about form read."""
_SENTENCES: Final = re.compile(r"(?<=[.!?])(?=[ \n])")


@dataclass(frozen=True, slots=True)
class _Words:
    """A rule about wording as bits: one of each of ``all`` must be there, none of ``none``."""

    id: str
    rule_class: str
    all: tuple[int, ...]
    none: int
    told: bool


@dataclass(frozen=True, slots=True)
class _Form:
    id: str
    rule_class: str
    pattern: Any
    check: str | None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it holds: the first group, or all of the match where there is none."""
        for match in self.pattern.finditer(text):
            group = 1 if self.pattern.groups else 0
            found = match[group]
            if found and (self.check is None or CHECKS[self.check](found)):
                yield match.span(group)


class TextDetector:
    """Has the rules of ``book``; never changes after it was made."""

    name: Final = NAME

    def __init__(self, book: RuleBook) -> None:
        meanings = {meaning: 1 << at for at, meaning in enumerate(book.vocabulary.patterns)}
        self._meanings = PatternSet(tuple(book.vocabulary.patterns.values()))
        self._forms_set = PatternSet(tuple(each.pattern for each in book.forms))
        self._words = tuple(_bits(each, meanings) for each in book.words)
        self._forms = tuple(_form(each) for each in book.forms)
        self.rules = frozenset([each.rule_class for each in book.words] + [each.rule_class for each in book.forms])

    def examine(self, examined: Examined) -> frozenset[str]:
        """The classes of all rules that hold."""
        return frozenset(rule_class for _, rule_class in self.holding(examined))

    def holding(self, examined: Examined) -> Iterator[tuple[str, str]]:
        """Id and class of every rule that holds, possibly more than once; for whoever writes rules."""
        yield from self._worded(examined.folded, examined.source_kind not in _OWN)
        for text in _forms_of(examined):
            mask = self._forms_set.matching(text)
            for at, form in enumerate(self._forms):
                if mask >> at & 1 and next(form.spans(text), None) is not None:
                    yield form.id, form.rule_class

    def redact(self, text: str, rules: frozenset[str]) -> str:
        """Cuts what has a form. Wording has no place of its own: what still holds then is for the caller to see."""
        for form in self._forms:
            if form.rule_class in rules:
                for start, end in reversed(tuple(form.spans(text))):
                    text = text[:start] + MARK + text[end:]
        return text

    def _worded(self, folded: str, told: bool) -> Iterator[tuple[str, str]]:
        whole = self._meanings.matching(folded)
        rules = [each for each in self._words if (told or not each.told) and all(whole & group for group in each.all)]
        if not rules:
            return
        sentences = _SENTENCES.split(folded)
        masks = [whole] if len(sentences) == 1 else [self._meanings.matching(each) for each in sentences]
        for rule in rules:
            if any(not mask & rule.none and all(mask & group for group in rule.all) for mask in masks):
                yield rule.id, rule.rule_class


def text_detector() -> TextDetector:
    """With the rules that come with this package. The entry point."""
    return TextDetector(rule_book())


def _bits(rule: WordRule, meanings: dict[str, int]) -> _Words:
    groups = tuple(sum({meanings[each] for each in group}) for group in rule.all)
    return _Words(rule.id, rule.rule_class, groups, sum({meanings[each] for each in rule.none}), rule.told)


def _form(rule: FormRule) -> _Form:
    return _Form(rule.id, rule.rule_class, re2.compile(rule.pattern), rule.check)


def _forms_of(examined: Examined) -> Iterator[str]:
    fields = [examined.statement]
    fields += [each for each in (examined.claim_key, examined.provenance, examined.external_id) if each is not None]
    fields += [*examined.answers, *examined.event_ids]
    if examined.source_uri is not None:
        fields.append(SOURCE + examined.source_uri)
    text = "\n".join(fields)
    said = hidden(text)
    if text.isascii():
        yield "\n".join((text, *said)) if said else text
        return
    yield "\n".join((unicodedata.normalize("NFKC", visible(text)), *said))
    yield examined.folded

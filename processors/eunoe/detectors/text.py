"""Our own detector: the rule book over the text of a candidate.

Rules about wording ask first whether the words for them are there at all, which they are not in most texts, and only
then read sentence by sentence (`reading`). Rules about form look at the text as it was written (letter case tells a
secret from a word), and, where it is disguised, at its folded form and at what is hidden in it.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import re2

from eunoe.detectors.checks import CHECKS
from eunoe.detectors.engine import PatternSet, quiet
from eunoe.detectors.folding import visible
from eunoe.detectors.lexicon import Lexicon, Words
from eunoe.detectors.protocol import MARK, Examined
from eunoe.detectors.reading import Sentence, Told, sentences, tokens_of
from eunoe.detectors.rule_book import FormRule, RuleBook, SaidBy, WordRule, rule_book
from eunoe.detectors.vocabulary import Vocabulary
from eunoe.schemas.values import SourceKind

NAME: Final = "text"
_READ_BY: Final = {
    SourceKind.USER_EXPLICIT: SaidBy.ANYONE,
    SourceKind.SYSTEM: SaidBy.ANYONE,
    SourceKind.INFERRED: SaidBy.MACHINES,
    SourceKind.MODEL_OUTPUT: SaidBy.MACHINES,
}
"""Which rules a source is read by; what is not here by those of `SaidBy.OTHERS`."""
SOURCE: Final = "source: "
"""Stands before the address of a source in what rules about form read."""
BACK: Final = "it"
"""The meaning that points back to the sentence before."""


@dataclass(frozen=True, slots=True)
class _Words:
    """A rule about wording as bits; see `eunoe.detectors.rule_book.WordRule`."""

    id: str
    rule_class: str
    all: tuple[int, ...]
    none: tuple[int, ...]
    act: tuple[int, ...]
    turns: tuple[int, ...]
    odd: bool

    def holds(self, mask: int, clauses: tuple[int, ...]) -> bool:
        """In a sentence of these clauses."""
        for group in self.all:
            if not mask & group:
                return False
        for each in self.none:
            if mask & each == each:
                return False
        return not self.act or any(self._acts(clause) for clause in clauses)

    def _acts(self, clause: int) -> bool:
        """Whether the act is in the clause, and turned as often as it should be."""
        for act in self.act:
            if clause & act == act:
                turned = self.odd
                for turn in self.turns:
                    if clause & turn:
                        turned = not turned
                return not turned
        return False


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
        self._lexicon = Lexicon(book.vocabulary)
        told = _told(book.vocabulary)
        self._back = book.vocabulary.bit(BACK)
        at_its_word = told.at_its_word()
        self._readings = {
            SaidBy.ANYONE: _reading([_spared(each) for each in book.words], (SaidBy.ANYONE,), book.vocabulary, told),
            SaidBy.OTHERS: _reading(book.words, (SaidBy.ANYONE, SaidBy.OTHERS), book.vocabulary, at_its_word),
            SaidBy.MACHINES: _reading(book.words, tuple(SaidBy), book.vocabulary, at_its_word),
        }
        self._forms = tuple(_form(each) for each in book.forms)
        nears = sorted({each.near for each in book.forms})
        self._near = PatternSet(nears)
        self._forms_near = tuple(_near([each for each in book.forms if each.near == near]) for near in nears)
        self.rules = frozenset([each.rule_class for each in book.words] + [each.rule_class for each in book.forms])

    def examine(self, examined: Examined) -> frozenset[str]:
        """The classes of all rules that hold."""
        return frozenset([each.rule_class for each in self.holding(examined)])

    def holding(self, examined: Examined) -> "list[_Words | _Form]":
        """Every rule that holds, possibly more than once."""
        reading = self._readings[_READ_BY.get(examined.source_kind, SaidBy.OTHERS)]
        tokens = tokens_of(examined.folded, self._lexicon)
        words = self._lexicon.words(tokens)
        found: list[_Words | _Form] = []
        self._worded(tokens, words, reading, found)
        if examined.beside:
            self._joined(examined, reading, found)
        for text in _forms_of(examined):
            data = text.encode("utf-8", "replace")
            for near in self._near.matching(data):
                patterns, forms = self._forms_near[near]
                for at in patterns.matching(data):
                    if next(forms[at].spans(text), None) is not None:
                        found.append(forms[at])
        return found

    def redact(self, text: str, rules: frozenset[str]) -> str:
        """Cuts what has a form. Wording has no place of its own: what still holds then is for the caller to see."""
        for form in self._forms:
            if form.rule_class in rules:
                for start, end in reversed(tuple(form.spans(text))):
                    text = text[:start] + MARK + text[end:]
        return text

    def _joined(self, examined: Examined, reading: "_Reading", found: "list[_Words | _Form]") -> None:
        """Adds the rules that hold in a field together with the statement behind or before it."""
        middle = tokens_of(examined.middle, self._lexicon)
        meant = self._lexicon.words(middle)
        for field in examined.beside:
            tokens = tokens_of(field, self._lexicon)
            words = self._lexicon.words(tokens)
            if any(each is not None and each.keys for each in words):
                self._worded(tokens + middle + tokens, words + meant + words, reading, found)

    def _worded(self, tokens: list[str], words: Words, reading: "_Reading", found: "list[_Words | _Form]") -> None:
        """Adds the rules about wording that hold: first by the meanings that are there at all, which in most texts
        leave none, and only then sentence by sentence."""
        hits = self._lexicon.phrases(words, tokens)
        present = 0
        for _, _, mask in hits:
            present |= mask
        rules = _left(reading.book, present)
        if not rules:
            return
        before: Sentence | None = None
        for sentence in sentences(hits, tokens, words, present, reading.told):
            mask, clauses = sentence
            for rule in rules:
                if rule.holds(mask, clauses):
                    found.append(rule)
            if before is not None and mask & self._back:
                both, of_both = before[0] | mask, before[1] + clauses
                for rule in rules:
                    if rule.act and rule.holds(both, of_both):
                        found.append(rule)
            before = sentence


def text_detector() -> TextDetector:
    """With the rules that come with this package. The entry point."""
    return TextDetector(rule_book())


def _bits(rule: WordRule, vocabulary: Vocabulary) -> _Words:
    return _Words(
        rule.id,
        rule.rule_class,
        tuple(_any(group, vocabulary) for group in rule.all),
        tuple(_any(each, vocabulary) for each in rule.none),
        tuple(_any(each, vocabulary) for each in rule.act),
        tuple(_any(each, vocabulary) for each in rule.turns),
        rule.odd,
    )


_Book = tuple[tuple[int, tuple[_Words, ...]], ...]
"""Rules by the one of their meanings that the fewest rules ask for."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the words of one sort of sources are read: which rules hold for them, and what is only told about."""

    book: _Book
    told: Told


def _spared(rule: WordRule) -> WordRule:
    """As the user says it."""
    return replace(rule, none=(*rule.none, *((spare,) for spare in rule.spares)))


def _reading(rules: Sequence[WordRule], said_by: tuple[SaidBy, ...], vocabulary: Vocabulary, told: Told) -> _Reading:
    return _Reading(_by_rarest([_bits(each, vocabulary) for each in rules if each.said_by in said_by]), told)


def _by_rarest(rules: list[_Words]) -> _Book:
    asked = Counter(group for rule in rules for group in rule.all)
    found: dict[int, list[_Words]] = {}
    for rule in rules:
        found.setdefault(min(rule.all, key=lambda group: (group.bit_count(), asked[group])), []).append(rule)
    return tuple((rarest, tuple(each)) for rarest, each in found.items())


def _left(book: _Book, mask: int) -> list[_Words]:
    """Those that may hold somewhere in a text that has these meanings."""
    left: list[_Words] = []
    for rarest, rules in book:
        if not mask & rarest:
            continue
        for rule in rules:
            for group in rule.all:
                if not mask & group:
                    break
            else:
                if not rule.act:
                    left.append(rule)
                    continue
                for act in rule.act:
                    if mask & act == act:
                        left.append(rule)
                        break
    return left


def _any(meanings: tuple[str, ...], vocabulary: Vocabulary) -> int:
    return sum(vocabulary.bit(each) for each in set(meanings))


def _told(vocabulary: Vocabulary) -> Told:
    bit = vocabulary.bit
    return Told(
        prohibit=bit("prohibit"),
        reported=bit("reported"),
        mention=bit("mention"),
        order=_any(("send", "reveal", "skip", "disregard", "grant", "approve", "order", "pretend"), vocabulary),
        covers=(
            (
                _any(("idle", "lift", "skip", "disregard", "without", "autoapprove", "hide", "exemption"), vocabulary),
                bit("prohibit"),
            ),
            (bit("always"), bit("until")),
            (bit("prohibit"), bit("may")),
            (bit("idle"), bit("past")),
        ),
    )


def _form(rule: FormRule) -> _Form:
    return _Form(rule.id, rule.rule_class, re2.compile(rule.pattern, quiet()), rule.check)


def _near(forms: list[FormRule]) -> tuple[PatternSet, tuple[_Form, ...]]:
    return PatternSet([each.pattern for each in forms]), tuple(map(_form, forms))


def _forms_of(examined: Examined) -> Iterator[str]:
    fields = [examined.statement]
    fields += [each for each in (examined.claim_key, examined.provenance, examined.external_id) if each is not None]
    fields += [*examined.answers, *examined.event_ids]
    if examined.source_uri is not None:
        fields.append(SOURCE + examined.source_uri)
    text = "\n".join(fields)
    said = examined.said
    if text.isascii():
        yield "\n".join((text, *said)) if said else text
        return
    yield "\n".join((unicodedata.normalize("NFKC", visible(text)), *said))
    yield examined.folded

"""What makes reading quick changes no verdict: over the development corpus, the same as without any short cut."""

import re
from collections.abc import Iterator

import pytest

from eunoe.bench.admission import WRITTEN_AGAINST, corpus
from eunoe.detectors import reading, text
from eunoe.detectors.lexicon import BORDER, Hit, Lexicon, Words
from eunoe.detectors.protocol import Examined
from eunoe.detectors.rule_book import rule_book
from eunoe.detectors.text import TextDetector

BOOK = rule_book()
DETECTOR = TextDetector(BOOK)
CASES: tuple[Examined, ...] = tuple(each.examined for each in corpus(WRITTEN_AGAINST))
UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


def held() -> list[set[str]]:
    return [{each.id for each in DETECTOR.holding(case)} for case in CASES]


def every_rule(book: text._Book, mask: int) -> list[text._Words]:
    return [rule for _, rules in book for rule in rules]


def test_rules_that_are_left_out_early_hold_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = held()
    monkeypatch.setattr(text, "_left", every_rule)
    assert held() == quick
    assert sum(map(bool, quick)) > 300


def test_a_sentence_without_anything_special_is_read_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = held()
    plainly = reading.sentences

    def with_a_border(
        hits: list[Hit], tokens: list[str], words: Words, present: int, told: reading.Told
    ) -> list[reading.Sentence]:
        return plainly(hits, [*tokens, "."], [*words, BORDER], present, told)

    monkeypatch.setattr(text, "sentences", with_a_border)
    assert held() == quick


def longest_first(run: str, known: list[str]) -> Iterator[str]:
    """By the definition: at each place the longest known word, or what is written in Latin letters."""
    at = 0
    while at < len(run):
        latin = re.match("[a-z0-9]+", run[at:])
        words = [each for each in known if run.startswith(each, at)] + ([latin[0]] if latin else [])
        word = max(words, key=len, default="")
        if word:
            yield word
        at += len(word) or 1


def test_unspaced_runs_are_cut_at_the_longest_known_words() -> None:
    lexicon = Lexicon(BOOK.vocabulary)
    words = {word for sequence in BOOK.vocabulary.phrases for word in sequence.words}
    known = sorted(each for each in words | set(BOOK.vocabulary.kinds) if UNSPACED.search(each))
    runs = {run for case in CASES for run in re.findall(r"\w+", case.folded) if UNSPACED.search(run)}
    assert len(runs) > 100
    for run in runs:
        assert lexicon.unspaced([run]) == list(longest_first(run, known))

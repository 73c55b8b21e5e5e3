"""All phrases of a vocabulary, found in a text in one pass over its words.

Words that are in no phrase, most of any text, cost one look-up each. What is left walks down a tree of phrases; phrases
have at most a handful of words, so the time is linear in the text. An automaton over letters (a set of RE2 patterns) is
as quick on texts it has seen, and took 50 to 130 µs for twenty words that it had not.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from eunoe.detectors.phrases import ANY, GAP
from eunoe.detectors.vocabulary import Vocabulary

GAP_WORDS: Final = 7
_HEAD: Final = 3
_KEPT: Final = 4_096
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_ARABIC: Final = re.compile("[\u0621-\u064a]")
UNUSUAL: Final = re.compile("[\u0621-\u064a\u3040-\u30ff\u3400-\u9fff]")
_LATIN: Final = re.compile("[a-z0-9]+")
_BOUND: Final = re.compile("^(?:[وف])?(?:(?:ال|بال|كال|لل)|[بلك](?=...))?(?=..)")


@dataclass(slots=True)
class _Node:
    """``mask``: the meanings of the phrases that end here. ``open``: any word may come next."""

    mask: int = 0
    below: "dict[str, _Node]" = field(default_factory=dict)
    open: bool = False

    def at(self, key: str) -> "_Node":
        return self.below.setdefault(key, _Node())


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """What a word of a text may be: ``keys`` of the tree.

    ``alone``: the meanings it has by itself; ``starts``: where longer phrases go on; ``open``: those of them where any
    word may come next. ``told_alone`` and ``told``: the same where a command may begin; ``commands``: it has any.
    """

    keys: tuple[str, ...]
    alone: int = 0
    starts: tuple[_Node, ...] = ()
    open: tuple[_Node, ...] = ()
    told_alone: int = 0
    told: tuple[_Node, ...] = ()
    commands: bool = False


BORDER: Final = Word(())
"""Stands where punctuation is."""
COLON: Final = Word((":",))
"""Ends a clause, yet what is left out in a phrase may go over it ("diagnosis: epilepsy")."""

Words = list[Word | None]
Hit = tuple[int, int, int]
"""A phrase: its first word, the word behind its last, its meanings."""


class Lexicon:
    """Phrases by meaning; a meaning is a bit. Never changes after it was made."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._commanding, self._wishing = vocabulary.commanding, vocabulary.wishing
        self._kinds = vocabulary.kinds
        self._roots, self._told = _Node(), _Node()
        keys: set[str] = set(vocabulary.kinds)
        for sequence, mask in vocabulary.phrases.items():
            node = self._told if sequence.commanding else self._roots
            for each in sequence.words:
                node.open |= each in (ANY, GAP)
                node = node.at(each)
            node.mask |= mask
            keys.update(sequence.words)
        keys -= {ANY, GAP}
        self._stems = {each[:-1]: each for each in keys if each.endswith("*") and not each.startswith("*")}
        self._ends = {each[1:]: each for each in keys if each.startswith("*") and not each.endswith("*")}
        self._heads = _grouped((each[:_HEAD], each) for each in self._stems)
        self._tails = _grouped((each[-_HEAD:], each) for each in self._ends)
        self._cut = frozenset(each for each in keys if _UNSPACED.search(each))
        self._lengths = _lengths(self._cut)
        plain = {each for each in keys if "*" not in each}
        self._plain: dict[str, Word] = {each: self._word((each, *self._affixed(each))) for each in plain}
        self._plain |= dict.fromkeys(".,;!?()\"'", BORDER)
        self._plain[":"] = COLON
        # Only words of the vocabulary with another ending are kept, never what else is in a text.
        self._inflected = lru_cache(_KEPT)(lambda token: self._word(self._affixed(token)))

    def words(self, tokens: list[str]) -> Words:
        """Of each token what it may be; None: nothing."""
        plain, heads, tails, inflected = self._plain.get, self._heads.get, self._tails.get, self._inflected
        return [
            plain(each)
            or (
                inflected(each)
                if each.startswith(heads(each[:_HEAD], ())) or each.endswith(tails(each[-_HEAD:], ()))
                else None
            )
            for each in tokens
        ]

    def unspaced(self, tokens: list[str]) -> list[str]:
        """Runs of a script that writes no spaces cut into the words that are known, and Arabic ones without what is
        written together with them (and, by, for, the)."""
        found: list[str] = []
        for each in tokens:
            if each.isascii():
                found.append(each)
            elif _UNSPACED.search(each):
                self._cut_up(each, found)
            elif (
                UNUSUAL.match(each)
                and each not in self._plain
                and not each.startswith(self._heads.get(each[:_HEAD], ()))
            ):
                found.append(_BOUND.sub("", each))
            else:
                found.append(each)
        return found

    def _cut_up(self, run: str, found: list[str]) -> None:
        """Adds the longest known word at each place; what is between them is left out."""
        at, end = 0, len(run)
        lengths, cut = self._lengths, self._cut
        while at < end:
            for length in lengths.get(run[at], ()):
                if (word := run[at : at + length]) in cut:
                    found.append(word)
                    at += len(word)
                    break
            else:
                latin = _LATIN.match(run, at)
                if latin is None:
                    at += 1
                else:
                    found.append(latin[0])
                    at = latin.end()

    def phrases(self, words: Words, tokens: list[str]) -> list[Hit]:
        """Every phrase in the words, by first word."""
        found: list[Hit] = []
        last = len(words) - 1
        for at, word in enumerate(words):
            if word is None or word is BORDER:
                continue
            alone = word.alone
            if word.starts and at < last and (later := words[at + 1]) is not BORDER:
                if later is None:
                    for node in word.open:
                        _below(node, words, at, at + 1, found)
                else:
                    for node in word.starts:
                        if node.open:
                            _below(node, words, at, at + 1, found)
                            continue
                        below = node.below
                        for key in later.keys:
                            if key in below:
                                _step(below[key], words, at, at + 1, found)
            if word.commands and self._commanded_at(tokens, at):
                alone |= word.told_alone
                for node in word.told:
                    _below(node, words, at, at + 1, found)
            if alone:
                found.append((at, at + 1, alone))
        return found

    def _commanded_at(self, tokens: list[str], at: int) -> bool:
        """Whether a command may begin at the word."""
        if at == 0 or not tokens[at - 1].isalnum():
            return True
        return tokens[at - 1] in self._commanding and (at == 1 or tokens[at - 2] not in self._wishing)

    def _affixed(self, token: str) -> tuple[str, ...]:
        stems = [self._stems[token[:end]] for end in range(_HEAD, len(token) + 1) if token[:end] in self._stems]
        ends = [self._ends[token[at:]] for at in range(len(token) - _HEAD + 1) if token[at:] in self._ends]
        if _UNSPACED.search(token):
            stems += [each for each in self._cut if each in token and each != token]
        return (*stems, *ends)

    def _word(self, keys: tuple[str, ...]) -> Word:
        keys = (*keys, *sorted({kind for each in keys for kind in self._kinds.get(each, ())}))
        starts = [self._roots.below[each] for each in keys if each in self._roots.below]
        told = [self._told.below[each] for each in keys if each in self._told.below]
        longer = tuple(each for each in starts if each.below)
        alone, told_alone = _union(each.mask for each in starts), _union(each.mask for each in told)
        return Word(
            keys,
            alone,
            longer,
            tuple(each for each in longer if each.open),
            told_alone,
            tuple(each for each in told if each.below),
            bool(told),
        )


def _below(node: _Node, words: Words, began: int, at: int, found: list[Hit]) -> None:
    """The phrases that go on from ``node`` with the word at ``at``."""
    if at >= len(words):
        return
    below, word = node.below, words[at]
    if word is BORDER:
        return
    if word is not None:
        for key in word.keys:
            if key in below:
                _step(below[key], words, began, at, found)
    if ANY in below:
        _step(below[ANY], words, began, at, found)
    if GAP in below:
        gap = below[GAP].below
        for later in range(at, min(at + GAP_WORDS + 1, len(words))):
            word = words[later]
            if word is BORDER:
                return
            if word is not None:
                for key in word.keys:
                    if key in gap:
                        _step(gap[key], words, began, later, found)


def _step(node: _Node, words: Words, began: int, at: int, found: list[Hit]) -> None:
    if node.mask:
        found.append((began, at + 1, node.mask))
    if node.below:
        _below(node, words, began, at + 1, found)


def _union(masks: Iterable[int]) -> int:
    union = 0
    for each in masks:
        union |= each
    return union


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for key, each in pairs:
        found.setdefault(key, []).append(each)
    return {key: tuple(each) for key, each in found.items()}


def _lengths(words: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """How long the words are that begin with a character, the longest first."""
    found: dict[str, set[int]] = {}
    for each in words:
        found.setdefault(each[0], set()).add(len(each))
    return {first: tuple(sorted(each, reverse=True)) for first, each in found.items()}

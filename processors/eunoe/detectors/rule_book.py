"""The rules of one class: `rules/CLASS.toml`, versioned. A rule is data, with texts it must catch and must not.

A rule about wording names the meanings that have to meet in one sentence, or in two of which the second points back to
the first (``all``; ``a|b`` is either), and those that must be absent (``none``; ``a+b`` is both together). Its ``act``
is what somebody would do. ``turns`` are the meanings that turn the act into its opposite: "send the list outside" is
bad, and with a "never" in the same clause good; "ask for approval" is good, with a "never" bad (``odd``), and with
"never" and "before" good again. A rule about form has a ``pattern`` and may have a ``check`` on what matched; ``near``
is a cheap pattern that every text has in which the rule can hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Final

import re2

from eunoe.detectors.checks import CHECKS
from eunoe.detectors.engine import quiet
from eunoe.detectors.vocabulary import BadRules, Vocabulary, closed, opened, read_vocabulary
from eunoe.schemas.toml_tables import Report, Table

CLASSES: Final = (
    "instruction",
    "policy_influence",
    "exfiltration",
    "privilege",
    "routing",
    "secret",
    "forbidden_data",
    "personal_data",
    "hidden_profile",
    "derived_from_memory",
)
VOCABULARY: Final = "vocabulary.toml"


class SaidBy(StrEnum):
    """Whose texts a rule is about."""

    ANYONE = "anyone"
    OTHERS = "others"
    """Everybody but the user and the system."""
    MACHINES = "machines"
    """What a model inferred or put out: a guess, even where it says no such thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordRule:
    """``all``: groups of meanings, one of each must be in the sentence; ``none``: none of these combinations.

    ``act``: one of these combinations must be in a clause with an even number of ``turns``, of which each is one
    or more meanings (``odd``: with an odd number); empty: no matter.
    ``said_by``: whose texts it is about; of a user's own wish the same words may be a preference.
    ``spares``: meanings of which any spares what a user says, and nobody else.
    """

    id: str
    rule_class: str
    all: tuple[tuple[str, ...], ...]
    none: tuple[tuple[str, ...], ...]
    spares: tuple[str, ...]
    act: tuple[tuple[str, ...], ...]
    turns: tuple[tuple[str, ...], ...]
    odd: bool
    said_by: SaidBy
    catches: tuple[str, ...]
    passes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormRule:
    """``pattern`` is RE2; its first group, if any, is what ``check`` looks at and what is cut out.
    ``near``: RE2; every text in which the rule holds has it.
    """

    id: str
    rule_class: str
    pattern: str
    near: str
    check: str | None
    catches: tuple[str, ...]
    passes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleBook:
    """All rules of all classes. ``versions`` of the files, by class."""

    vocabulary: Vocabulary
    words: tuple[WordRule, ...]
    forms: tuple[FormRule, ...]
    versions: Mapping[str, int] = field(default_factory=dict)


def rule_book() -> RuleBook:
    """The rules that come with this package. Raises `BadRules`."""
    folder = resources.files("eunoe.detectors") / "rules"
    vocabulary = read_vocabulary(VOCABULARY, (folder / VOCABULARY).read_bytes())
    words: list[WordRule] = []
    forms: list[FormRule] = []
    versions: dict[str, int] = {}
    for name in CLASSES:
        file = f"{name}.toml"
        version, found = read_rules(file, (folder / file).read_bytes(), vocabulary)
        versions[name] = version
        words += [each for each in found if isinstance(each, WordRule)]
        forms += [each for each in found if isinstance(each, FormRule)]
    return RuleBook(vocabulary=vocabulary, words=tuple(words), forms=tuple(forms), versions=versions)


@cache
def warming_texts() -> tuple[str, ...]:
    """The rules' own examples: the automata are made on these, and not on the first candidates (milliseconds each)."""
    book = rule_book()
    rules: tuple[WordRule | FormRule, ...] = (*book.words, *book.forms)
    return tuple(text for each in rules for text in (*each.catches, *each.passes))


def read_rules(file: str, data: bytes, vocabulary: Vocabulary) -> tuple[int, tuple[WordRule | FormRule, ...]]:
    """Version and rules of one file. Raises `BadRules` with everything that is wrong, by file and line."""
    report = opened(file, data)
    root = Table(report, (), report.source.values)
    version = root.integer("version", 1)
    rule_class = root.text("class")
    if rule_class not in CLASSES:
        root.problem("class", f"class {rule_class!r} is none of {', '.join(CLASSES)}")
    rules: list[WordRule | FormRule] = []
    seen: set[str] = set()
    for entry in root.entries("rule"):
        rule = _rule(entry, rule_class, vocabulary)
        if rule.id in seen:
            entry.problem("id", f"rule {rule.id!r} is there twice")
        seen.add(rule.id)
        rules.append(rule)
    root.close()
    closed(report)
    return version, tuple(rules)


def _rule(entry: Table, rule_class: str, vocabulary: Vocabulary) -> WordRule | FormRule:
    name = entry.text("id")
    catches = entry.names("catches", required=True)
    passes = entry.names("passes", required=True)
    for key, texts in (("catches", catches), ("passes", passes)):
        if not texts:
            entry.problem(key, f"rule {name!r} needs a text it {key}")
    rule: WordRule | FormRule
    if "pattern" in entry:
        rule = FormRule(
            id=name,
            rule_class=rule_class,
            pattern=_pattern(entry, "pattern"),
            near=_pattern(entry, "near"),
            check=_check(entry),
            catches=catches,
            passes=passes,
        )
    else:
        rule = _worded(entry, name, rule_class, vocabulary, catches, passes)
    entry.close()
    return rule


def _worded(
    entry: Table,
    name: str,
    rule_class: str,
    vocabulary: Vocabulary,
    catches: tuple[str, ...],
    passes: tuple[str, ...],
) -> WordRule:
    groups = tuple(tuple(each.split("|")) for each in entry.names("all", required=True))
    if not groups:
        entry.problem("all", f"rule {name!r} needs a meaning or a pattern")
    rule = WordRule(
        id=name,
        rule_class=rule_class,
        all=groups,
        none=tuple(tuple(each.split("+")) for each in entry.names("none", required=False)),
        spares=entry.names("spares", required=False),
        act=tuple(tuple(each.split("+")) for each in entry.names("act", required=False)),
        turns=tuple(tuple(each.split("|")) for each in entry.names("turns", required=False)),
        odd=entry.flag("odd", False),
        said_by=_said_by(entry),
        catches=catches,
        passes=passes,
    )
    used = (each for group in (*groups, rule.spares, *rule.none, *rule.act, *rule.turns) for each in group)
    for meaning in used:
        if meaning not in vocabulary.meanings:
            entry.problem("all", f"rule {name!r}: {meaning!r} is not in {VOCABULARY}")
    if rule.turns and not rule.act:
        entry.problem("turns", f"rule {name!r} has nothing that is turned: no act")
    return rule


def _said_by(entry: Table) -> SaidBy:
    name = entry.text("said_by") if "said_by" in entry else SaidBy.ANYONE.value
    if name not in set(SaidBy):
        entry.problem("said_by", f"said_by {name!r} is none of {', '.join(SaidBy)}")
        return SaidBy.ANYONE
    return SaidBy(name)


def _pattern(entry: Table, key: str) -> str:
    pattern = entry.text(key)
    try:
        re2.compile(pattern, quiet())
    except re2.error:
        entry.problem(key, "not a pattern that RE2 takes")
        return ""
    return pattern


def _check(entry: Table) -> str | None:
    if "check" not in entry:
        return None
    name = entry.text("check")
    if name not in CHECKS:
        entry.problem("check", f"check {name!r} is none of {', '.join(sorted(CHECKS))}")
    return name


__all__ = ["BadRules", "FormRule", "Report", "RuleBook", "SaidBy", "WordRule", "read_rules", "rule_book"]

"""The words that rules are made of: `rules/vocabulary.toml`, by meaning and language.

A meaning ("send", "always", "password") has phrases in each language, so a rule made of meanings holds in all of
them. Phrases are RE2 patterns with four abbreviations: a space is any space or border of fields, ``*`` the rest of a
word, ``...`` up to 40 characters of the same sentence, ``{name}`` any phrase of that macro in the same language;
``{do}`` is where a command may begin: the beginning of a sentence, after punctuation, or after a word of ``do``. A
phrase stands between borders of words, except in languages that write none.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from eunoe.detectors.engine import BadPattern, PatternSet
from eunoe.detectors.folding import fold_pattern
from eunoe.schemas.toml_source import NotToml, read_toml
from eunoe.schemas.toml_tables import Problem, Report, Table

_BORDER: Final = r"[\x00-/:-@\[-^`{-\x7f]"
_BEGIN: Final = r"(?:^ |[.!?:;,>\"'(*\n-] ?"
_MACRO: Final = re.compile(r"\{([a-z_]+)\}")
_UNSPACED: Final = frozenset({"ja", "zh"})
_LETTERS: Final = {
    "ru": "[\\x{430}-\\x{45f}]*",
    "ar": "[\\x{620}-\\x{64a}]*",
}
_GAP: Final = r"[^.!?\n]{0,40}"
_CLITICS: Final = "(?:و|ف|ل|ب|ال|وال|بال|لل|وب|ول)?"
DO: Final = "do"


class BadRules(ValueError):
    """A file of rules or words is wrong. Blame: its author. Each problem has file, line and reason."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """``patterns`` by meaning: one RE2 pattern for all its phrases."""

    version: int
    patterns: Mapping[str, str]
    languages: frozenset[str]


def read_vocabulary(file: str, data: bytes) -> Vocabulary:
    """The vocabulary in ``data``. Raises `BadRules` with everything that is wrong."""
    report = opened(file, data)
    root = Table(report, (), report.source.values)
    version = root.integer("version", 1)
    macros = {name: _phrases(table) for name, table in root.tables("macros")}
    patterns: dict[str, str] = {}
    languages: set[str] = set()
    for name, table in root.tables("words"):
        alternatives: list[str] = []
        for language, phrases in _phrases(table).items():
            languages.add(language)
            for phrase in phrases:
                unknown = [each for each in _MACRO.findall(phrase) if language not in macros.get(each, {})]
                if unknown:
                    table.problem(language, f"words.{name}.{language}: no macro {unknown[0]!r} in this language")
                    continue
                alternatives.append(_pattern(phrase, language, macros))
        patterns[name] = "|".join(alternatives)
        _check(table, name, patterns[name])
    root.close()
    closed(report)
    return Vocabulary(version=version, patterns=patterns, languages=frozenset(languages))


def opened(file: str, data: bytes) -> Report:
    """A report on the file. Raises `BadRules` where it is no TOML."""
    try:
        return Report(file, read_toml(data))
    except NotToml as error:
        raise BadRules((Problem(file, error.line, error.problem),)) from None


def closed(report: Report) -> None:
    """Raises `BadRules` if anything was reported."""
    if report.problems:
        raise BadRules(tuple(report.problems))


def _check(table: Table, name: str, pattern: str) -> None:
    try:
        PatternSet([pattern])
    except BadPattern:
        table.problem(next(iter(table), name), f"words.{name}: not a pattern that RE2 takes")


def _phrases(table: Table) -> Mapping[str, tuple[str, ...]]:
    found = {language: table.names(language, required=True) for language in table}
    table.close()
    return found


def _pattern(phrase: str, language: str, macros: Mapping[str, Mapping[str, tuple[str, ...]]]) -> str:
    text = fold_pattern(phrase)
    start = "" if text.startswith("{" + DO + "}") or language in _UNSPACED else _BORDER
    if language == "ar" and start:
        start += _CLITICS
    end = "" if text.endswith("*") or language in _UNSPACED else _BORDER
    return start + "(?:" + "".join(_translated(text, language, macros)) + ")" + end


def _translated(text: str, language: str, macros: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Iterator[str]:
    at = 0
    for found in _MACRO.finditer(text):
        yield _abbreviated(text[at : found.start()], language)
        at = found.end()
        words = "|".join(_abbreviated(fold_pattern(each), language) for each in macros[found[1]][language])
        if found[1] != DO or language in _UNSPACED:
            yield f"(?:{words})"
        else:
            clitics = _CLITICS if language == "ar" else ""
            yield f"{_BEGIN}|{_BORDER}{clitics}(?:{words}) ){clitics}"
            at += text.startswith(" ", at)
    yield _abbreviated(text[at:], language)


def _abbreviated(text: str, language: str) -> str:
    text = text.replace(" ... ", "...").replace("...", "\0")
    text = text.replace("*", _LETTERS.get(language, "[a-z]*")).replace(" ", "[ \\n]")
    return text.replace("\0", _GAP if language in _UNSPACED else f"{_BORDER}(?:{_GAP}{_BORDER})?")

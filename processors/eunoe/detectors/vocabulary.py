"""The words that rules are made of: `rules/vocabulary.toml`, by meaning and language.

A meaning ("send", "always", "password") has phrases in each language, so a rule made of meanings holds in all of them.
How to write a phrase: `eunoe.detectors.phrases`. `[commanding]` are the words behind
which a command may begin; behind one of `[wishing]` and one of those none does ("wants to").
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from eunoe.detectors.folding import fold
from eunoe.detectors.phrases import BadPhrase, Sequence, sequences
from eunoe.schemas.toml_source import NotToml, read_toml
from eunoe.schemas.toml_tables import Problem, Report, Table


class BadRules(ValueError):
    """A file of rules or words is wrong. Blame: its author. Each problem has file, line and reason."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """``meanings`` in the order of the file; ``phrases``: each with the bits of its meanings, bit i is meaning i.

    ``kinds``: of a word, a stem or an ending the kinds (``<text>``) it is of.
    """

    version: int
    meanings: tuple[str, ...]
    phrases: Mapping[Sequence, int]
    kinds: Mapping[str, frozenset[str]]
    commanding: frozenset[str]
    wishing: frozenset[str]
    languages: frozenset[str]

    def bit(self, meaning: str) -> int:
        """0 for a meaning that it does not have."""
        return 1 << self.meanings.index(meaning) if meaning in self.meanings else 0


def read_vocabulary(file: str, data: bytes) -> Vocabulary:
    """The vocabulary in ``data``. Raises `BadRules` with everything that is wrong."""
    report = opened(file, data)
    root = Table(report, (), report.source.values)
    version = root.integer("version", 1)
    commanding, wishing = (_words(root.table(name, required=False)) for name in ("commanding", "wishing"))
    meanings: list[str] = []
    phrases: dict[Sequence, int] = {}
    languages: set[str] = set()
    for name, table in root.tables("words"):
        bit = 1 << len(meanings)
        meanings.append(name)
        for language, each in _sequences(table, f"words.{name}"):
            languages.add(language)
            phrases[each] = phrases.get(each, 0) | bit
    kinds: dict[str, set[str]] = {}
    for name, table in root.tables("kinds", required=False):
        for _, each in _sequences(table, f"kinds.{name}"):
            for word in each.words:
                kinds.setdefault(word, set()).add(f"<{name}>")
    root.close()
    closed(report)
    return Vocabulary(
        version=version,
        meanings=tuple(meanings),
        phrases=phrases,
        kinds={word: frozenset(found) for word, found in kinds.items()},
        commanding=commanding,
        wishing=wishing,
        languages=frozenset(languages),
    )


def _words(table: Table) -> frozenset[str]:
    return frozenset(fold(word).strip() for words in _phrases(table).values() for word in words)


def _sequences(table: Table, name: str) -> Iterator[tuple[str, Sequence]]:
    for language, texts in _phrases(table).items():
        for text in texts:
            try:
                for each in sequences(text):
                    yield language, each
            except BadPhrase as error:
                table.problem(language, f"{name}.{language}: {text!r}: {error}")


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


def _phrases(table: Table) -> Mapping[str, tuple[str, ...]]:
    found = {language: table.names(language, required=True) for language in table}
    table.close()
    return found

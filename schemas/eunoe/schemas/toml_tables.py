"""Reading a TOML table strictly: typed getters that collect problems instead of stopping at the first.

Each getter returns a harmless value after it reported a problem, so that one pass finds everything that is wrong; the
caller looks at the problems before it uses anything. Keys nobody asked for are problems too (`Table.close`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

from eunoe.schemas.durations import BadDuration, duration_millis
from eunoe.schemas.policy import ANY
from eunoe.schemas.toml_source import Path, Source

E = TypeVar("E", bound=StrEnum)
LARGEST: Final = 2**31 - 1
"""Of what counts something. What stands in records is a `long` of Avro; nobody counts so far."""

V = TypeVar("V", str, int, bool, list[Any], dict[str, Any])


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a file: where, and what. Printed as ``file:line: problem``, as compilers do."""

    file: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.problem}"


@dataclass(slots=True)
class Report:
    """Collects the problems of one file."""

    file: str
    source: Source
    problems: list[Problem] = field(default_factory=list)

    def add(self, path: Path, problem: str) -> None:
        self.problems.append(Problem(self.file, self.source.line(path), problem))


def member(vocabulary: type[E], text: str) -> E | None:
    """The value of ``vocabulary`` written as ``text``, if it has one."""
    return next((each for each in vocabulary if each.value == text), None)


class Table:
    """One table of the file at ``path``."""

    def __init__(self, report: Report, path: Path, values: Mapping[str, Any]) -> None:
        self._report = report
        self.path = path
        self._values = values
        self._asked: set[str] = set()

    def problem(self, key: str, text: str) -> None:
        self._report.add((*self.path, key), text)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        """All keys of the table, asked for or not."""
        return iter(self._values)

    def close(self) -> None:
        """Report the keys nobody asked for."""
        for key in self._values:
            if key not in self._asked:
                self.problem(key, f"unknown key {self._name(key)!r}; known here: {', '.join(sorted(self._asked))}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self._get(key, str, "text", default)
        if not value.strip() and default is None and key in self._values:
            self.problem(key, f"{self._name(key)} must not be empty")
        return value

    def integer(self, key: str, minimum: int, default: int | None = None, *, maximum: int = LARGEST) -> int:
        """Within ``minimum`` and ``maximum``; ``minimum`` after a problem, for TOML's numbers have no end."""
        value = self._get(key, int, "a whole number", default)
        if key not in self._values or minimum <= value <= maximum:
            return value
        bound = f"at least {minimum}" if value < minimum else f"at most {maximum}"
        self.problem(key, f"{self._name(key)} must be {bound}")
        return minimum

    def flag(self, key: str, default: bool) -> bool:
        return self._get(key, bool, "true or false", default)

    def duration(self, key: str, default: int | None = None) -> int:
        """Milliseconds of an ISO 8601 duration; never zero."""
        text = self._get(key, str, "a duration such as P180D or PT15M", None if default is None else "")
        if default is not None and key not in self._values:
            return default
        try:
            millis = duration_millis(text) if text else 0
        except BadDuration as error:
            self.problem(key, f"{self._name(key)} is {error}")
            return 1
        if not millis and isinstance(self._values.get(key), str):
            self.problem(key, f"{self._name(key)} must be longer than nothing")
        return millis

    def choice(self, key: str, vocabulary: type[E], default: E | None = None) -> E:
        fallback = default or next(iter(vocabulary))
        text = self._get(key, str, "text", None if default is None else default.value)
        found = member(vocabulary, text)
        if found is not None:
            return found
        if isinstance(self._values.get(key), str):
            self.problem(key, f"{self._name(key)} {text!r} is none of {', '.join(vocabulary)}")
        return fallback

    def names(self, key: str, *, required: bool) -> tuple[str, ...]:
        """A list of texts, without repetitions."""
        values = self._get(key, list, "a list of names", None if required else [])
        if not all(isinstance(each, str) for each in values):
            self.problem(key, f"{self._name(key)} must be a list of names")
            return ()
        if len(set(values)) != len(values):
            self.problem(key, f"{self._name(key)} names something twice")
        return tuple(values)

    def any_or_names(self, key: str, *, required: bool) -> tuple[str, ...] | None:
        """None for ``"*"``: anything."""
        if self._values.get(key) == ANY:
            self._asked.add(key)
            return None
        return self.names(key, required=required)

    def table(self, key: str, *, required: bool = True) -> "Table":
        values = self._get(key, dict, "a table", None if required else {})
        return Table(self._report, (*self.path, key), values)

    def tables(self, key: str, *, required: bool = True) -> Iterator[tuple[str, "Table"]]:
        """The tables inside table ``key``, by name."""
        parent = self.table(key, required=required)
        if required and key in self._values and not parent._values:
            self.problem(key, f"{self._name(key)} must not be empty")
        for name in parent._values:
            yield name, parent.table(name)

    def entries(self, key: str) -> Iterator["Table"]:
        """The entries of an array of tables; at least one."""
        values = self._get(key, list, f"an array of tables ([[{self._name(key)}]])", None)
        if key in self._values and not values:
            self.problem(key, f"{self._name(key)} must not be empty")
        for index, each in enumerate(values):
            if isinstance(each, dict):
                yield Table(self._report, (*self.path, key, str(index)), each)
            else:
                self.problem(key, f"{self._name(key)} must be an array of tables")

    def _get(self, key: str, type_: type[V], meant: str, default: V | None) -> V:
        self._asked.add(key)
        if key not in self._values:
            if default is None:
                self.problem(key, f"{self._name(key)} is missing")
            return type_() if default is None else default
        value = self._values[key]
        if not isinstance(value, type_) or (isinstance(value, bool) and type_ is not bool):
            self.problem(key, f"{self._name(key)} must be {meant}")
            return type_() if default is None else default
        return value

    def _name(self, key: str) -> str:
        return ".".join((*self.path, key))

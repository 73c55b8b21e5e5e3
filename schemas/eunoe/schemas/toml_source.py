"""TOML with line numbers: `tomllib` reads the values, a scan of the source says where each key stands.

`tomllib` keeps no positions, and the libraries that do are editors. The scan understands what configuration is written
in (headers, keys, quoted and dotted names, multi-line strings) and falls back to the line of the enclosing table.
"""

import re
import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Path = tuple[str, ...]

_PART: Final = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_NAME: Final = rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*"
_HEADER: Final = re.compile(rf"\s*\[(\[)?({_NAME})\]")
_KEY: Final = re.compile(rf"({_NAME})=")
_PARTS: Final = re.compile(_PART)
_AT: Final = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")


@dataclass(eq=False)
class NotToml(ValueError):
    """The text is no TOML. Blame: its author."""

    line: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """``values`` as `tomllib` gives them; ``lines`` maps a path of keys (array entries by their index) to its line."""

    values: Mapping[str, Any]
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """The line of ``path``, or of the nearest enclosing table that has one; the first line is 1."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[:-1]
        return 1


def read_toml(data: bytes) -> Source:
    """The source in ``data`` (UTF-8). Raises `NotToml`."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise NotToml(data[: error.start].count(b"\n") + 1, "the file is not UTF-8") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT.search(str(error))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1
        raise NotToml(line, _AT.sub("", str(error))) from None
    except RecursionError:
        raise NotToml(_most(text, "[{"), "nested too deeply") from None
    except ValueError:  # of Python's, for a number of thousands of digits
        raise NotToml(_most(text, string.digits), "a number too long to be read") from None
    return Source(values=values, lines=_scan(text))


def _most(text: str, characters: str) -> int:
    """The line with the most of these, for `tomllib` does not say where it gave up."""
    lines = text.splitlines()
    return 1 + max(range(len(lines)), key=lambda each: sum(map(lines[each].count, characters)))


def _scan(text: str) -> dict[Path, int]:
    lines: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    closing = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if closing:
            closing = "" if closing in line else closing
            continue
        if header := _HEADER.match(line):
            table = _split(header[2])
            if header[1]:
                counts[table] = counts.get(table, -1) + 1
                lines.setdefault(table, number)
                table = (*table, str(counts[table]))
            lines[table] = number
        elif key := _KEY.match(line):
            lines.setdefault((*table, *_split(key[1])), number)
        closing = next((quote for quote in ('"""', "'''") if line.count(quote) % 2), "")
    return lines


def _split(name: str) -> Path:
    return tuple(part.strip("\"'") for part in _PARTS.findall(name))

"""How findings look: tables for people, Markdown for docs/benchmarks.md. Both are made of the JSON document alone."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

Document = Mapping[str, Any]
_PAGE: Final = 140
"""Columns where no terminal says how many it has."""


def number(value: Any) -> str:
    """Four digits that count; thousands separated."""
    if value is None:
        return "not measured"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"


def tables(document: Document) -> list[tuple[str, Sequence[str], list[list[str]]]]:
    """Title, columns and rows of every table: bars first, then figures, then the benchmark's own."""
    found: list[tuple[str, Sequence[str], list[list[str]]]] = []
    if document["bars"]:
        rows = [
            [each["name"], number(each["found"]), f"{each['side']} {number(each['wanted'])} {each['unit']}", _met(each)]
            for each in document["bars"]
        ]
        found.append(("Bars (DESIGN §11)", ("measure", "found", "bar", "met"), rows))
    if document["figures"]:
        rows = [
            [
                each["name"],
                number(each["median"]),
                f"{number(each['low'])} … {number(each['high'])}",
                each["unit"],
                str(len(each["values"])),
            ]
            for each in document["figures"]
        ]
        found.append(("Figures", ("figure", "median", "spread", "unit", "runs"), rows))
    for grid in document["grids"]:
        rows = [[number(cell) for cell in row] for row in grid["rows"]]
        found.append((grid["title"], grid["columns"], rows))
    return found


def for_people(document: Document) -> RenderableType:
    """What is printed without `--json`."""
    parts: list[RenderableType] = [Text(f"{document['bench']}: {_pairs(document['sizes'])}")]
    for title, columns, rows in tables(document):
        table = Table(title=title, title_justify="left", title_style="bold")
        for at, column in enumerate(columns):
            table.add_column(column, justify="left" if at == 0 else "right", overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        parts.append(table)
    parts += [Text(f"· {note}") for note in document["notes"]]
    parts.append(Text(_pairs(document["machine"]), style="dim"))
    return Group(*parts)


def show(document: Document) -> None:
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _PAGE
    console.print(for_people(document))


def render(results: Iterable[Document]) -> str:
    """The generated section of docs/benchmarks.md, from documents as `--json` prints them."""
    lines: list[str] = []
    for document in results:
        lines += [f"### {document['bench']}", "", f"Sizes: {_pairs(document['sizes'])}.", ""]
        for title, columns, rows in tables(document):
            lines += [f"**{title}**", "", _row(columns), _row("---" for _ in columns), *map(_row, rows), ""]
        lines += [f"- {note}" for note in document["notes"]]
        lines += ["", f"Machine: {_pairs(document['machine'])}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def _met(bar: Mapping[str, Any]) -> str:
    said = "yes" if bar["met"] else "not measured" if bar["found"] is None else "NO"
    return f"{said} ({bar['note']})" if bar["note"] else said


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {number(value)}" for name, value in values.items())

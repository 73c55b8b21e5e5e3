"""What `eunoe rebuild` shows people: one row for all partitions of which the same is to be said."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.operations.rebuild_report import GenerationRow, RebuildReport

_DIGITS = 12
"""Of a digest: enough to see that two are the same."""
Row = tuple[int, Sequence[str]]
"""A partition, and what is said of it."""


def gathered(rows: Iterable[Row]) -> Sequence[tuple[str, Sequence[str]]]:
    """The partitions of which the same is said, and that; in the order in which each was first said."""
    found: dict[tuple[str, ...], list[int]] = {}
    for partition, cells in rows:
        found.setdefault(tuple(cells), []).append(partition)
    return [(ranges(sorted(partitions)), cells) for cells, partitions in found.items()]


def ranges(numbers: Sequence[int]) -> str:
    """``0–3, 7`` for 0, 1, 2, 3 and 7; they rise."""
    runs: list[list[int]] = []
    for each in numbers:
        if runs and each == runs[-1][1] + 1:
            runs[-1][1] = each
        else:
            runs.append([each, each])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in runs)


def generations(rows: "Sequence[GenerationRow]") -> "RenderableType":
    """Those there are."""
    table = Table("partition", "generation", "role", "position", "items", "digest")
    told: list[Row] = []
    for each in rows:
        items = f"{each.items:,}" if each.digest else "?"
        numbers = str(each.position), items, each.digest[:_DIGITS]
        told.append((each.partition, (str(each.generation), each.role, *numbers)))
    for partitions, said in gathered(told):
        table.add_row(partitions, *said)
    return table


def report(done: "RebuildReport") -> "RenderableType":
    """What was done, and what can be done next."""
    checks = list(dict.fromkeys(name for each in done.proofs for name in each.checks))
    proved: tuple[str | Column, ...] = ("at", "items", Column("digest", no_wrap=True), *checks) if done.proofs else ()
    table = Table("partition", "generation", *proved, "now")
    for partitions, cells in gathered(_rows(done, checks)):
        table.add_row(partitions, *cells)
    return Group(table, Text(_next(done)))


def _rows(done: "RebuildReport", checks: Sequence[str]) -> Iterable[Row]:
    proofs = {each.partition: each for each in done.proofs}
    switched = {each.partition: each for each in done.switched}
    for partition in sorted(proofs.keys() | switched.keys()):
        proof, switch, cells = proofs.get(partition), switched.get(partition), list[str]()
        if proof is not None:
            content = proof.content
            cells = [str(content.position), f"{content.items:,}", content.digest[:_DIGITS]]
            cells += [f"{proof.checks.get(name, 0):,}" for name in checks]
        elif done.proofs:
            cells = ["" for _ in range(3 + len(checks))]
        said = "serves" if switch else "proved the same"
        number = switch.serving if switch else proof.generation if proof else 0
        yield partition, (str(number), *cells, said)
    for prefixes, said in ((done.frozen, "as of then"), (done.removed, "removed")):
        for prefix in prefixes:
            yield prefix.partition, (str(prefix.generation), said)


def _next(done: "RebuildReport") -> str:
    if done.switched:
        kept = ranges(sorted({each.kept for each in done.switched}))
        back = f"`eunoe rebuild {done.model} --rollback` goes back"
        return f"Readers of {done.model} are answered from it. Generation {kept} is kept: {back}; --retire removes it."
    if done.frozen:
        return f"Read it with `eunoe search … --generation {done.frozen[0].generation} --as-of T`."
    if done.removed:
        return f"{done.keys:,} keys were removed."
    return "Nothing was switched: the next `eunoe rebuild` goes on from here; --abandon gives it up."

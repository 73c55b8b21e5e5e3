"""`eunoe doctor`: orphans and gaps, and what to do about each."""

from typing import TYPE_CHECKING, Final

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, common, run

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.operations.doctor_finding import Checked

_ROUNDS: Final = 3
"""Of repairing: what one leaves loose, the next removes."""


@click.command()
@click.option("--repair", is_flag=True, help="Remove what recall holds without ground, then look again.")
@common
def doctor(call: Call, repair: bool) -> None:
    """Compare topics, keys, receipts and read models with the log, from its beginning. Exits 1 until all is clean.

    Changes nothing without --repair, and with it only what can be folded again at any time.
    """
    repaired, checks = run(_examined(call, repair))
    clean = not any(each.findings for each in checks)
    document = {"clean": clean, "repaired": repaired, "checks": [each.document for each in checks]}
    call.show(document, lambda: _table(checks, repaired if repair else None))
    if not clean:
        raise SystemExit(Exit.REFUSED)


async def _examined(call: Call, repair: bool) -> "tuple[int, tuple[Checked, ...]]":
    from eunoe.operations.doctor import visiting

    repaired = 0
    async with visiting(call.settings()) as visit:
        with call.aside.status("Reading the log and Redis …"):
            for _ in range(_ROUNDS if repair else 0):
                removed = await visit.repair()
                repaired += removed
                if not removed:
                    break
            return repaired, await visit.examine()


def _table(checks: "tuple[Checked, ...]", repaired: int | None) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table("check", "looked at", "", "what to do")
    for each in checks:
        table.add_row(each.name, f"{each.examined:,} {each.things}", *_word(not each.findings))
        for finding in each.findings:
            table.add_row(f"  {finding.where}: {finding.what}", "", "", finding.todo)
    said = [] if repaired is None else [f"repaired in recall: {repaired}"]
    return Group(table, *(Text(line) for line in said))


def _word(clean: bool) -> "tuple[RenderableType, str]":
    from rich.text import Text

    return (Text("ok", style="green") if clean else Text("FOUND", style="bold red")), ""

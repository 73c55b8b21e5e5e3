"""`eunoe ingest`: a file of commands, one JSON object a line."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, common, run
from eunoe.cli.showing import counts_table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.client.ingesting import Report

_SHOWN = 20


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--no-wait", is_flag=True, help="Return when Kafka has the commands, without their outcomes.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True, help="Seconds.")
@common
def ingest(call: Call, file: Path, no_wait: bool, timeout: float) -> None:
    """Publish one command per line of FILE, in order, and wait for the outcomes.

    Exits 1 if any line failed or was rejected. What is wrong is said by line number, never by content.
    """
    report = run(_ingest(call, file, not no_wait, timeout))
    for each in sorted((*report.failed, *report.refused), key=lambda problem: problem.line)[:_SHOWN]:
        click.echo(f"line {each.line}: {each.problem}", err=True)
    call.show(_document(report, no_wait), lambda: _table(report, no_wait))
    raise SystemExit(Exit.SUCCESS if report.clean else Exit.REFUSED)


async def _ingest(call: Call, file: Path, wait: bool, timeout: float) -> "Report":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from eunoe.client.ingesting import ingest as send_lines
    from eunoe.client.memory import Memory

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=call.aside, disable=not call.aside.is_terminal) as bar, file.open("rb") as lines:
        task = bar.add_task("commands", total=_count(file))
        async with Memory.connect(call.settings()) as memory:
            return await send_lines(
                memory, lines, wait=wait, timeout=timeout, progress=lambda steps: bar.advance(task, steps)
            )


def _count(file: Path) -> int | None:
    """How many lines there are; None for a pipe, which can be read only once."""
    if not file.is_file():
        return None
    with file.open("rb") as lines:
        return sum(1 for line in lines if line.strip())


def _document(report: "Report", no_wait: bool) -> dict[str, Any]:
    counted: dict[str, Any] = {"published": report.published}
    if not no_wait:
        counted |= {
            "accepted": report.accepted,
            "quarantined": report.quarantined,
            "duplicate": report.duplicate,
            "done": report.done,
        }
    return counted | {
        "rejected": dict(sorted(report.rejected.items())),
        "failed_lines": [each.line for each in report.failed],
        "problems": [
            {"line": each.line, "problem": each.problem}
            for each in sorted((*report.failed, *report.refused), key=lambda problem: problem.line)
        ],
    }


def _table(report: "Report", no_wait: bool) -> "RenderableType":
    rows = {"published": report.published}
    if not no_wait:
        rows |= {
            "accepted": report.accepted,
            "quarantined": report.quarantined,
            "duplicate": report.duplicate,
            "done (promotions, erasures, …)": report.done,
        }
    rows |= {f"rejected: {reason}": count for reason, count in sorted(report.rejected.items())}
    return counts_table("outcome", rows | {"failed lines": len(report.failed)})

"""`eunoe ingest`: a file of commands, one JSON object a line, or a start-up file ``memory.yaml``."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, Seconds, common, run
from eunoe.cli.showing import counts_table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.client.ingesting import Report

_SHOWN = 20


class BadSeedFile(click.ClickException):
    """The start-up file as a whole was refused; nothing of it was sent."""


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--no-wait", is_flag=True, help="Return when Kafka has the commands, without their outcomes.")
@click.option("--timeout", type=Seconds(), default=60.0, show_default=True, help="For each outcome.")
@click.option("--agent", help="For memory.yaml: which agent learned it.")
@click.option("--purpose", "purposes", multiple=True, help="For memory.yaml: what it may be used for; repeatable.")
@click.option("--ttl", help="For memory.yaml: how long its records last, such as P180D.")
@click.option("--subject", help="For memory.yaml: whom it is about; without it, the tenant itself.")
@click.option("--visibility", help="For memory.yaml: agent or shared.  [default: agent]")
@click.option("--sensitivity", help="For memory.yaml.  [default: personal]")
@common
def ingest(call: Call, file: Path, no_wait: bool, timeout: float, **scope: Any) -> None:
    """Publish one command per line of FILE, in order, and wait for the outcomes.

    A FILE.yaml (or .yml) is a start-up file instead: it is read whole, checked, and each of its records remembered.
    Exits 1 if any line failed or was rejected. What is wrong is said by line number, never by content.
    """
    seeds = _seeds(file, {name: value for name, value in scope.items() if value})
    report = run(_ingest(call, file, seeds, not no_wait, timeout))
    what = "line" if seeds is None else "record"
    for each in sorted((*report.failed, *report.refused), key=lambda problem: problem.line)[:_SHOWN]:
        click.echo(f"{what} {each.line}: {each.problem}", err=True)
    call.show(_document(report, no_wait), lambda: _table(report, no_wait))
    raise SystemExit(Exit.SUCCESS if report.clean else Exit.REFUSED)


def _seeds(file: Path, scope: dict[str, Any]) -> tuple[bytes, ...] | None:
    """The lines that a start-up file stands for; None for a file that holds lines itself."""
    from eunoe.client.seed_file import SeedScope, is_seed_file, seed_lines
    from eunoe.client.seed_keys import BadSeedKeys

    if not is_seed_file(file):
        if scope:
            raise click.UsageError(f"--{min(scope).removesuffix('s')} is for memory.yaml; a line says it itself")
        return None
    for option in ("agent", "purposes", "ttl"):
        if option not in scope:
            raise click.UsageError(f"a start-up file needs --{option.removesuffix('s')}")
    try:
        lines = seed_lines(file.read_bytes(), SeedScope(**scope))
    except BadSeedKeys as refused:
        raise BadSeedFile("\n".join(f"{file}:{line}: {said}" for line, said in refused.problems)) from None
    except (TypeError, ValueError) as refused:
        raise BadSeedFile(str(refused)) from None
    if not lines:
        click.echo("the file has no memory.seed_records", err=True)
    return lines


async def _ingest(call: Call, file: Path, seeds: tuple[bytes, ...] | None, wait: bool, timeout: float) -> "Report":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from eunoe.client.ingesting import ingest as send_lines
    from eunoe.client.memory import Memory
    from eunoe.producers.errors import NotSent

    report = None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=call.aside, disable=not call.aside.is_terminal) as bar, file.open("rb") as opened:
        lines: Iterable[bytes] = opened if seeds is None else seeds
        task = bar.add_task("commands", total=_count(file) if seeds is None else len(seeds))
        try:
            async with Memory.connect(call.settings()) as memory:
                report = await send_lines(
                    memory, lines, wait=wait, timeout=timeout, progress=lambda steps: bar.advance(task, steps)
                )
        except NotSent:  # of requests for keys, when closing: the report says which lines were not sent for it
            if report is None:
                raise
        return report


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
            "observed": report.observed,
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
            "observed (nothing stored)": report.observed,
            "done (promotions, erasures, …)": report.done,
        }
    rows |= {f"rejected: {reason}": count for reason, count in sorted(report.rejected.items())}
    return counts_table("outcome", rows | {"failed lines": len(report.failed)})

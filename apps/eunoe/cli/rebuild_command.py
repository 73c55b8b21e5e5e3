"""`eunoe rebuild`: a read model filled anew from the log beside the one that serves."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from eunoe.cli.options import Call, Seconds, common, run
from eunoe.cli.scope_options import Instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from eunoe.operations.rebuild_report import GenerationRow, RebuildReport
    from eunoe.operations.rebuilding import Rebuilding
    from eunoe.readmodels.rebuild.rebuilding import Progress

_ALONE: Final = ("status", "rollback", "retire", "abandon", "remove")
_MODELS: Final = ("keys", "subjects", "outcomes", "history", "recall", "review")


@click.command()
@click.argument("read_model", type=click.Choice(_MODELS), metavar="READMODEL")
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Records a second at most.  [default: no limit]")
@click.option(
    "--latency",
    type=click.FloatRange(0, min_open=True),
    default=20.0,
    show_default=True,
    help="Rest where a PING of Redis takes longer, in ms.",
)
@click.option("--until", type=Instant(), help="Build a generation as of then; it is not switched to.")
@click.option("--until-offset", type=click.IntRange(0), help="The same, as before this offset in every partition.")
@click.option("--no-switch", is_flag=True, help="Fill and compare only.")
@click.option("--accept-difference", is_flag=True, help="Switch though the two differ, or cannot be compared.")
@click.option("--patience", type=Seconds(), default=30.0, show_default=True, help="For the two to hold the same.")
@click.option("--rollback", is_flag=True, help="Go back to the generation before the last switch.")
@click.option("--retire", is_flag=True, help="Remove the generation before the last switch.")
@click.option("--abandon", is_flag=True, help="Remove the generation that is being built.")
@click.option("--remove", type=click.IntRange(1), metavar="N", help="Remove the generation N as of then.")
@click.option("--status", is_flag=True, help="Show the generations, with their digests, and do nothing.")
@common
def rebuild(call: Call, read_model: str, **given: Any) -> None:
    """Fill READMODEL anew from the log, prove that it holds the same, and switch readers to it.

    READMODEL is keys, subjects, outcomes, history, recall or review. Readers are answered all the while, more
    slowly; a call that was killed goes on where it was. The generation before stays projected, for
    --rollback, until --retire.
    """
    alone = [name for name in _ALONE if given[name]]
    if len(alone) > 1:
        raise click.UsageError(f"--{alone[0]} and --{alone[1]} are two things to do")
    if given["until"] is not None and given["until_offset"] is not None:
        raise click.UsageError("--until and --until-offset are two answers to one question")
    if alone == ["status"]:
        rows = run(_status(call, read_model))
        call.show({"generations": msgspec.to_builtins(rows)}, lambda: _rows(rows))
        return
    report = run(_done(call, read_model, alone[0] if alone else None, given))
    call.show(report.document, lambda: _said(report))


def _rows(rows: "Sequence[GenerationRow]") -> "RenderableType":
    from eunoe.cli.rebuild_tables import generations

    return generations(rows)


def _said(done: "RebuildReport") -> "RenderableType":
    from eunoe.cli.rebuild_tables import report

    return report(done)


async def _status(call: Call, model: str) -> "Sequence[GenerationRow]":
    from eunoe.operations.rebuilding import rebuilding

    async with rebuilding(call.settings(), model, lambda _: None) as at:
        return await at.status()


async def _done(call: Call, model: str, alone: str | None, given: dict[str, Any]) -> "RebuildReport":
    from eunoe.operations.rebuilding import rebuilding

    with _telling(call) as telling:
        async with rebuilding(call.settings(), model, telling) as at:
            match alone:
                case "rollback":
                    return await at.roll_back()
                case "retire":
                    return await at.remove("kept")
                case "abandon":
                    return await at.remove("building")
                case "remove":
                    return await at.remove_frozen(given["remove"])
            return await _rebuilt(at, given)


async def _rebuilt(at: "Rebuilding", given: dict[str, Any]) -> "RebuildReport":
    from eunoe.operations.rebuilding import Wishes

    return await at.rebuild(
        Wishes(
            rate=given["rate"],
            latency=given["latency"] / 1_000,
            until=given["until"],
            until_offset=given["until_offset"],
            accept=given["accept_difference"],
            switch=not given["no_switch"],
            patience=given["patience"],
        )
    )


@contextmanager
def _telling(call: Call) -> Iterator[Callable[["Progress"], None]]:
    """A bar for people, JSON lines for programs; both on stderr."""
    from rich import progress as bars

    if call.as_json:
        yield lambda each: click.echo(msgspec.json.encode(each).decode(), err=True)
        return
    said_column = bars.TextColumn("{task.fields[said]}")
    columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), said_column, bars.TimeRemainingColumn())
    with bars.Progress(*columns, console=call.aside, disable=not call.aside.is_terminal) as bar:
        task = bar.add_task("filling", total=None, said="")

        def tell(each: "Progress") -> None:
            rate = each.records / each.seconds if each.seconds else 0.0
            said = f"{each.done:,} of {each.total:,} offsets, {each.records:,} records, {rate:,.0f}/s"
            bar.update(task, total=each.total, completed=each.done, said=said, description=each.phase)

        yield tell

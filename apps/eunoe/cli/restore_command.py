"""`eunoe restore`: read models filled again after Redis lost them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
import msgspec

from eunoe.cli.options import Call, common, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from eunoe.operations.restoring import Restored
    from eunoe.readmodels.rebuild.rebuilding import Progress


@click.command()
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Records a second at most.  [default: no limit]")
@common
def restore(call: Call, rate: float | None) -> None:
    """Fill what Redis has lost again from the log: keys and subjects first, then the rest.

    Workers do that too; this shows how far it is, and returns when it is done. What is there is gone on with. Deciders
    fill their own ledger when they start, and decide nothing before.
    """
    done = run(_restored(call, rate))
    call.show({"restored": [each.document for each in done]}, lambda: _table(done))


async def _restored(call: Call, rate: float | None) -> "Sequence[Restored]":
    from eunoe.operations.restoring import restoring

    with _telling(call) as telling:
        async with restoring(call.settings(), telling, rate) as at:
            return await at.run()


@contextmanager
def _telling(call: Call) -> Iterator[Callable[[str, "Progress"], None]]:
    from rich import progress as bars

    if call.as_json:
        yield lambda model, each: click.echo(
            msgspec.json.encode({"model": model, **msgspec.structs.asdict(each)}).decode(), err=True
        )
        return
    columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn())
    with bars.Progress(*columns, console=call.aside, disable=not call.aside.is_terminal) as bar:
        tasks: dict[str, bars.TaskID] = {}

        def tell(model: str, each: "Progress") -> None:
            if model not in tasks:
                tasks[model] = bar.add_task(model, total=None)
            bar.update(tasks[model], total=each.total, completed=each.done)

        yield tell


def _table(done: "Sequence[Restored]") -> "RenderableType":
    from rich.table import Table

    table = Table("read model", "folded now", "items held")
    for each in done:
        table.add_row(each.model, f"{each.records:,}", f"{sum(one.items for one in each.contents):,}")
    return table

"""`eunoe restore`: read models filled again after Redis lost them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
import msgspec

from eunoe.cli.options import Call, Seconds, common, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from eunoe.operations.forgetting_again import ForgottenAgain
    from eunoe.operations.restoring import Restored
    from eunoe.readmodels.rebuild.rebuilding import Progress


@click.command()
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Records a second at most.  [default: no limit]")
@click.option(
    "--forget-again",
    is_flag=True,
    help="Kafka was restored from before somebody was forgotten: forget them again first. Needs the right to erase.",
)
@click.option("--empty-redis", is_flag=True, help="With it: what Redis has folded of the log before the restore goes.")
@click.option("--timeout", type=Seconds(), default=120.0, show_default=True, help="For forgetting again.")
@common
def restore(call: Call, rate: float | None, forget_again: bool, empty_redis: bool, timeout: float) -> None:
    """Fill what Redis has lost again from the log: keys and subjects first, then the rest.

    Workers do that too; this shows how far it is, and returns when it is done. What is there is gone on with. Deciders
    fill their own ledger when they start, and decide nothing before.

    No worker starts on a Kafka that was restored from before somebody was forgotten. --forget-again has everybody
    forgotten in it again whom the erasure ledger knows, while no other worker runs.
    """
    if empty_redis and not forget_again:
        raise click.UsageError("--empty-redis goes with --forget-again")
    again = run(_forgotten_again(call, empty_redis, timeout)) if forget_again else None
    done = run(_restored(call, rate))
    document = {"restored": [each.document for each in done]} | (again.document if again else {})
    call.show(document, lambda: _table(done, again))


async def _forgotten_again(call: Call, empty_redis: bool, timeout: float) -> "ForgottenAgain":
    from eunoe.operations.forgetting_again import forget_again

    with call.aside.status("Forgetting again …"):
        return await forget_again(call.settings(), empty_redis=empty_redis, timeout=timeout)


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


def _table(done: "Sequence[Restored]", again: "ForgottenAgain | None") -> "RenderableType":
    from rich.console import Group
    from rich.table import Table

    table = Table("read model", "folded now", "items held")
    for each in done:
        table.add_row(each.model, f"{each.records:,}", f"{sum(one.items for one in each.contents):,}")
    if again is None:
        return table
    said = f"Forgotten again: {again.forgotten} of {again.missing}; of {again.settled} nothing was left to forget."
    return Group(table, said)

"""`eunoe lag`: where every consumer group is, and what waits for it."""

import asyncio
from typing import TYPE_CHECKING, Any, Final

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, common, run

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.operations.lag import GroupLag, LagMeter

_STYLES: Final = {
    "ok": "green",
    "unknown": "dim",
    "warning": "yellow",
    "rewinding": "yellow",
    "stalled": "bold red",
    "stopped": "bold red",
}
_BAD: Final = frozenset({"stalled", "stopped"})


@click.command()
@click.option("--watch", is_flag=True, help="Look again every --interval seconds, until Ctrl-C.")
@click.option("--interval", type=click.FloatRange(0.2, 60), default=1.0, show_default=True, help="Seconds.")
@click.option("--group", "only", multiple=True, help="Only this group; repeatable.")
@click.option("--all", "every", is_flag=True, help="Partitions that are caught up, too.")
@click.option("--check", is_flag=True, help="Exit 1 if any partition is stalled or stopped.")
@common
def lag(call: Call, watch: bool, interval: float, only: tuple[str, ...], every: bool, check: bool) -> None:
    """Consumer lag of every group: records that wait, how old the first is, and whether it moves.

    Looks twice, --interval apart: from one look nobody can say whether a position moves. A read model is where its
    watermark in Redis says; the end is what readers of committed records can see.
    """
    groups = _chosen(only)
    if watch:
        run(_watch(call, groups, interval, every))
        return
    found = run(_twice(call, groups, interval))
    document = {"groups": [each.document for each in found], "total": _total(found)}
    call.show(document, lambda: _table(found, every))
    if check and any(each.status.value in _BAD for each in found):
        raise SystemExit(Exit.REFUSED)


def _chosen(only: tuple[str, ...]) -> Any:
    from eunoe.operations.lag import GROUPS

    known = {each.name: each for each in GROUPS}
    for name in only:
        if name not in known:
            raise click.BadParameter(f"{name!r} is none of {', '.join(known)}", param_hint="--group")
    return tuple(known[name] for name in only) or GROUPS


def _total(found: "tuple[GroupLag, ...]") -> int | None:
    totals = [each.total for each in found]
    return None if None in totals else sum(each or 0 for each in totals)


async def _twice(call: Call, groups: Any, interval: float) -> "tuple[GroupLag, ...]":
    from eunoe.operations.lag import measuring_lag

    async with measuring_lag(call.settings()) as meter:
        await meter.measure(groups)
        await asyncio.sleep(interval)
        return await meter.measure(groups)


async def _watch(call: Call, groups: Any, interval: float, every: bool) -> None:
    import json

    from rich.console import Console
    from rich.live import Live

    from eunoe.operations.lag import measuring_lag

    async with measuring_lag(call.settings()) as meter:
        if call.as_json:
            while True:
                found = await meter.measure(groups)
                document = {"groups": [each.document for each in found], "total": _total(found)}
                click.echo(json.dumps(document))
                await asyncio.sleep(interval)
        with Live(console=Console(highlight=False, emoji=False), auto_refresh=False) as live:
            while True:
                live.update(await _look(meter, groups, every), refresh=True)
                await asyncio.sleep(interval)


async def _look(meter: "LagMeter", groups: Any, every: bool) -> "RenderableType":
    return _table(await meter.measure(groups), every)


def _table(found: "tuple[GroupLag, ...]", every: bool) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for name, right in (
        ("group", False),
        ("part", True),
        ("lag", True),
        ("oldest", True),
        ("trend/s", True),
        ("gone in", True),
        ("status", False),
        ("why", False),
    ):
        table.add_column(name, justify="right" if right else "left")
    for group in found:
        status = group.status.value
        table.add_row(group.name, "all", _number(group.total), "", "", "", Text(status, style=_STYLES[status]), "")
        for each in group.partitions:
            verdict = each.verdict
            if not every and verdict.status.value == "ok" and not each.lag:
                continue
            table.add_row(
                "",
                str(each.partition),
                _number(each.lag),
                _seconds(each.age),
                "" if verdict.trend is None else f"{verdict.trend:+.0f}",
                _seconds(verdict.eta),
                Text(verdict.status.value, style=_STYLES[verdict.status.value]),
                verdict.reason,
            )
    return table


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    if value < 120:
        return f"{value:.1f} s"
    return f"{value / 60:.0f} min" if value < 7_200 else f"{value / 3_600:.0f} h"

"""`eunoe drill`: what must work on the day it is needed, rehearsed."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, Seconds, common, run

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.operations.drill_plan import Plan, Step

_WORDS: Final = {True: ("ok", "green"), False: ("FAILED", "bold red"), None: ("not done", "dim")}


@click.group()
def drill() -> None:
    """Rehearsals on a live installation, with people who never were."""


@drill.command()
@click.option("--tenant", default="eunoe-drill", show_default=True, help="A tenant that nothing else uses.")
@click.option("--agent", default="eunoe-drill", show_default=True, help="The agent that writes and reads.")
@click.option("--purpose", default="drill", show_default=True, help="A purpose that the policy lets it have.")
@click.option(
    "--officer", default="dev-officer", show_default=True, metavar="NAME", help="The principal who may erase."
)
@click.option("--key", help="The receipts' public key.  [default: that of the setting attest_key]")
@click.option(
    "--also",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="A further folder or file to search for the canaries: logs, exports; repeatable.",
)
@click.option(
    "--rebuild/--no-rebuild",
    default=True,
    show_default=True,
    help="Fill recall anew from the log in the tenant's partition, and look there too.",
)
@click.option("--timeout", type=Seconds(), default=120.0, show_default=True, help="How long to wait for each receipt.")
@common
def erasure(call: Call, **given: Any) -> None:
    """Write two made-up people down, forget one of them, and look for what is left of them everywhere.

    Reads every topic, Redis key and reachable file of the installation once. Exits 1 where a step is not as it must be.
    Both people are forgotten at the end; what an append-only log keeps of them is told.
    """
    from eunoe.operations.drill_plan import REMAINS, Plan
    from eunoe.schemas.ids import PrincipalName, TenantId

    tenant, officer = TenantId(given.pop("tenant")), PrincipalName(given.pop("officer"))
    steps = run(_steps(call, Plan(tenant=tenant, officer=officer, **given)))
    passed = all(each.ok for each in steps)
    document = {"passed": passed, "steps": [each.document for each in steps], "remains": list(REMAINS)}
    call.show(document, lambda: _shown(steps, REMAINS))
    if not passed:
        raise SystemExit(Exit.REFUSED)


async def _steps(call: Call, plan: "Plan") -> "list[Step]":
    from eunoe.operations.erasure_drill import drilling

    steps = []
    async with drilling(call.settings(), plan) as rehearsal:
        with call.aside.status("Writing two people down …") as status:
            async for step in rehearsal.run():
                steps.append(step)
                status.update(f"{len(steps)} steps done, the last: {step.name} …")
    return steps


def _shown(steps: "list[Step]", remains: tuple[str, ...]) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table("step", "", "seconds", "what was seen")
    for each in steps:
        word, style = _WORDS[each.ok]
        seconds = "" if each.ok is None else f"{each.seconds:.1f}"
        table.add_row(each.name, Text(word, style=style), seconds, each.found)
    return Group(table, "What stays, for the log only grows:", *(f"  {each}" for each in remains))

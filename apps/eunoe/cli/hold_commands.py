"""`eunoe hold set|lift|list`: legal holds. Nothing of the person is read or destroyed while one stands."""

from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.options import Call, common, run, tenant_option, timeout_option
from eunoe.cli.performing import perform
from eunoe.schemas.instants import instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from eunoe.schemas.events import SubjectRef
    from eunoe.schemas.ids import Millis


@click.group()
def hold() -> None:
    """Legal holds: reads of a person end, and nothing of theirs is destroyed or expires, until the hold is lifted."""


@hold.command("set")
@tenant_option
@click.option("--subject", required=True, help="On whom.")
@click.option("--review-at", required=True, help="When somebody has to look at it: RFC 3339 with its offset.")
@click.option("--idempotency-key", help="Asked twice with one key, it is done once.  [default: a fresh one]")
@timeout_option
@common
def set_hold(call: Call, timeout: float, **given: Any) -> None:
    """Set a hold, or move its review date. Only before the person is forgotten. Needs the right `hold`."""
    perform(call, {"op": "hold"} | {name: value for name, value in given.items() if value is not None}, timeout)


@hold.command("lift")
@tenant_option
@click.option("--subject", required=True, help="On whom.")
@click.option("--idempotency-key", help="Asked twice with one key, it is done once.  [default: a fresh one]")
@timeout_option
@common
def lift_hold(call: Call, timeout: float, **given: Any) -> None:
    """Lift a hold: an erasure that waited for it runs now. Where the policy says so a second person must agree."""
    perform(call, {"op": "lift_hold"} | {name: value for name, value in given.items() if value is not None}, timeout)


@hold.command("list")
@tenant_option
@common
def list_holds(call: Call, tenant: str) -> None:
    """Who is under a hold, by pseudonym, the earliest review date first. Needs the right `hold` or `erase`."""
    found = run(_holds(call, tenant))
    documents = [
        {"subject": whom.subject, "generation": whom.generation, "review_at": instant(at)} for whom, at in found
    ]
    call.show({"holds": documents}, lambda: _table(found) if found else "No holds.")


async def _holds(call: Call, tenant: str) -> "Sequence[tuple[SubjectRef, Millis]]":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        return await memory.holds(tenant)


def _table(found: "Sequence[tuple[SubjectRef, Millis]]") -> "Table":
    from rich.table import Table

    table = Table("subject", "generation", "review at")
    for whom, at in found:
        table.add_row(whom.subject, str(whom.generation), instant(at) or "")
    return table

"""`eunoe forget` and `readmit`. Nothing here claims erasure: the words are those of what is done."""

from typing import TYPE_CHECKING, Any, Final

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, Seconds, common, run, tenant_option, timeout_option
from eunoe.cli.performing import answered, outcome_or_end, perform
from eunoe.cli.showing import outcome_document, outcome_text
from eunoe.schemas.instants import instant
from eunoe.schemas.receipts import WORDING

if TYPE_CHECKING:
    from eunoe.schemas.outcomes import Outcome
    from eunoe.schemas.receipts import ReceiptRecord

LOGICAL: Final = "logical"
REQUESTED: Final = "ForgettingRequested"
PROPOSED: Final = "TenantActionProposed"
FORGOTTEN: Final = "TenantForgotten"
ALREADY: Final = "tenant_forgotten"
_STAGES: Final = (LOGICAL, "compacted", "scanned")
REMAINS: Final = (
    "no read shows it any more; its sealed text stays in the log, under a key that it shares with other memories of "
    "the same month, until that month is over or the person is forgotten"
)
OWN_KEY: Final = "no read shows it any more; it has a key of its own, which is being destroyed: rendered unreadable"


@click.command()
@tenant_option
@click.option("--memory", "memory_id", help="One memory.")
@click.option(
    "--subject",
    help="All about this person: no read shows it, and nothing new is accepted; with --memory, whose it must be.",
)
@click.option("--all", "everything", is_flag=True, help="The whole tenant: everybody in it, and its own keys.")
@click.option(
    "--until",
    type=click.Choice(_STAGES),
    help="Wait for the receipt of this stage.  [default: scanned for a person or a tenant, logical for one memory]",
)
@click.option("--idempotency-key", help="Asked twice with one key, it is done once.  [default: a fresh one]")
@click.option("--timeout", type=Seconds(), default=60.0, show_default=True, help="How long to wait.")
@common
def forget(call: Call, everything: bool, until: str | None, timeout: float, **given: Any) -> None:
    """Render a memory, all that is held on a person, or a whole tenant unreadable. Needs the right to erase.

    A program that acts for the person (the right self_service) forgets one memory that is left to them, and names both.
    Who may only ask (or while a legal hold stands) asks: nobody reads the person's memories from then on, and nothing
    is destroyed yet. A whole tenant takes two people of different owners, where the policy asks for two: the first says
    so, and the second says the same. For a person or a tenant it waits until that is proved, and prints the proof.
    Exits 1 where the stage is not reached or not proved in time; the erasure goes on, and `eunoe receipt show` tells
    later.
    """
    named = [name for name in ("memory_id", "subject") if given[name] is not None]
    if bool(named) == everything:
        raise click.UsageError("name --memory, --subject (with --memory: whose it must be), or --all alone")
    if everything:
        if given["idempotency_key"] is not None:
            raise click.UsageError("--idempotency-key: a tenant that is forgotten is so once; a repetition says so")
        return forget_tenant(call, given["tenant"], until, timeout)
    if given["memory_id"] is not None and until not in (None, LOGICAL):
        raise click.UsageError(f"--until {until}: receipts are about a person; of one memory only {LOGICAL} is known")
    fields = {"op": "forget"} | {name: value for name, value in given.items() if value is not None}
    outcome = answered(call, fields, timeout)
    if outcome.refused:
        call.show({"stage": None, "outcome": outcome_document(outcome)}, lambda: outcome_text(outcome))
        raise SystemExit(Exit.REFUSED)
    if outcome.kind == REQUESTED:
        call.show({"stage": None, "outcome": outcome_document(outcome)}, lambda: _requested(outcome))
        raise SystemExit(Exit.SUCCESS if until is None else Exit.REFUSED)
    if given["memory_id"] is not None:
        remains = OWN_KEY if outcome.own_key else REMAINS
        document = {"stage": LOGICAL, "remains": remains, "outcome": outcome_document(outcome)}
        call.show(document, lambda: f"{outcome_text(outcome)}\n{LOGICAL}: {remains}")
        return
    _show_receipts(call, outcome, given["tenant"], until or _STAGES[-1], timeout)


def forget_tenant(call: Call, tenant: str, until: str | None, timeout: float) -> None:
    """The whole tenant. Ends with 1 where it is refused, or ``until`` was asked for and is not reached.

    One that is forgotten already ends as the first time, whoever asked for that.
    """
    outcome, incarnation = outcome_or_end(call, tenant, _forgetting(call, tenant, timeout))
    if outcome.kind == FORGOTTEN or outcome.reason == ALREADY:
        return _show_receipts(call, outcome, tenant, until or _STAGES[-1], timeout, incarnation)
    said = outcome_text(outcome)
    if outcome.kind == PROPOSED:
        said += f"\n{_proposed(f'eunoe forget --tenant {tenant} --all')}"
    elif not outcome.refused:
        said += (
            "\nrequested: somebody in it is under a legal hold. Nobody reads the tenant or adds to it any more; "
            "nothing is destroyed yet. It will be when the last hold is lifted."
        )
    call.show({"stage": None, "outcome": outcome_document(outcome)}, lambda: said)
    if outcome.refused or until is not None:
        raise SystemExit(Exit.REFUSED)


def _proposed(command: str) -> str:
    return (
        "proposed: nothing has changed yet. Somebody of another owner, who may do this too, says the same: "
        f"{command} --as NAME"
    )


async def _forgetting(call: Call, tenant: str, timeout: float) -> "tuple[Outcome, int]":
    """With the incarnation that was meant."""
    from eunoe.client.memory import Memory
    from eunoe.schemas.ids import TenantId

    async with Memory.connect(call.settings()) as memory:
        standing = await memory.reading.tenants.standing(TenantId(tenant))
        return await memory.forget_tenant(tenant, timeout=timeout), standing.incarnation


async def _readmitting(call: Call, tenant: str, timeout: float) -> "Outcome":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        return await memory.readmit_tenant(tenant, timeout=timeout)


def _requested(outcome: "Outcome") -> str:
    when = "once somebody who may erase forgets them, or a hold is lifted"
    if outcome.due_at is not None:
        when = f"at {instant(outcome.due_at)}, unless that is withdrawn or a legal hold stands"
    return (
        f"{outcome_text(outcome)}\nrequested: nobody reads them any more; nothing is destroyed yet. It will be {when}."
    )


def _show_receipts(
    call: Call, outcome: "Outcome", tenant: str, until: str, timeout: float, incarnation: int | None = None
) -> None:
    """``incarnation``: of a whole tenant, which is forgotten once, so that its receipts are known by it."""
    from rich.console import Group

    from eunoe.cli.receipt_commands import receipts_table
    from eunoe.crypto.receipts import receipt_document

    with call.aside.status(f"Waiting until it is proved: {until} …"):
        records = run(_receipts(call, outcome, tenant, until, timeout, incarnation))
    documents = [receipt_document(each) for each in records]
    proved = {each["statement"]["stage"]: each["statement"]["claim"] == WORDING for each in documents}
    reached = next((stage for stage in reversed(_STAGES) if stage in proved), None)
    document = {"stage": reached, "outcome": outcome_document(outcome), "receipts": documents}
    became = f"{tenant} is forgotten already; this is what became of it" if outcome.refused else outcome_text(outcome)
    said = f"{until}: {WORDING}" if proved.get(until) else f"{until}: not proved within {timeout:g} s"
    known = documents[0]["statement"]["request"] if documents else outcome.first_command_id or outcome.command_id
    more = f"eunoe receipt show {known} --tenant {tenant}"
    call.show(document, lambda: Group(became, receipts_table(documents), f"{said}  ({more})"))
    if not proved.get(until):
        raise SystemExit(Exit.REFUSED)


async def _receipts(
    call: Call, outcome: "Outcome", tenant: str, until: str, timeout: float, incarnation: int | None
) -> "list[ReceiptRecord]":
    from eunoe.client.receipts import receipts_until, tenant_receipts_until
    from eunoe.runtime.installation import read_installation
    from eunoe.schemas.ids import TenantId
    from eunoe.schemas.receipts import Stage

    settings = call.settings()
    place = (settings, await read_installation(settings.brokers, settings.topics), TenantId(tenant))
    if incarnation is not None:
        return await tenant_receipts_until(*place, incarnation, Stage(until), timeout)
    requests = [each for each in (outcome.command_id, outcome.first_command_id) if each is not None]
    return await receipts_until(*place, requests, Stage(until), timeout)


@click.command()
@tenant_option
@click.option("--subject", help="Who was forgotten.")
@click.option("--all", "everything", is_flag=True, help="The whole tenant: its name stands for a new, empty one.")
@click.option("--idempotency-key", help="Asked twice with one key, it is done once.  [default: a fresh one]")
@timeout_option
@common
def readmit(call: Call, everything: bool, timeout: float, **given: Any) -> None:
    """Allow new memories about a forgotten person, or in a forgotten tenant. Nothing old comes back.

    Needs the right to readmit, and two people of different owners where the policy asks for two.
    """
    if everything == (given["subject"] is not None):
        raise click.UsageError("name --subject, or --all for the whole tenant")
    if everything:
        if given["idempotency_key"] is not None:
            raise click.UsageError("--idempotency-key: a tenant is readmitted once; a repetition says so")
        tenant = given["tenant"]
        outcome = outcome_or_end(call, tenant, _readmitting(call, tenant, timeout))
        more = f"\n{_proposed(f'eunoe readmit --tenant {tenant} --all')}" if outcome.kind == PROPOSED else ""
        call.show(outcome_document(outcome), lambda: outcome_text(outcome) + more)
        if outcome.refused:
            raise SystemExit(Exit.REFUSED)
        return
    perform(call, {"op": "readmit"} | {name: value for name, value in given.items() if value is not None}, timeout)


@click.command()
@tenant_option
@click.option("--subject", required=True, help="Who was to be forgotten.")
@click.option("--idempotency-key", help="Asked twice with one key, it is done once.  [default: a fresh one]")
@timeout_option
@common
def withdraw(call: Call, timeout: float, **given: Any) -> None:
    """Take back a request to forget a person that was not carried out yet. For whoever asked, or may erase."""
    perform(call, {"op": "withdraw"} | {name: value for name, value in given.items() if value is not None}, timeout)

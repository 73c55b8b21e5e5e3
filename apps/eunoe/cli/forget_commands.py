"""`eunoe forget` and `readmit`. Nothing here claims erasure: the words are those of what is done."""

from typing import Any, Final

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, common, tenant_option, timeout_option
from eunoe.cli.performing import answered, perform
from eunoe.cli.showing import outcome_document, outcome_text

LOGICAL: Final = "logical"
_STAGES: Final = (LOGICAL, "compacted", "scanned", "backups-unreadable")
REMAINS: Final = (
    "rendered unreadable in reads; the sealed text stays in the log until its key is destroyed, "
    "which comes in a later version"
)


@click.command()
@tenant_option
@click.option("--memory", "memory_id", help="One memory.")
@click.option("--subject", help="Everything about this person: no read shows it, and nothing new is accepted.")
@click.option("--all", "everything", is_flag=True, help="The whole tenant.")
@click.option("--until", type=click.Choice(_STAGES), default=LOGICAL, show_default=True, help="Wait for this stage.")
@click.option("--idempotency-key", help="Asked twice with one key, it is done once.  [default: a fresh one]")
@timeout_option
@common
def forget(call: Call, everything: bool, until: str, timeout: float, **given: Any) -> None:
    """Render a memory, or all that is held on a person, unreadable in reads. Needs the right to erase."""
    named = [name for name in ("memory_id", "subject") if given[name] is not None]
    if len(named) + everything != 1:
        raise click.UsageError("name exactly one of --memory, --subject and --all")
    if everything:
        raise click.UsageError("--all: forgetting a whole tenant comes in a later version; nothing was done")
    if until != LOGICAL:
        raise click.UsageError(
            f"--until {until}: destroying keys, and with it this stage, comes in a later version; nothing was done. "
            f"--until {LOGICAL} renders it unreadable in reads"
        )
    fields = {"op": "forget"} | {name: value for name, value in given.items() if value is not None}
    outcome = answered(call, fields, timeout)
    document = {"stage": None if outcome.refused else LOGICAL, "remains": REMAINS, "outcome": outcome_document(outcome)}
    if outcome.refused:
        del document["remains"]
    call.show(document, lambda: outcome_text(outcome) + ("" if outcome.refused else f"\n{LOGICAL}: {REMAINS}"))
    if outcome.refused:
        raise SystemExit(Exit.REFUSED)


@click.command()
@tenant_option
@click.option("--subject", required=True, help="Who was forgotten.")
@click.option("--idempotency-key", help="Asked twice with one key, it is done once.  [default: a fresh one]")
@timeout_option
@common
def readmit(call: Call, timeout: float, **given: Any) -> None:
    """Allow new memories about a forgotten person. Nothing old comes back. Needs the right to readmit."""
    perform(call, {"op": "readmit"} | {name: value for name, value in given.items() if value is not None}, timeout)

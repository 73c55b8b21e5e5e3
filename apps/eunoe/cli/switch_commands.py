"""`eunoe switch`: turn reads and writes off and on, and show who did."""

from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.options import Call, common, run
from eunoe.cli.terminal import visible
from eunoe.schemas.instants import instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from eunoe.client.switching import SwitchInForce, SwitchSubject


@click.group()
def switch() -> None:
    """Reads and writes of memory, off and on apart; every process follows within two seconds."""


@switch.command()
@common
def show(call: Call) -> None:
    """The switches in force: what, who, why, when. Without any, everything is on."""
    from eunoe.client.switching import read_switches

    found = run(read_switches(call.settings()))
    call.show({"switches": [_document(each) for each in found]}, lambda: _table(found))


@switch.command("set")
@click.option("--tenant", help="Of this tenant.")
@click.option("--all-tenants", is_flag=True, help="Of every tenant.")
@click.option("--purpose", help="Of this purpose alone.")
@click.option("--reads", type=click.Choice(("on", "off")), help="[default: as it is]")
@click.option(
    "--writes",
    type=click.Choice(("on", "off", "observe")),
    help="observe: candidates are judged and recorded, and nothing is stored.  [default: as it is]",
)
@click.option("--reason", required=True, help="Why, for the log.")
@common
def set_(call: Call, reads: str | None, writes: str | None, reason: str, **given: Any) -> None:
    """Turn reads or writes off or on. Needs the right to operate. Returns once it is in force."""
    from eunoe.client.switching import set_switch, tenant_known
    from eunoe.schemas.values import Writing

    if reads is None and writes is None:
        raise click.UsageError("say what to change: --reads, --writes or both")
    subject = _subject(**given)
    found = run(
        set_switch(
            call.settings(),
            subject,
            reads=None if reads is None else reads == "on",
            writes=None if writes is None else Writing(writes),
            reason=reason,
        )
    )
    document = _document(found)
    if subject.tenant is not None:
        document["tenant_known"] = run(tenant_known(call.settings(), subject.tenant))
        if document["tenant_known"] is False:
            call.aside.print(f"Nothing was ever written for tenant {subject.tenant}: is that its name?", markup=False)
    call.show(document, lambda: _text(found))


def _subject(tenant: str | None, all_tenants: bool, purpose: str | None) -> "SwitchSubject":
    from eunoe.client.switching import SwitchSubject
    from eunoe.schemas.ids import TenantId, is_name

    if (tenant is None) is not all_tenants:
        raise click.UsageError("name exactly one of --tenant and --all-tenants")
    for option, value in (("--tenant", tenant), ("--purpose", purpose)):
        if value is not None and not is_name(value):
            raise click.UsageError(f"{option} is no name: 1 to 64 of A-Z a-z 0-9 . _ -")
    return SwitchSubject(tenant=None if tenant is None else TenantId(tenant), purpose=purpose)


def _document(found: "SwitchInForce") -> dict[str, Any]:
    return {
        "tenant": found.subject.tenant,
        "purpose": found.subject.purpose,
        "reads": _on(found.switch.reads),
        "writes": found.writes.value,
        "by": found.by,
        "signer": found.signer,
        "reason": found.reason,
        "made_at": instant(found.made_at),
        "control_offset": found.offset,
    }


def _text(found: "SwitchInForce") -> str:
    return (
        f"{_of(found)}: reads {_on(found.switch.reads)}, writes {found.writes.value}, "
        f"in force from control offset {found.offset}."
    )


def _table(found: "Sequence[SwitchInForce]") -> "RenderableType | str":
    if not found:
        return "No switch was ever set: reads and writes are on."
    from rich.table import Table
    from rich.text import Text

    table = Table("of", "reads", "writes", "by", "why", "when", "offset")
    for each in found:
        by = f"{each.by or 'unknown'} ({each.signer})"
        why = Text(visible(each.reason or ""))
        when = instant(each.made_at)
        table.add_row(_of(each), _on(each.switch.reads), each.writes.value, by, why, when, str(each.offset))
    return table


def _of(found: "SwitchInForce") -> str:
    tenant = "every tenant" if found.subject.tenant is None else f"tenant {found.subject.tenant}"
    return tenant if found.subject.purpose is None else f"{tenant}, purpose {found.subject.purpose}"


def _on(value: bool) -> str:
    return "on" if value else "off"

"""`eunoe receipt`: what was proved about an erasure, and checking it anywhere."""

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, common, run, tenant_option

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.schemas.receipts import ReceiptRecord


@click.group()
def receipt() -> None:
    """Erasure receipts: list, show, verify."""


@receipt.command("list")
@tenant_option
@click.option("--request", help="Only those of this request: the id of the command that forgot somebody.")
@common
def list_receipts(call: Call, tenant: str, request: str | None) -> None:
    """The receipts of a tenant, in the order in which they were signed."""
    documents = _documents(run(_receipts(call, tenant, request)))
    call.show({"receipts": documents}, lambda: receipts_table(documents))


@receipt.command()
@tenant_option
@click.argument("request")
@common
def show(call: Call, tenant: str, request: str) -> None:
    """The receipts of REQUEST as they are handed over: JSON that `verify` takes. Exits 1 where there are none."""
    documents = _documents(run(_receipts(call, tenant, request)))
    click.echo(json.dumps(documents, ensure_ascii=False, indent=None if call.as_json else 2))
    raise SystemExit(Exit.SUCCESS if documents else Exit.REFUSED)


@receipt.command()
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option("--key", required=True, help="The public key in base64, as you were given it by another way.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def verify(file: Any, key: str, as_json: bool) -> None:
    """Check the receipts in FILE (- reads stdin) against a public key. Needs no broker, no Redis and no settings.

    Exits 1 where one of them is not what was signed.
    """
    from eunoe.crypto.receipts import BadReceipt, verified_statement

    public = public_key(key)
    try:
        documents = json.load(file)
    except ValueError:
        raise click.UsageError("FILE is no JSON") from None
    documents = documents if isinstance(documents, list) else [documents]
    results: list[dict[str, Any]] = []
    for number, document in enumerate(documents, start=1):
        try:
            statement = verified_statement(document, public)
        except BadReceipt as bad:
            results.append({"receipt": number, "valid": False, "problem": str(bad)})
        else:
            named = {name: statement.get(name) for name in ("stage", "claim", "request")}
            results.append({"receipt": number, "valid": True, **named})
    if as_json:
        click.echo(json.dumps({"receipts": results}))
    else:
        for each in results:
            said = f"{each['stage']}: {each['claim']} (request {each['request']})" if each["valid"] else each["problem"]
            click.echo(f"receipt {each['receipt']}: {'valid' if each['valid'] else 'NOT VALID'}  {said}")
    raise SystemExit(Exit.SUCCESS if results and all(each["valid"] for each in results) else Exit.REFUSED)


@receipt.command()
@common
def key(call: Call) -> None:
    """The public key that this installation's receipts are signed for. Give it away by another way than receipts."""
    from eunoe.runtime.principals import control_signer
    from eunoe.runtime.settings import SettingProblem, SettingsError

    path = call.settings().attest_key
    if path is None:
        raise SettingsError((SettingProblem("EUNOE_ATTEST_KEY", "must name the file of the key that signs receipts"),))
    signer = control_signer(path)
    public = base64.b64encode(signer.verifier().public).decode()
    call.show({"signer": signer.secret_id, "key": public}, lambda: public)


def public_key(key: str) -> bytes:
    """The 32 bytes of ``--key``. Raises `click.BadParameter`."""
    try:
        public = base64.b64decode(key, validate=True)
        if len(public) != 32:
            raise ValueError
    except (binascii.Error, ValueError):
        raise click.BadParameter("must be an Ed25519 public key: 32 bytes in base64", param_hint="--key") from None
    return public


async def _receipts(call: Call, tenant: str, request: str | None) -> "list[ReceiptRecord]":
    from eunoe.client.receipts import receipts_of
    from eunoe.runtime.installation import read_installation
    from eunoe.schemas.ids import CommandId, TenantId

    settings = call.settings()
    installation = await read_installation(settings.brokers, settings.topics)
    wanted = None if request is None else CommandId(request)
    return await receipts_of(settings, installation, TenantId(tenant), wanted)


def _documents(records: "list[ReceiptRecord]") -> list[dict[str, Any]]:
    from eunoe.crypto.receipts import receipt_document

    return [receipt_document(each) for each in records]


def receipts_table(documents: list[dict[str, Any]]) -> "RenderableType":
    """One line a receipt."""
    from rich.table import Table

    table = Table("no.", "stage", "claim", "checks", "request")
    for each in documents:
        statement = each["statement"]
        checks = statement["checks"]
        passed = sum(bool(check["passed"]) for check in checks)
        table.add_row(
            str(each["sequence"]),
            statement["stage"],
            statement["claim"],
            f"{passed} of {len(checks)}",
            statement["request"],
        )
    return table

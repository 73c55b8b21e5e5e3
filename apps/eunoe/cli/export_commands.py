"""`eunoe export`: all that is held on a person; checking it and opening it where there is nothing but the file."""

import base64
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, common, run
from eunoe.cli.receipt_commands import public_key
from eunoe.cli.terminal import json_text
from eunoe.client.recipients import decrypted, encrypted

if TYPE_CHECKING:
    from eunoe.client.importing import ImportReport

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group(invoke_without_command=True)
@click.option("--tenant", help="Whose memory.")
@click.option("--subject", help="All that is held on this person.  [default: everybody's, for `eunoe import`]")
@click.option(
    "--identity-checked",
    metavar="HOW",
    help="How and by whom it was checked who asks. It stays in the log in the clear: never name the person.",
)
@click.option("--redact", multiple=True, metavar="NAME", help="Another person's name, blanked in texts about several.")
@click.option("--recipient", type=_FILE, metavar="KEYFILE", help="Encrypt it to the age public key in this file.")
@click.option("--out", type=_FILE, metavar="FILE", help="Where to; never over a file that is there.  [default: stdout]")
@common
def export(call: Call, out: Path | None, recipient: Path | None, **given: Any) -> None:
    """All that is held on a person: texts, provenance, states, times, history, and who was given them.

    Signed, so that `eunoe export verify` tells anywhere that nothing was changed. Texts about several people are left
    out unless the others are named by --redact. Without --subject all that is held in the tenant, in the form that
    `eunoe import` takes. Needs the right to export. Exits 1 where the person was forgotten.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    for option in ("tenant", "identity_checked"):
        if not given[option]:
            raise click.UsageError(f"--{option.replace('_', '-')} is missing")
    if given["redact"] and given["subject"] is None:
        raise click.UsageError(
            "--redact is for --subject: a whole tenant leaves as it is, or it could not be brought in"
        )
    if out is not None and out.exists():
        raise click.UsageError(f"{out} is there already")
    if recipient is not None:
        encrypted(b"", recipient)  # before anything is recorded: a key that is none ends it here
    content, shown = run(_exported(call, given))
    _write(out, content if recipient is None else encrypted(content, recipient))
    if out is not None:
        shown = {"file": str(out), "encrypted": recipient is not None, "counts": shown}
        call.show(shown, lambda: f"{out}: {', '.join(f'{name} {count}' for name, count in shown['counts'].items())}")


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--tenant", help="It must be this tenant's.")
@click.option("--identity", type=_FILE, metavar="KEYFILE", help="The age private key that opens an encrypted file.")
@common
def import_(call: Call, file: Path, tenant: str | None, identity: Path | None) -> None:
    """Bring in what `eunoe export --tenant` made. Needs the right to import.

    What is signed by one whom the policy names in import_keys is restored as it was, with ids, versions, states and
    times. Anything else waits for a person. What was forgotten here stays so. Called again it changes nothing more.
    Exits 1 unless all of it is here as it was.
    """
    content = file.read_bytes()
    report = run(_imported(call, content if identity is None else decrypted(content, identity), tenant))
    call.show(report.document(), lambda: _told(report))
    if not report.complete:
        raise SystemExit(Exit.REFUSED)


def _told(report: "ImportReport") -> str:
    document = report.document()
    counts = ("restored", "already_here", "standing", "quarantined", "left", "unreadable")
    said = ", ".join(f"{name.replace('_', ' ')} {document[name]}" for name in counts)
    refused = ", ".join(f"{reason} {count}" for reason, count in document["refused"].items())
    said += f"; refused: {refused or 'none'}"
    if report.problem is not None:
        said += f"\nNobody vouches for it: {report.problem}. What was in use waits for a person (`eunoe review list`)."
    for memory_id in document["in_use_again"]:
        said += f"\n{memory_id} is in use, and what replaced it was refused: look at it, or retract it"
    return said


@export.command()
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option("--key", required=True, help="The public key in base64, as you were given it by another way.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def verify(file: Any, key: str, as_json: bool) -> None:
    """Check an export (- reads stdin) against a public key. Needs no broker, no Redis and no settings.

    Exits 1 where it is not what was signed.
    """
    from eunoe.client.export_file import INCOMPLETE, is_whole
    from eunoe.crypto.exports import ACCESS_REPORT, TENANT_EXPORT, BadExport, verified_export

    public = public_key(key)
    try:
        head, *lines = _documents(file.read())
        # A tenant's export may have nothing in it but its head.
        wanted = TENANT_EXPORT if lines or _is_of(head, TENANT_EXPORT) else ACCESS_REPORT
        statement = verified_export(head, public, wanted)
        if wanted == TENANT_EXPORT and not is_whole(statement, lines):
            raise BadExport(INCOMPLETE)
    except BadExport as bad:
        document: dict[str, Any] = {"valid": False, "problem": str(bad)}
        said = f"NOT VALID  {bad}"
    except ValueError:
        raise click.UsageError(
            "FILE is no JSON; an encrypted export is opened with `eunoe export open` first"
        ) from None
    else:
        document = {"valid": True, **{name: statement[name] for name in ("tenant", "made_at", "made_by")}}
        said = f"valid  made {statement['made_at']} by {statement['made_by']} for tenant {statement['tenant']}"
    click.echo(json.dumps(document) if as_json else said)
    raise SystemExit(Exit.SUCCESS if document["valid"] else Exit.REFUSED)


@export.command("open")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--identity", required=True, type=_FILE, metavar="KEYFILE", help="The age private key it is for.")
@click.option("--out", type=_FILE, metavar="FILE", help="Where to; never over a file that is there.  [default: stdout]")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def open_(file: Path, identity: Path, out: Path | None, as_json: bool) -> None:
    """Decrypt an export, as `age -d -i KEYFILE FILE` does."""
    content = decrypted(file.read_bytes(), identity)
    _write(out, content)
    if out is not None:
        click.echo(json.dumps({"file": str(out), "bytes": len(content)}) if as_json else str(out))


@export.command()
@common
def key(call: Call) -> None:
    """The public key that this installation's exports are signed for. Give it away by another way than exports."""
    from eunoe.runtime.principals import control_signer
    from eunoe.runtime.settings import SettingProblem, SettingsError

    path = call.settings().export_key
    if path is None:
        raise SettingsError((SettingProblem("EUNOE_EXPORT_KEY", "must name the file of the key that signs exports"),))
    signer = control_signer(path)
    public = base64.b64encode(signer.verifier().public).decode()
    call.show({"signer": signer.secret_id, "key": public}, lambda: public)


async def _exported(call: Call, given: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """The file's content, and what to say of it."""
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        if given["subject"] is not None:
            document = await memory.export_subject(**given)
            return json_text(document, indent=2).encode() + b"\n", document["statement"]["counts"]
        found = await memory.export_tenant(tenant=given["tenant"], identity_checked=given["identity_checked"])
    statement = found.head["statement"]
    left = {f"left out ({why})": count for why, count in statement["left_out"].items()}
    return found.content, {"records": statement["records"], "facts": statement["facts"], **left}


async def _imported(call: Call, content: bytes, tenant: str | None) -> "ImportReport":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        return await memory.import_file(content, tenant=tenant)


def _is_of(document: Any, format_: str) -> bool:
    return isinstance(document, dict) and document.get("format") == format_


def _documents(text: str) -> list[Any]:
    """One document, or a head and lines. ``ValueError`` where it is neither."""
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line.strip()] or [json.loads(text)]


def _write(out: Path | None, content: bytes) -> None:
    """To the file, readable by its owner alone, or to stdout as it is."""
    if out is None:
        click.get_binary_stream("stdout").write(content)
        return
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise click.UsageError(f"{out} cannot be written: {error.strerror}") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)

"""`eunoe export`: all that is held on a person; checking it and opening it where there is nothing but the file."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, common, run
from eunoe.cli.receipt_commands import public_key
from eunoe.cli.terminal import json_text
from eunoe.client.recipients import decrypted, encrypted

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group(invoke_without_command=True)
@click.option("--tenant", help="Whose memory.")
@click.option("--subject", help="All that is held on this person.")
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
    out unless the others are named by --redact. Needs the right to export. Exits 1 where the person was forgotten.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    for option in ("tenant", "subject", "identity_checked"):
        if not given[option]:
            raise click.UsageError(f"--{option.replace('_', '-')} is missing")
    if out is not None and out.exists():
        raise click.UsageError(f"{out} is there already")
    if recipient is not None:
        encrypted(b"", recipient)  # before anything is recorded: a key that is none ends it here
    document = run(_exported(call, given))
    content = json_text(document, indent=2).encode() + b"\n"
    _write(out, content if recipient is None else encrypted(content, recipient))
    if out is not None:
        counts = document["statement"]["counts"]
        shown = {"file": str(out), "counts": counts, "encrypted": recipient is not None}
        call.show(shown, lambda: f"{out}: {', '.join(f'{name} {count}' for name, count in counts.items())}")


@export.command()
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option("--key", required=True, help="The public key in base64, as you were given it by another way.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def verify(file: Any, key: str, as_json: bool) -> None:
    """Check an export (- reads stdin) against a public key. Needs no broker, no Redis and no settings.

    Exits 1 where it is not what was signed.
    """
    from eunoe.crypto.exports import BadExport, verified_export

    public = public_key(key)
    try:
        statement = verified_export(json.load(file), public)
    except BadExport as bad:
        document: dict[str, Any] = {"valid": False, "problem": str(bad)}
        said = f"NOT VALID  {bad}"
    except ValueError:
        raise click.UsageError(
            "FILE is no JSON; an encrypted export is opened with `eunoe export open` first"
        ) from None
    else:
        document = {"valid": True, **{name: statement[name] for name in ("tenant", "made_at", "made_by", "counts")}}
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


async def _exported(call: Call, given: dict[str, Any]) -> dict[str, Any]:
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        return await memory.export_subject(**given)


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

"""`eunoe keys status|new|rotate`: the key-encryption key, and another one in its place."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from eunoe.cli.options import Call, Seconds, common, run

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.operations.key_rotation import RotationWishes
    from eunoe.operations.keys_in_use import KeysInUse
    from eunoe.schemas.control import KekRotation

_STAGES: Final = ("wrapping", "fenced", "destroying", "destroyed")


@click.group()
def keys() -> None:
    """The key-encryption key: what is under it, who holds it, and how another one takes its place."""


@keys.command()
@common
def status(call: Call) -> None:
    """What lies under which key-encryption key, which processes hold one, and how far a rotation is."""
    found = run(_status(call))
    call.show(_document(found), lambda: _table(found))


@keys.command()
@click.argument("file", type=click.Path(path_type=Path))
@common
def new(call: Call, file: Path) -> None:
    """Make a new key-encryption key in FILE, readable by its owner alone. An existing file is never overwritten."""
    from eunoe.crypto.kek import create_key_file

    made = create_key_file(file)
    call.show({"kek": made.kek_id, "file": str(file)}, lambda: f"{made.kek_id} in {file}")


@keys.command()
@click.option("--until", type=click.Choice(_STAGES), default="destroyed", show_default=True, help="The last stage.")
@click.option("--gone", multiple=True, metavar="HOLDER", help="A process in `keys status` that is dead for good.")
@click.option("--attest", "attested", metavar="TEXT", help="What becomes of every copy of the old key; in receipts.")
@click.option("--settle", type=Seconds(), default=60.0, show_default=True, help="From the fence to the destruction.")
@click.option("--patience", type=Seconds(), default=300.0, show_default=True, help="For each thing that it waits for.")
@common
def rotate(call: Call, **given: Any) -> None:
    """Put another key-encryption key in the place of the one in use, and destroy that.

    The settings of every process name both: kek_file the old one and kek_other_file the new one; before the last stages
    the other way round. Reads and writes go on. It may be ended anywhere and called again. Destroying takes two people
    of different owners, each calling this, where the policy does not relax it. See the runbook key-rotation.
    """
    from eunoe.operations.key_rotation import RotationWishes
    from eunoe.schemas.control import RotationStage

    wishes = RotationWishes(
        until=RotationStage(given["until"]),
        gone=tuple(given["gone"]),
        attested=given["attested"],
        settle=given["settle"],
        patience=given["patience"],
    )
    step = run(_rotate(call, wishes))
    call.show(msgspec.to_builtins(step), lambda: _said(step))


@keys.command("try-backup")
@click.option("--restored-kafka", required=True, metavar="HOST:PORT", help="Where the backup was restored to.")
@click.option("--restored-prefix", metavar="TEXT", help="What its topics start with.  [default: as in the settings]")
@click.option(
    "--key",
    "key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The copy of the new key that is kept apart.  [default: the one in the settings]",
)
@common
def try_backup(call: Call, restored_kafka: str, restored_prefix: str | None, key: Path | None) -> None:
    """Try a backup from after the fence with the new key alone, restored to another cluster. Nothing is written there.

    It must hold every key and every fact until the fence, as the live log does; all its keys are unwrapped and the
    bodies opened. Without it `rotate` destroys nothing. It logs in as the settings say.
    """
    step = run(_try_backup(call, restored_kafka, restored_prefix, key))
    call.show(msgspec.to_builtins(step), lambda: _said(step))


async def _try_backup(call: Call, kafka: str, prefix: str | None, key: Path | None) -> "KekRotation":
    from dataclasses import replace

    from eunoe.crypto.kek import read_key_file
    from eunoe.operations.key_rotation import RotationWishes, rotating

    settings = call.settings()
    there = replace(settings, kafka=kafka, prefix=settings.prefix if prefix is None else prefix)
    async with rotating(settings, RotationWishes(), lambda text: click.echo(text, err=True)) as rotation:
        ring = rotation.foundation.kek
        kek = ring.alone(ring.kek_id) if key is None else read_key_file(key)
        return await rotation.try_backup(there.brokers, there.topics, kek)


async def _status(call: Call) -> "KeysInUse":
    from eunoe.operations.keys_in_use import keys_in_use
    from eunoe.worker.foundation import open_foundation

    async with open_foundation(call.settings(), "status") as foundation:
        return await keys_in_use(foundation)


async def _rotate(call: Call, wishes: "RotationWishes") -> "KekRotation":
    from eunoe.operations.key_rotation import rotating

    def telling(text: str) -> None:
        click.echo(text, err=True)

    async with rotating(call.settings(), wishes, telling) as rotation:
        return await rotation.rotate()


def _document(found: "KeysInUse") -> dict[str, Any]:
    rotation = None if found.rotation is None else msgspec.to_builtins(found.rotation)
    return {
        "wraps": found.wraps,
        "rotation": rotation,
        "live": dict(found.by_kek),
        "orphans": sum(each.orphans for each in found.partitions),
        "index_keys": dict(found.index_keys),
        "holders": msgspec.to_builtins(found.holders),
    }


def _table(found: "KeysInUse") -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    in_use = Table("key-encryption key", "keys on the log", "index keys of recall", "")
    for each in sorted({*found.by_kek, *found.index_keys, found.wraps}):
        counts = (found.by_kek.get(each, 0), found.index_keys.get(each, 0))
        in_use.add_row(each, *(f"{count:,}" for count in counts), "wraps" if each == found.wraps else "")
    who = Table("process", "on", "holds", "wraps with", "memory-control read to", "last heard of")
    for holder in found.holders:
        where, heard = f"{holder.host} ({holder.pid})", f"{holder.silent_ms / 1_000:.0f} s ago"
        who.add_row(holder.holder, where, ", ".join(holder.held), holder.wraps, str(holder.control), heard)
    rotation = found.rotation
    at = "No rotation yet." if rotation is None else _said(rotation)
    return Group(in_use, who, Text(at))


def _said(step: "KekRotation") -> str:
    agreed = f"; agreed: {', '.join(each.principal for each in step.approvals)}" if step.approvals else ""
    tried = step.backup
    backup = f"; a backup with {tried.keys:,} keys and {tried.facts:,} facts was tried" if tried is not None else ""
    evidence = f"; {step.evidence}: {step.attested}" if step.evidence else ""
    return f"Rotation of {step.retires} to {step.wraps}: {step.stage}{backup}{agreed}{evidence}."

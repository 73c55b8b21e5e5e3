"""`eunoe self-audit`: the questions a team should be able to answer about its memory."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, common, run

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.operations.self_audit import Answer
    from eunoe.schemas.policy import Policy


@click.command("self-audit")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@common
def self_audit(call: Call, file: Path | None) -> None:
    """Answer them from the policy in force, or from the policy in FILE. Exits 1 where an answer is no."""
    from eunoe.operations import self_audit as audit
    from eunoe.schemas.policy_file import read_policy

    policy = run(_in_force(call)) if file is None else read_policy(file.read_bytes(), str(file))
    answers = audit.self_audit(policy)
    document = {"policy": {"version": policy.version, "title": policy.title}, "answers": [a.document for a in answers]}
    call.show(document, lambda: _table(answers))
    if not all(each.yes for each in answers):
        raise SystemExit(Exit.REFUSED)


async def _in_force(call: Call) -> "Policy":
    from eunoe.runtime.control import following_control
    from eunoe.runtime.installation import read_installation

    settings = call.settings()
    installation = await read_installation(settings.brokers, settings.topics)
    async with following_control(settings.brokers, installation, settings.control_signers) as follower:
        policy = follower.state.policy
    if policy is None:
        raise click.ClickException("no policy is in force; publish one with `eunoe policy apply FILE`")
    return policy


def _table(answers: "tuple[Answer, ...]") -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table("question", "answer", "because")
    for each in answers:
        table.add_row(each.question, Text("yes", style="green") if each.yes else Text("no", style="red"), each.because)
    return table

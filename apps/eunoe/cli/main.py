"""`eunoe`: every command, loaded when it is called, so that `eunoe --help` answers at once."""

import importlib
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from eunoe.cli.failures import Exit, debugging, failure_of

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "up": ("eunoe.cli.stack_commands:up", "Start Kafka, Redis and a worker, or find those that run."),
    "down": ("eunoe.cli.stack_commands:down", "Stop what `up` started here, and nothing else."),
    "status": ("eunoe.cli.stack_commands:status", "Show the stack and the workers."),
    "topics": ("eunoe.cli.stack_commands:topics", "Create or check the topics."),
    "policy": ("eunoe.cli.policy_commands:policy", "Publish, check, show or try the policy."),
    "switch": ("eunoe.cli.switch_commands:switch", "Turn reads and writes of memory off and on."),
    "worker": ("eunoe.cli.worker_command:worker", "Run a worker in the foreground."),
    "ingest": ("eunoe.cli.ingest_command:ingest", "Publish one command per line of a file."),
    "remember": ("eunoe.cli.write_commands:remember", "Write down a memory."),
    "correct": ("eunoe.cli.write_commands:correct", "Replace a memory by a new one."),
    "promote": ("eunoe.cli.record_commands:promote", "Let a quarantined memory into use."),
    "reject": ("eunoe.cli.record_commands:reject", "Keep a quarantined memory out for good."),
    "confirm": ("eunoe.cli.record_commands:confirm", "Stand behind a proposed memory."),
    "resolve": ("eunoe.cli.record_commands:resolve", "Answer a conflict: this memory holds."),
    "rollback": ("eunoe.cli.rollback_command:rollback", "Take a memory back, and list who was given it."),
    "retract": ("eunoe.cli.record_commands:retract", "Take a memory back."),
    "suspend": ("eunoe.cli.record_commands:suspend", "Send a memory that is in use back to waiting for a person."),
    "review": ("eunoe.cli.review_commands:review", "What waits for a person: list, show, approve, reject."),
    "forget": (
        "eunoe.cli.forget_commands:forget",
        "Render a memory, all about a person, or a whole tenant, unreadable.",
    ),
    "receipt": ("eunoe.cli.receipt_commands:receipt", "Erasure receipts: list, show, verify."),
    "withdraw": ("eunoe.cli.forget_commands:withdraw", "Take back a request to forget a person."),
    "hold": ("eunoe.cli.hold_commands:hold", "Set, lift and list legal holds."),
    "export": ("eunoe.cli.export_commands:export", "All that is held on a person, or in a tenant; verify, open."),
    "import": ("eunoe.cli.export_commands:import_", "Bring in what another installation exported."),
    "readmit": ("eunoe.cli.forget_commands:readmit", "Allow new memories about a forgotten person or tenant."),
    "search": ("eunoe.cli.read_commands:search", "What an agent may use now, ranked."),
    "why": ("eunoe.cli.look_commands:why", "Why a search selects a memory, or does not."),
    "inspect-memory": ("eunoe.cli.look_commands:inspect_memory", "What is held, with provenance and revision."),
    "decisions": ("eunoe.cli.decisions_command:decisions", "What became of each candidate for memory, and why."),
    "session": ("eunoe.cli.session_command:session", "What one conversation asked memory for, and was given."),
    "traces": ("eunoe.cli.look_commands:traces", "What was delivered to whom, and why."),
    "outcome": ("eunoe.cli.read_commands:outcome", "What became of a command."),
    "history": ("eunoe.cli.read_commands:history", "How a memory came to be what it is."),
    "self-audit": ("eunoe.cli.audit_command:self_audit", "The questions to answer about your memory."),
    "drill": ("eunoe.cli.drill_command:drill", "Rehearse forgetting, with people who never were."),
    "doctor": ("eunoe.cli.doctor_command:doctor", "Find orphans and gaps, and what to do."),
    "keys": ("eunoe.cli.keys_command:keys", "The key-encryption key: who holds it, and another in its place."),
    "rebuild": ("eunoe.cli.rebuild_command:rebuild", "Fill a read model anew, compare, switch, go back."),
    "restore": ("eunoe.cli.restore_command:restore", "Fill what Redis has lost again from the log."),
    "lag": ("eunoe.cli.lag_command:lag", "Consumer lag per group and partition."),
    "console": ("eunoe.cli.console_command:console", "A web page for operators, live."),
    "demo": ("eunoe.demo.commands:demo", "The main job on an example, or on your own file."),
    "bench": ("eunoe.bench.commands:bench", "The benchmarks."),
}
"""Where each command is, and its line in the help."""

_NESTED: Final = frozenset(
    {
        "list",
        "approve",
        "apply",
        "check",
        "show",
        "new",
        "rotate",
        "set",
        "simulate",
        "verify",
        "open",
        "lift",
        "key",
        "erasure",
        "decide",
        "project",
        "search",
        "end-to-end",
        "locomo",
    }
)
_PLACES: Final = frozenset(COMMANDS) | _NESTED


class _Inherited(dict[str, Any]):
    """Options given before the command are defaults of every command, and of commands within it."""

    def get(self, name: str, default: Any = None) -> Any:
        return self if name in _PLACES else super().get(name, default)


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        try:
            found: click.Command = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as missing:
            if missing.name != module:
                raise
            raise click.UsageError(f"`{cmd_name}` is not part of this installation") from missing
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Settings file (TOML).")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout; everything else on stderr.")
@click.option("--as", "principal", metavar="NAME", help="Who calls.")
@click.version_option(package_name="eunoe")
@click.pass_context
def cli(ctx: click.Context, config: Path | None, as_json: bool, principal: str | None) -> None:
    """Governed long-term memory for AI agents, as a stream.

    `eunoe up` starts everything on this machine; after it each command works as it is. Exits 0 on success, 1 on a
    refusal or failed check, 2 on wrong usage, 3 when Kafka or Redis cannot be reached.
    """
    given = {"config": config, "as_json": as_json or None, "principal": principal}
    ctx.default_map = _Inherited({name: value for name, value in given.items() if value is not None})


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="%(levelname)s %(name)s: %(message)s")
    for library in ("aiokafka", "asyncio"):
        logging.getLogger(library).setLevel(logging.CRITICAL)  # what they have to say, an error of ours says
    try:
        code = cli.main(given, prog_name="eunoe", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        click.echo("eunoe: stopped", err=True)
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - the edge: whatever it is, the caller gets a code and a paragraph
        sys.exit(_report(error, as_json="--json" in given))
    sys.exit(code if isinstance(code, int) else Exit.SUCCESS)


def _report(error: Exception, as_json: bool) -> int:
    if debugging():
        logging.getLogger(__name__).error("failed", exc_info=error)
    failure = failure_of(error)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(error.ctx.get_usage(), err=True)
    click.echo(f"eunoe: {failure.message}", err=True)
    if as_json:
        click.echo(failure.document)
    return failure.code


if __name__ == "__main__":
    main()

"""`eunoe promote`, `reject`, `confirm`, `resolve`, `retract`, `suspend`: what is done to one record."""

from collections.abc import Callable
from typing import Any

import click

from eunoe.cli.options import Call, common, tenant_option, timeout_option
from eunoe.cli.performing import perform
from eunoe.cli.record_reference import Reference, seen


def _record(function: Callable[..., None]) -> Callable[..., None]:
    for option in (
        common,
        timeout_option,
        click.option("--idempotency-key", help="Asked twice with one key, it is done once.  [default: a fresh one]"),
        click.option("--session-id", help="A name for the conversation it is part of; keyed on the log."),
        click.option("--expected-version", type=click.IntRange(1), help="The version you looked at, for a bare id."),
        tenant_option,
        click.argument("memory_id", metavar="MEMORY_ID@VERSION", type=Reference()),
    ):
        function = option(function)
    return function


def _perform(call: Call, operation: str, timeout: float, given: dict[str, Any]) -> None:
    memory_id, version = given.pop("memory_id")
    expected = given.pop("expected_version")
    if (version is None) == (expected is None):
        raise click.UsageError("say which version you looked at: MEMORY_ID@VERSION, or an id and --expected-version")
    given |= {"memory_id": memory_id, "expected_version": version or expected}
    perform(call, {"op": operation} | {name: value for name, value in given.items() if value is not None}, timeout)


@click.command()
@click.option("--replaces", type=Reference(), help="The memory that gives way to it, at the version you looked at.")
@_record
def promote(call: Call, timeout: float, **given: Any) -> None:
    """Let the quarantined MEMORY_ID into use. Needs the right to review."""
    if given["replaces"] is not None:
        given["replaces"] = seen("--replaces", given["replaces"])
    _perform(call, "promote", timeout, given)


@click.command()
@_record
def confirm(call: Call, timeout: float, **given: Any) -> None:
    """Stand behind the proposed MEMORY_ID. Needs the right to review."""
    _perform(call, "confirm", timeout, given)


@click.command()
@click.option(
    "--over",
    type=Reference(),
    multiple=True,
    help="A memory that it contradicts and that gives way, at the version you looked at. Once for each of them.",
)
@_record
def resolve(call: Call, timeout: float, **given: Any) -> None:
    """Answer a conflict: MEMORY_ID holds, the memories it contradicts give way."""
    given["over"] = [seen("--over", each) for each in given["over"]]
    _perform(call, "resolve", timeout, given)


@click.command()
@_record
def retract(call: Call, timeout: float, **given: Any) -> None:
    """Take MEMORY_ID back."""
    _perform(call, "retract", timeout, given)


@click.command()
@click.option(
    "--reason", "reasons", multiple=True, default=["sent_back"], help="A code, never free text.", show_default=True
)
@_record
def suspend(call: Call, timeout: float, **given: Any) -> None:
    """Send MEMORY_ID, which is in use, back to waiting for a person. Needs the right to review."""
    _perform(call, "suspend", timeout, given | {"reasons": list(given["reasons"])})


@click.command()
@click.option("--reason", default="not_accepted", show_default=True, help="A code, never free text.")
@_record
def reject(call: Call, timeout: float, **given: Any) -> None:
    """Keep the quarantined MEMORY_ID out for good. Needs the right to review."""
    _perform(call, "reject", timeout, given)

"""`eunoe remember` and `correct`."""

from collections.abc import Callable
from typing import Any

import click

from eunoe.cli.options import Call, common, read_statement, tenant_option, timeout_option
from eunoe.cli.performing import perform
from eunoe.cli.record_reference import Reference

_OPTIONS = (
    tenant_option,
    click.option("--agent", required=True, help="Which agent learned it."),
    click.option("--purpose", "purposes", multiple=True, required=True, help="What it may be used for; repeatable."),
    click.option("--subject", help="Whom it is about; without it, the tenant itself."),
    click.option("--about", multiple=True, help="Who else it is about; repeatable."),
    click.option(
        "--derived-from", multiple=True, type=Reference(), help="A memory it is built on, ID@REVISION; repeatable."
    ),
    click.option("--kind", default="fact", show_default=True, help="A kind of the policy."),
    click.option("--class", "class", default="long_term", show_default=True, help="short_term, long_term or profile."),
    click.option("--key", help="The claim it makes, such as delivery.window."),
    click.option("--source", default="user_explicit", show_default=True, help="A source kind of the policy."),
    click.option("--uri", help="Where the source is; this, --event-id or --provenance is required."),
    click.option("--event-id", "--event", "event_ids", multiple=True, help="A source event; repeatable."),
    click.option("--provenance", help="Or in words, how it came to be known; sealed."),
    click.option("--observed-at", help="When the source said so (RFC 3339 with offset)."),
    click.option("--confidence", type=float, default=1.0, show_default=True),
    click.option("--sensitivity", default="personal", show_default=True),
    click.option("--visibility", default="agent", show_default=True, help="agent or shared."),
    click.option("--surface", "surfaces", multiple=True, help="Where it may be shown; repeatable."),
    click.option("--ttl", help="How long it lasts, such as P180D; this or --expires-at is required."),
    click.option("--expires-at", help="Until when it lasts (RFC 3339 with offset)."),
    click.option("--valid-from", help="True since (RFC 3339 with offset)."),
    click.option("--valid-until", help="True until (RFC 3339 with offset)."),
    click.option("--future-use", help="Which later task it will help; this and the seven below are sealed."),
    click.option("--why-not-ask-again", help="Why the source cannot be asked again."),
    click.option("--gain-measure", help="How the gain shows."),
    click.option("--staleness", help="How it may go stale."),
    click.option("--readers", help="Who may read it, in words."),
    click.option("--confirmation", help="Whether somebody has to confirm it."),
    click.option("--deletion", help="When it goes."),
    click.option("--correction", help="How it is corrected."),
    click.option("--conflict-policy", help="policy_decides or require_review_on_conflict."),
    click.option("--export-delete-policy", help="Who may export and delete it; as the contract names them."),
    click.option("--scope", help="What it is limited to, in a word of your own."),
    click.option("--retention", help="A retention class of your own; it changes nothing here."),
    click.option("--circumstance", "circumstances", multiple=True, help="What speaks against keeping it; repeatable."),
    click.option("--reference", is_flag=True, default=None, help="STATEMENT only says which record to look up."),
    click.option("--external-id", help="Its id elsewhere; sealed."),
    click.option("--session-id", help="A name for the conversation it is part of; sealed, and keyed on the log."),
    click.option("--idempotency-key", help="Asked twice with one key, it is remembered once.  [default: a fresh one]"),
    timeout_option,
)

_ANSWERS = (
    *("future_use", "why_not_ask_again", "gain_measure", "staleness"),
    *("readers", "confirmation", "deletion", "correction"),
)
"""The eight of B3."""


def _draft_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command()
@click.argument("statement")
@_draft_options
@common
def remember(call: Call, statement: str, timeout: float, **given: Any) -> None:
    """Write STATEMENT down (- reads it from stdin) and wait for the outcome."""
    perform(call, {"op": "remember", **_fields(statement, given)}, timeout)


@click.command()
@click.argument("memory_id")
@click.argument("statement")
@click.option("--expected-version", type=click.IntRange(1), required=True, help="Of the memory that is replaced.")
@_draft_options
@common
def correct(call: Call, memory_id: str, statement: str, timeout: float, **given: Any) -> None:
    """Put STATEMENT (- reads it from stdin) in the place of MEMORY_ID, if that is still at its expected version."""
    perform(call, {"op": "correct", "supersedes": memory_id, **_fields(statement, given)}, timeout)


def _fields(statement: str, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a line: what was not given is left out, so that the line's own defaults hold."""
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    source: dict[str, Any] = {"kind": fields.pop("source"), "uri": fields.pop("uri")}
    for name in ("event_ids", "provenance", "observed_at"):
        source[name] = fields.pop(name)
    if not any(source[name] for name in ("uri", "event_ids", "provenance")):
        raise click.UsageError(
            "where does it come from? give --uri (where the source is), --event-id (a source event) or "
            "--provenance (in words)"
        )
    fields["derived_from"] = [_origin(*each) for each in fields["derived_from"]]
    source = {name: value for name, value in source.items() if value is not None}
    answers = {name: fields.pop(name) for name in _ANSWERS}
    if any(answers.values()):
        fields["answers"] = {name: value for name, value in answers.items() if value is not None}
    kept = {name: value for name, value in fields.items() if value is not None}
    return {"statement": read_statement(statement), "source": source, **kept}


def _origin(memory_id: str, revision: int | None) -> dict[str, Any]:
    if revision is None:
        raise click.UsageError("--derived-from: which revision of it was seen? give ID@REVISION, as search shows it")
    return {"memory_id": memory_id, "version": revision}

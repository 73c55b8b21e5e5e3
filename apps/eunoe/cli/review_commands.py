"""`eunoe review`: the queue of what waits for a person, and the decisions about it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, Seconds, common, run, tenant_option, timeout_option
from eunoe.cli.performing import NO_OUTCOME
from eunoe.cli.record_reference import RecordId, Reference, seen
from eunoe.cli.showing import outcome_document, outcome_text
from eunoe.schemas.instants import instant

if TYPE_CHECKING:
    from eunoe.client.memory import Memory
    from eunoe.client.review_shown import Shown
    from eunoe.readmodels.review_items import Page
    from eunoe.schemas.outcomes import Outcome

_REPEATED = "duplicate_memory"
"""The code under which what says the same as an approved record is rejected."""
_SOURCES = ("user_explicit", "system", "tool", "inferred", "third_party", "model_output")


class _Span(click.ParamType):
    name = "DURATION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from eunoe.schemas.durations import BadDuration, duration_millis

        try:
            return duration_millis(value)
        except BadDuration as error:
            self.fail(f"is {error}; write P7D or PT12H", param, ctx)


@click.group()
def review() -> None:
    """What waits for a person: quarantined memories and open conflicts. Needs the right to review."""


@review.command("list")
@tenant_option
@click.option("--source", type=click.Choice(_SOURCES), help="Only from such a source.")
@click.option("--reason", help="Only what waits for this reason, such as untrusted_source or conflict.")
@click.option("--older-than", "min_age", type=_Span(), default="PT0S", help="Only what waits longer, such as P1D.")
@click.option("--subject", help="Only about this person.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@click.option("--cursor", help="What follows the page that gave it.")
@click.option("--after", help="A token: wait until that write is in.")
@click.option("--timeout", type=Seconds(), default=5.0, show_default=True, help="How long to wait for --after.")
@common
def list_(call: Call, **given: Any) -> None:
    """The queue, oldest first. No text is opened."""
    from eunoe.cli.review_showing import page_document, page_table
    from eunoe.runtime.clock import SystemClock

    page = run(_page(call, given))
    call.show(page_document(page), lambda: page_table(page, SystemClock().now()))


async def _page(call: Call, given: dict[str, Any]) -> "Page":
    from eunoe.client.memory import Memory
    from eunoe.schemas.values import SourceKind

    source = given.pop("source")
    async with Memory.connect(call.settings()) as memory:
        return await memory.reviews(source=None if source is None else SourceKind(source), **given)


@review.command()
@click.argument("memory_id", type=RecordId())
@tenant_option
@click.option("--after", help="A token: wait until that write is in.")
@click.option("--timeout", type=Seconds(), default=5.0, show_default=True, help="How long to wait for --after.")
@common
def show(call: Call, memory_id: str, **given: Any) -> None:
    """MEMORY_ID opened: where it comes from, why it waits, what it would change. Exits 1 where it does not wait."""
    from eunoe.cli.review_showing import shown_document, shown_text

    shown = run(_shown(call, memory_id, given))
    if shown is None:
        said = f"Nothing waits under {memory_id}: `eunoe history {memory_id}` tells what became of it."
        call.show({"memory_id": memory_id, "item": None}, lambda: said)
        raise SystemExit(Exit.REFUSED)
    call.show(shown_document(shown), lambda: shown_text(shown, given["tenant"], call.principal))


async def _shown(call: Call, memory_id: str, given: dict[str, Any]) -> "Shown | None":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        return await memory.review(memory_id, **given)


def _decision(function: Callable[..., None]) -> Callable[..., None]:
    for option in (
        common,
        timeout_option,
        click.option("--alike", is_flag=True, help="Reject with it what waits with the same words from other sources."),
        click.option("--expected-version", type=click.IntRange(1), help="The version you looked at, for a bare id."),
        tenant_option,
        click.argument("memories", nargs=-1, required=True, type=Reference()),
    ):
        function = option(function)
    return function


@review.command()
@click.option("--replaces", type=Reference(), help="The memory that gives way to it, at the version you looked at.")
@click.option("--confirm", is_flag=True, help="Stand behind it too: readers get it as confirmed, not as proposed.")
@_decision
def approve(call: Call, memories: Sequence[tuple[str, int | None]], **given: Any) -> None:
    """Let each MEMORY_ID@VERSION into use. Each is a decision of its own; exits 1 if one of them was refused.

    What contradicts it stays, in open conflict with it, but for what --replaces names. With --confirm, what was let in
    is confirmed by a second decision, and its outcome is the last.
    """
    if given["replaces"] is not None and len(memories) > 1:
        raise click.UsageError("--replaces is for one memory: approve each that replaces something by itself")
    _decide(call, "promote", memories, given)


@review.command()
@click.option("--reason", default="not_accepted", show_default=True, help="A code, never free text.")
@_decision
def reject(call: Call, memories: Sequence[tuple[str, int | None]], **given: Any) -> None:
    """Keep each MEMORY_ID@VERSION out for good. Each is a decision of its own; exits 1 if one was refused."""
    _decide(call, "reject", memories, given)


def _decide(call: Call, operation: str, memories: Sequence[tuple[str, int | None]], given: dict[str, Any]) -> None:
    lines = _lines(operation, memories, given)
    confirms = bool(given.get("confirm"))
    documents, texts = run(_outcomes(call, lines, given["timeout"], confirms, given["alike"]))
    call.show({"outcomes": documents}, lambda: "\n".join(texts))
    if any(each["status"] in (NO_OUTCOME, "rejected") for each in documents):
        raise SystemExit(Exit.REFUSED)


def _lines(
    operation: str, memories: Sequence[tuple[str, int | None]], given: dict[str, Any]
) -> Sequence[dict[str, Any]]:
    """Every version is known before anything is sent: nobody decides about what they have not seen."""
    expected, lines = given["expected_version"], []
    if expected is not None and (len(memories) > 1 or memories[0][1] is not None):
        raise click.UsageError("--expected-version is for one bare id; write MEMORY_ID@VERSION for each of several")
    for memory_id, version in memories:
        if version is None and expected is None:
            raise click.UsageError(f"{memory_id}: say which version you looked at: {memory_id}@VERSION")
        line = {"op": operation, "tenant": given["tenant"], "memory_id": memory_id}
        line["expected_version"] = expected if version is None else version
        if given.get("replaces") is not None:
            line["replaces"] = seen("--replaces", given["replaces"])
        lines.append(line | ({"reason": given["reason"]} if "reason" in given else {}))
    return lines


async def _outcomes(
    call: Call, lines: Sequence[dict[str, Any]], timeout: float, confirms: bool, alike: bool
) -> tuple[Sequence[dict[str, Any]], Sequence[str]]:
    """The outcome of each, in order, as document and as text; one without an outcome in time does not stop the rest.

    ``confirms``: each record that was let in is confirmed as well where it is only proposed, and what comes of that is
    its outcome. ``alike``: what waits with the same words is rejected after it, each an outcome of its own.
    """
    from eunoe.client.lines import line_of
    from eunoe.client.memory import Memory
    from eunoe.readmodels.errors import NoOutcome
    from eunoe.schemas.outcomes import OutcomeStatus

    todo, documents, texts = list(lines), list[dict[str, Any]](), list[str]()
    made = [line_of(each) for each in lines]
    async with Memory.connect(call.settings()) as memory:
        for number, fields in enumerate(todo):
            asked = number < len(made)
            line = made[number] if asked else line_of(fields)
            shown = (
                await memory.review(fields["memory_id"], fields["tenant"]) if asked and (alike or confirms) else None
            )
            try:
                outcome = await memory.perform(line, timeout=timeout)
                if outcome.status is OutcomeStatus.DONE and alike:
                    todo += _alike(shown, fields)
                if outcome.status is OutcomeStatus.DONE and confirms and asked and not _confirmed(shown):
                    then = {**fields, "op": "confirm", "expected_version": fields["expected_version"] + 1}
                    outcome = await memory.perform(line_of(then), timeout=timeout)
            except NoOutcome as none:
                said = f"{NO_OUTCOME}  memory {fields['memory_id']}\ncommand {none.command_id}"
                documents.append(
                    {"command_id": none.command_id, "memory_id": fields["memory_id"], "status": NO_OUTCOME}
                )
                texts.append(said)
            else:
                until = await _reviewable_at(memory, outcome, fields)
                documents.append({"memory_id": fields["memory_id"], **outcome_document(outcome), **until})
                from_then = "".join(f"\nmay be approved from {each} on" for each in until.values())
                texts.append(outcome_text(outcome) + from_then)
    return documents, texts


def _alike(shown: "Shown | None", fields: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The rejections of those that waited with the same words, as the queue told of them before the decision."""
    from eunoe.client.review_shown import ShownQuarantined

    if not isinstance(shown, ShownQuarantined):
        return ()
    same = {"op": "reject", "tenant": fields["tenant"], "reason": fields.get("reason", _REPEATED)}
    return [{**same, "memory_id": each.memory_id, "expected_version": each.version} for each in shown.item.alike]


def _confirmed(shown: "Shown | None") -> bool:
    """Whether somebody stood behind it before it was let in; what is withheld counts as not."""
    from eunoe.client.review_shown import ShownQuarantined, ShownSuspended
    from eunoe.schemas.values import Confirmation

    match shown:
        case ShownQuarantined():
            return shown.item.confirmation is Confirmation.CONFIRMED
        case ShownSuspended():
            return shown.record is not None and shown.record.confirmation is Confirmation.CONFIRMED
        case _:
            return False


async def _reviewable_at(memory: "Memory", outcome: "Outcome", fields: dict[str, Any]) -> dict[str, str | None]:
    """From when on it may be approved, where it was too early."""
    from eunoe.client.review_shown import ShownConflict
    from eunoe.schemas.events import Reason

    if outcome.reason != Reason.WAITING_PERIOD:
        return {}
    shown = await memory.review(fields["memory_id"], fields["tenant"])
    if shown is None or isinstance(shown, ShownConflict):
        return {}
    return {"reviewable_at": instant(shown.item.reviewable_at)}

"""The access report: all that is held on one person, as a document that they can read (M78, B51).

Pure: what was read and opened goes in, a statement comes out. Numbers that have fractions are written as text, for the
statement is signed in a form that has none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from eunoe.client.held import Held, HeldRecord
from eunoe.client.redacting import without
from eunoe.client.write_decisions import WriteDecision
from eunoe.readmodels.history import Stored
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.events import EventHeader, Fact
from eunoe.schemas.ids import CommandId, LogId, MemoryId, Millis, Offset, Partition, PrincipalName, TenantId
from eunoe.schemas.instants import instant
from eunoe.schemas.traces import Trace

NOT_INCLUDED: Final = (
    "what was refused: commands that were not accepted are kept sealed for 30 days, and by reason and time after that",
    "what readers asked: queries are sealed under a key of their day; only who was given which record is listed",
    "reads that are longer ago than 30 days",
    "what readers did with what they were given, and prompts it was delivered in",
    "keys, digests and search terms, which say nothing that the texts do not",
)
OFFICERS_ONLY: Final = (
    "records that are not left to the person to export, those that concern several people, and what was decided about "
    "the person as a whole: an officer hands those out",
)
NO_OTHERS: Final = "concerns other people too; left out, for no name was given to blank in it"
_DECISIONS: Final = {
    "MemoryAccepted": WriteDecision.ALLOWED.value,
    "MemoryQuarantined": WriteDecision.QUARANTINED.value,
    "MemoryPromoted": WriteDecision.ALLOWED.value,
    "MemorySuspended": WriteDecision.QUARANTINED.value,
    "MemoryRejected": WriteDecision.REJECTED.value,
}
_PROVENANCE: Final = ("source_uri", "event_ids", "provenance", "evidence")


class Text(StrEnum):
    """What became of a record's text in the report."""

    GIVEN = "given"
    REDACTED = "redacted"
    WITHHELD = "withheld"
    FORGOTTEN = "forgotten"
    UNREADABLE = "unreadable"
    """Its key was destroyed when its month was over, or with somebody else whom it concerned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Whose report, who asked for it how, and the names of others that are blanked in it.

    ``user_visible_only``: no officer asked; the report has what ``export_delete_policy`` leaves to the person.
    """

    log_id: LogId
    tenant: TenantId
    subject: str
    generation: int
    made_at: Millis
    made_by: PrincipalName
    identity_check: str
    command_id: CommandId
    partition: Partition
    redact: tuple[str, ...] = ()
    user_visible_only: bool = False


def access_report(
    asked: Asked, held: Held, bodies: Mapping[MemoryId, MemoryBody], traces: Sequence[Trace], unreadable: int
) -> dict[str, Any]:
    """``bodies``: of the records that may be opened. ``unreadable``: records of ``memory-access`` that are no traces
    this version knows."""
    every = list(held.of_generation(asked.generation))
    theirs = [each for each in every if each.state.user_visible] if asked.user_visible_only else every
    records = [_record(each, held, bodies.get(each.draft.memory_id), asked, traces) for each in theirs]
    texts = [each["text"] for each in records]
    return {
        "installation": asked.log_id,
        "tenant": asked.tenant,
        "subject": asked.subject,
        "made_at": instant(asked.made_at),
        "made_by": asked.made_by,
        "identity_check": asked.identity_check,
        "recorded_as": asked.command_id,
        "as_of": {"partition": asked.partition, "position": held.position},
        "user_visible_only": asked.user_visible_only,
        "counts": {"records": len(records)}
        | {each.value: texts.count(each) for each in Text}
        | ({"operator_only": len(every) - len(theirs)} if asked.user_visible_only else {}),
        "records": records,
        "about_the_person": [] if asked.user_visible_only else [_said(*each) for each in held.about_person],
        "earlier_generations_forgotten": asked.generation - 1,
        "traces": {"read": len(traces), "unreadable": unreadable},
        "not_included": [*NOT_INCLUDED, *(OFFICERS_ONLY if asked.user_visible_only else ())],
    }


def _record(
    record: HeldRecord, held: Held, body: MemoryBody | None, asked: Asked, traces: Sequence[Trace]
) -> dict[str, Any]:
    assert held.person is not None
    others = record.others(held.person)
    text, said = _text(record, held, body, others, asked.redact)
    return {
        "memory_id": record.draft.memory_id,
        "text": text.value,
        "concerns_others": others,
        **said,
        **_clear(record),
        "history": [_change(*each) for each in record.changes],
        "given_to": [_reading(each, record.draft.memory_id) for each in traces if _gave(each, record.draft.memory_id)],
    }


def _text(
    record: HeldRecord, held: Held, body: MemoryBody | None, others: int, redact: Sequence[str]
) -> tuple[Text, dict[str, Any]]:
    if held.erased(record):
        return Text.FORGOTTEN, {}
    if body is None:
        return Text.UNREADABLE, {}
    if not others:
        return Text.GIVEN, _sealed(body)
    blanked = without(body.statement, redact)
    if blanked is None:
        return Text.WITHHELD, {"withheld": NO_OTHERS}
    return Text.REDACTED, {"statement": blanked}


def _sealed(body: MemoryBody) -> dict[str, Any]:
    plain = msgspec.to_builtins(body)
    return {
        "statement": body.statement,
        "key": body.claim_key,
        "source": {name.removeprefix("source_"): plain[name] for name in _PROVENANCE},
        "answers": {name: value for name, value in (plain["answers"] or {}).items() if value is not None},
        "external_id": body.external_id,
        "session_id": body.session_id,
    }


def _clear(record: HeldRecord) -> dict[str, Any]:
    draft, state = record.draft, record.state
    return {
        "state": {
            "lifecycle": state.lifecycle.value,
            "version": state.version,
            "trust": state.trust.value,
            "confirmation": state.confirmation.value,
            "review": state.review.value,
        },
        "kind": draft.kind,
        "class": draft.memory_class.value,
        "sensitivity": draft.sensitivity.value,
        "confidence": repr(draft.confidence),
        "source_kind": draft.source_kind.value,
        "built_on": [each.memory_id for each in draft.derived_from],
        "written_by": record.born.said.principal,
        "agent": draft.agent,
        "producer_surface": draft.producer_surface,
        "readable_by": {
            "visibility": draft.visibility.value,
            "purposes": list(draft.purposes),
            "surfaces": list(draft.surfaces),
            "scope": draft.scope,
        },
        "retention": draft.retention,
        "observed_at": instant(draft.observed_at),
        "created_at": instant(record.born.said.decided_at),
        "valid_from": instant(draft.valid_from),
        "valid_until": instant(draft.valid_until),
        "expires_at": instant(draft.expires_at),
        "circumstances": [each.value for each in draft.circumstances],
        "reference": draft.reference,
        "export_delete_policy": draft.export_delete_policy.value,
    }


def _change(position: Offset, change: Stored) -> dict[str, Any]:
    return {
        "position": position,
        "at": instant(change.decided_at),
        "what": change.kind,
        "memory_write_decision": _DECISIONS.get(change.kind),
        "by": change.principal,
        "version": change.version,
        "reasons": list(change.reasons),
        "trust": None if change.trust is None else change.trust.value,
        "confirmation": None if change.confirmation is None else change.confirmation.value,
        "supersedes": change.supersedes,
        "superseded_by": change.superseded_by,
        "conflicts": list(change.conflicts),
        "settled_by": list(change.settled_by),
        "policy_version": change.policy_version,
    }


def _gave(trace: Trace, memory_id: MemoryId) -> bool:
    return any(each.memory_id == memory_id for each in trace.delivered)


def _reading(trace: Trace, memory_id: MemoryId) -> dict[str, Any]:
    return {
        "at": instant(trace.at),
        "by": trace.principal,
        "agent": trace.agent,
        "purpose": trace.purpose,
        "surface": trace.surface,
        "how": trace.kind.value,
        "version": next(each.version for each in trace.delivered if each.memory_id == memory_id),
        "trace_id": trace.trace_id,
    }


def _said(header: EventHeader, fact: Fact) -> dict[str, Any]:
    """What was decided about the person and not about one record."""
    plain = msgspec.to_builtins(fact)
    kept = ("generation", "records", "due_at", "review_at", "action", "identity_check")
    named = {name: instant(value) if name.endswith("_at") else value for name, value in plain.items() if name in kept}
    return {"what": type(fact).__name__, "at": instant(header.decided_at), "by": header.principal, **named}

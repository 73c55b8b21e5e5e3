"""A line of `eunoe ingest`: one command as JSON, every field checked, unknown ones refused (DESIGN §10).

What is wrong with a line is said by field and rule. Nothing here ever repeats a value: values are memory content.
"""

import hashlib
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from eunoe.client.line_problems import CODE, NAME, UUID, BadLine, described
from eunoe.producers.checks import IDEMPOTENCY_CHARS, SUBJECT_CHARS
from eunoe.schemas.durations import BadDuration, duration_millis
from eunoe.schemas.ids import Millis, new_id
from eunoe.schemas.values import (
    Circumstance,
    ConflictPolicy,
    ExportDeletePolicy,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Visibility,
)

Name = Annotated[str, Meta(pattern=NAME)]
"""Of a tenant, agent, purpose or surface."""
Uuid = Annotated[str, Meta(pattern=UUID)]
Instant = Annotated[datetime, Meta(tz=True)]
"""RFC 3339 with its offset; a naive time is refused, for nobody knows when it is."""
Confidence = Annotated[float, Meta(ge=0.0, le=1.0)]
LARGEST: Final = 2**31 - 1
"""Of a version or a place in a text."""
Version = Annotated[int, Meta(ge=0, le=LARGEST)]
Text = Annotated[str, Meta(min_length=1)]
Subject = Annotated[str, Meta(min_length=1, max_length=SUBJECT_CHARS)]
Key = Annotated[str, Meta(min_length=1, max_length=IDEMPOTENCY_CHARS)]
Code = Annotated[str, Meta(pattern=CODE)]
"""Never free text: it stays on the log in the clear."""


class Span(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Characters ``start`` to ``end`` (exclusive) of a source event."""

    event_id: Text
    start: Version
    end: Version


class Seen(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory at the version in which somebody saw it."""

    memory_id: Uuid
    version: Annotated[int, Meta(ge=1, le=LARGEST)]


class Source(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a statement comes from."""

    kind: SourceKind
    uri: Text | None = None
    event_ids: tuple[Text, ...] = ()
    observed_at: Instant | None = None
    provenance: Text | None = None
    evidence: tuple[Span, ...] = ()


class Reasons(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why it is worth keeping: the fields of `eunoe.schemas.commands.Answers`."""

    future_use: Text | None = None
    why_not_ask_again: Text | None = None
    gain_measure: Text | None = None
    staleness: Text | None = None
    readers: Text | None = None
    confirmation: Text | None = None
    deletion: Text | None = None
    correction: Text | None = None


class _Line(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="op"):
    """``session_id``: the conversation that it is part of, as reads name it."""

    tenant: Name
    session_id: Name | None = None


class RememberLine(_Line, frozen=True, kw_only=True, tag="remember"):
    """``supersedes`` makes it a correction of that record at ``expected_version``. ``subject`` null is the tenant
    itself. Exactly one of ``ttl`` and ``expires_at`` must be there; that none is, is said where the policy is known."""

    agent: Name
    subject: Subject | None = None
    about: tuple[Subject, ...] = ()
    derived_from: tuple[Seen, ...] = ()
    purposes: Annotated[tuple[Name, ...], Meta(min_length=1)]
    visibility: Visibility = Visibility.AGENT
    surfaces: tuple[Name, ...] = ()
    producer_surface: Name | None = None
    scope: Text | None = None
    kind: Name = "fact"
    memory_class: MemoryClass = msgspec.field(name="class", default=MemoryClass.LONG_TERM)
    key: Text | None = None
    statement: str
    source: Source
    confidence: Confidence = 1.0
    sensitivity: Sensitivity = Sensitivity.PERSONAL
    answers: Reasons | None = None
    circumstances: tuple[Circumstance, ...] = ()
    reference: bool = False
    retention: Text | None = None
    ttl: str | None = None
    expires_at: Instant | None = None
    valid_from: Instant | None = None
    valid_until: Instant | None = None
    conflict_policy: ConflictPolicy = ConflictPolicy.POLICY_DECIDES
    export_delete_policy: ExportDeletePolicy = ExportDeletePolicy.OPERATOR_ONLY
    embedding_version: Text | None = None
    external_id: Text | None = None
    memory_id: Uuid | None = None
    supersedes: Uuid | None = None
    expected_version: Version = 0
    idempotency_key: Key | None = None


class CorrectLine(RememberLine, frozen=True, kw_only=True, tag="correct"):
    """A `RememberLine` that must name what it replaces, and at which version."""

    supersedes: Uuid
    expected_version: Annotated[int, Meta(ge=1, le=LARGEST)]


class _RecordLine(_Line, frozen=True, kw_only=True):
    memory_id: Uuid
    expected_version: Version
    idempotency_key: Key | None = None


class PromoteLine(_RecordLine, frozen=True, kw_only=True, tag="promote"):
    """``replaces``: the memory that gives way to it; whatever else says otherwise stays, in conflict with it."""

    replaces: Seen | None = None


class RejectLine(_RecordLine, frozen=True, kw_only=True, tag="reject"):
    reason: Code


class ConfirmLine(_RecordLine, frozen=True, kw_only=True, tag="confirm"):
    pass


class ResolveLine(_RecordLine, frozen=True, kw_only=True, tag="resolve"):
    """The answer to a conflict: this one holds. ``over``: all that it contradicts, as seen; they give way."""

    over: tuple[Seen, ...] = ()


class RetractLine(_RecordLine, frozen=True, kw_only=True, tag="retract"):
    pass


class SuspendLine(_RecordLine, frozen=True, kw_only=True, tag="suspend"):
    """Back to waiting for a person."""

    reasons: Annotated[tuple[Code, ...], Meta(min_length=1, max_length=8)]


class ForgetLine(_Line, frozen=True, kw_only=True, tag="forget"):
    """One record (``memory_id``), or one person (``subject``). With both, the one record, which must be about them."""

    memory_id: Uuid | None = None
    subject: Subject | None = None
    idempotency_key: Key | None = None


class ReadmitLine(_Line, frozen=True, kw_only=True, tag="readmit"):
    subject: Subject
    idempotency_key: Key | None = None


class WithdrawLine(_Line, frozen=True, kw_only=True, tag="withdraw"):
    """Takes back a request to forget a person."""

    subject: Subject
    idempotency_key: Key | None = None


class HoldLine(_Line, frozen=True, kw_only=True, tag="hold"):
    subject: Subject
    review_at: Instant
    idempotency_key: Key | None = None


class LiftHoldLine(_Line, frozen=True, kw_only=True, tag="lift_hold"):
    subject: Subject
    idempotency_key: Key | None = None


Line = (
    RememberLine
    | CorrectLine
    | PromoteLine
    | RejectLine
    | ConfirmLine
    | ResolveLine
    | RetractLine
    | SuspendLine
    | ForgetLine
    | ReadmitLine
    | WithdrawLine
    | HoldLine
    | LiftHoldLine
)


_DECODER: Final = msgspec.json.Decoder(Line)


def parse_line(text: bytes | str) -> Line:
    """The command in ``text``. Raises `BadLine`."""
    try:
        line = _DECODER.decode(text)
    except msgspec.ValidationError as error:
        raise described(error) from None
    except msgspec.DecodeError:
        raise BadLine(None, "is not one JSON object in UTF-8") from None
    return _checked(line)


def line_of(fields: dict[str, Any]) -> Line:
    """The same checks for a command that was put together from options."""
    try:
        line = msgspec.convert(fields, Line)
    except msgspec.ValidationError as error:
        raise described(error) from None
    return _checked(line)


def origin_of(memory: Any) -> Any:
    """What a search returned, as a line names it; anything else as it is."""
    named = hasattr(memory, "memory_id") and hasattr(memory, "version")
    return {"memory_id": memory.memory_id, "version": memory.version} if named else memory


def idempotency_of(line: Line, text: bytes | str) -> str:
    """The line's idempotency key. One without it gets the digest of its text: the same file again changes nothing.

    But what is done about a person is asked for anew each time: whether they still hold is not a matter of the text.
    """
    if line.idempotency_key is not None:
        return line.idempotency_key
    if isinstance(line, ForgetLine | ReadmitLine | WithdrawLine | HoldLine | LiftHoldLine):
        return new_id()
    raw = text.encode() if isinstance(text, str) else text
    return f"line-{hashlib.sha256(raw.strip()).hexdigest()[:40]}"


def millis(at: datetime) -> Millis:
    """An instant with its offset as milliseconds since the epoch."""
    return Millis(round(at.timestamp() * 1_000))


def _checked(line: Line) -> Line:
    """What two fields say together, and text that JSON lets through."""
    match line:
        case RememberLine():
            _check_draft(line)
        case ForgetLine() if line.memory_id is None and line.subject is None:
            raise BadLine("memory_id", "is missing; name it, or with subject a person")
        case _:
            pass
    return line


def _check_draft(line: RememberLine) -> None:
    if not line.statement.strip():
        raise BadLine("statement", "is empty")
    if line.ttl is not None and line.expires_at is not None:
        raise BadLine("ttl", "only one of ttl and expires_at may be given")
    if line.ttl is not None:
        try:
            duration_millis(line.ttl)
        except BadDuration as error:
            raise BadLine("ttl", f"is {error}") from None
    if line.supersedes is not None and line.expected_version < 1:
        raise BadLine("expected_version", "must be the version of the record that is superseded, from 1")

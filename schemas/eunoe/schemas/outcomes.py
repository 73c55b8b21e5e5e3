"""What became of a command, as the caller sees it: one value, made from the one fact that answers the command.

`Outcome` is stored by the ``outcomes`` read model, returned by producer and reader, and printed as JSON. It holds no
content, no subject's name and no sealed bytes.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from msgspec import Struct

from eunoe.schemas import events
from eunoe.schemas.events import Event
from eunoe.schemas.ids import CommandId, LogId, MemoryId, Millis, Offset, Partition
from eunoe.schemas.policy import RATE_WINDOW_MS
from eunoe.schemas.values import Verdict

_TOKEN: Final = re.compile(r"([0-9a-f-]{36}):(\d{1,9}):(\d{1,18})", re.ASCII)


class OutcomeStatus(StrEnum):
    """``done`` is the answer to commands that make no record: keys, promotions, erasures, and so on.

    ``observed``: memory only observes here; the candidate was judged, and nothing is stored.
    """

    ACCEPTED = "accepted"
    QUARANTINED = "quarantined"
    DUPLICATE = "duplicate"
    REJECTED = "rejected"
    OBSERVED = "observed"
    DONE = "done"


@dataclass(eq=False)
class BadToken(ValueError):
    """The text is no consistency token. Blame: caller."""

    def __str__(self) -> str:
        return "not a consistency token: expected <log id>:<partition>:<position>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Read your own writes: a reader waits until its read model has folded everything below ``position``."""

    log_id: LogId
    partition: Partition
    position: Offset

    @property
    def text(self) -> str:
        return f"{self.log_id}:{self.partition}:{self.position}"

    @staticmethod
    def parse(text: str) -> "Token":
        """The token in ``text``, or `BadToken`. Whether its log is ours is for the reader to check."""
        found = _TOKEN.fullmatch(text)
        if found is None:
            raise BadToken
        log_id, partition, position = found.groups()
        return Token(log_id=LogId(log_id), partition=Partition(int(partition)), position=Offset(int(position)))


class Outcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``kind`` is the name of the fact (``MemoryAccepted``); ``reason`` a code, where there is one, and ``reasons`` all
    of them where there may be several.

    ``version`` is the record's version after the command; where a refusal met another version, ``current_version`` is
    that one. ``records`` counts what a `SubjectForgotten` closed, also where that is repeated. ``token`` is a `Token`
    as text. For a duplicate, ``first_command_id`` names the command whose outcome still holds.

    ``conflicts``: active records that say otherwise and were not settled, of those that the caller is cleared for;
    somebody has to answer. ``superseded``: those
    that gave way, ``settled_by`` the signals by which they did. ``would_be``: what an observed candidate would have
    become (accepted, quarantined, rejected); nothing was stored of it. ``due_at``: when a request to forget is carried
    out by itself. ``own_key``: a forgotten record had a key of its own, which is destroyed. ``redacted``: classes of
    what was found in the text and cut out before it was stored, such as ``personal_data``. ``withdrawn``: records that
    went because they were built on one that this ended; whoever needs them builds them anew, without it.
    """

    command_id: CommandId
    status: OutcomeStatus
    kind: str
    decided_at: Millis
    token: str
    memory_id: MemoryId | None = None
    version: int | None = None
    reason: str | None = None
    reasons: tuple[str, ...] = ()
    field: str | None = None
    current_version: int | None = None
    first_command_id: CommandId | None = None
    records: int | None = None
    conflicts: tuple[MemoryId, ...] = ()
    superseded: tuple[MemoryId, ...] = ()
    settled_by: tuple[str, ...] = ()
    would_be: str | None = None
    due_at: Millis | None = None
    own_key: bool | None = None
    redacted: tuple[str, ...] = ()
    withdrawn: tuple[MemoryId, ...] = ()

    @property
    def retry_after(self) -> int | None:
        """For what was refused as too much: how many ms of log time after ``decided_at`` there is room again."""
        if self.reason != events.Reason.RATE_LIMITED:
            return None
        return RATE_WINDOW_MS - self.decided_at % RATE_WINDOW_MS

    @property
    def refused(self) -> bool:
        return self.status is OutcomeStatus.REJECTED


_STATUS: Final = {
    events.MemoryAccepted: OutcomeStatus.ACCEPTED,
    events.MemoryQuarantined: OutcomeStatus.QUARANTINED,
    events.CommandDuplicate: OutcomeStatus.DUPLICATE,
    events.CommandRejected: OutcomeStatus.REJECTED,
    events.CandidateObserved: OutcomeStatus.OBSERVED,
}


def outcome_of(event: Event, log_id: LogId, partition: Partition, offset: Offset) -> Outcome | None:
    """The outcome that the event at ``offset`` of ``memory-lifecycle`` is; None for the genesis record."""
    fact = event.fact
    if isinstance(fact, events.PartitionOpened):
        return None
    memory_id: MemoryId | None = getattr(fact, "memory_id", None)
    version: int | None = getattr(fact, "version", None)
    reason: str | None = getattr(fact, "reason", None)
    if isinstance(fact, events.MemoryAccepted | events.MemoryQuarantined):
        memory_id, version = fact.draft.memory_id, 1
    reasons: tuple[str, ...] = ()
    if isinstance(fact, events.MemoryQuarantined | events.CandidateObserved):
        reasons = tuple(each.value for each in fact.reasons)
        reason = reasons[0] if reasons else None
    return Outcome(
        command_id=event.header.command_id,
        status=_STATUS.get(type(fact), OutcomeStatus.DONE),
        kind=type(fact).__name__,
        decided_at=event.header.decided_at,
        token=Token(log_id=log_id, partition=partition, position=Offset(offset + 1)).text,
        memory_id=memory_id,
        version=version,
        reason=None if reason is None else str(reason),
        reasons=reasons,
        field=fact.field if isinstance(fact, events.CommandRejected) else None,
        current_version=fact.current_version if isinstance(fact, events.CommandRejected) else None,
        first_command_id=fact.first_command_id if isinstance(fact, events.CommandDuplicate) else None,
        records=fact.records
        if isinstance(fact, events.SubjectForgotten | events.CommandDuplicate | events.ExportRecorded)
        else None,
        conflicts=_conflicts(fact),
        superseded=_superseded(fact),
        settled_by=fact.settled_by if isinstance(fact, events.MemoryAccepted) else (),
        would_be=fact.verdict if isinstance(fact, events.CandidateObserved) else None,
        due_at=fact.due_at if isinstance(fact, events.ForgettingRequested) else None,
        own_key=fact.own_key if isinstance(fact, events.MemoryForgotten) else None,
        redacted=_redacted(fact),
        withdrawn=tuple(each.memory_id for each in getattr(fact, "withdrawn", ())),
    )


def _redacted(fact: events.Fact) -> tuple[str, ...]:
    if not isinstance(fact, events.MemoryAccepted | events.MemoryQuarantined):
        return ()
    return tuple(dict.fromkeys(each.rule for each in fact.findings if each.verdict is Verdict.REDACT))


def _conflicts(fact: events.Fact) -> tuple[MemoryId, ...]:
    match fact:
        case (
            events.MemoryAccepted(conflicts_with=refs, unnamed=unnamed)
            | events.MemoryPromoted(conflicts_with=refs, unnamed=unnamed)
        ):
            return tuple(each.memory_id for each in refs if each.memory_id not in unnamed)
        case events.MemoryQuarantined(conflicts_with=ids, unnamed=unnamed):
            return tuple(each for each in ids if each not in unnamed)
        case _:
            return ()


def _superseded(fact: events.Fact) -> tuple[MemoryId, ...]:
    match fact:
        case events.MemoryAccepted(supersedes=old) | events.MemoryPromoted(supersedes=old):
            return () if old is None else (old.memory_id,)
        case events.ConflictResolved(superseded=refs):
            return tuple(each.memory_id for each in refs)
        case _:
            return ()

"""Judging the commands of one partition again, one after the other, on a ledger that is a dict."""

from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from eunoe.crypto.keyring import Keyring
from eunoe.domain.decide import decide
from eunoe.domain.entries import Entry, LedgerKey
from eunoe.domain.known import Opened
from eunoe.domain.ledger_questions import known
from eunoe.domain.ledger_state import fold
from eunoe.domain.ledger_tenants import take
from eunoe.domain.ledger_unsealed import with_unsealed
from eunoe.domain.memory import ImpossibleFact
from eunoe.processors.heading import header_of
from eunoe.processors.opening import Examiner, Opener
from eunoe.processors.receiving import RawRecord, Received, Receiver, Refused, Verifiers
from eunoe.schemas.events import (
    CandidateObserved,
    CommandRejected,
    Event,
    KeyIssued,
    Reason,
    SubjectForgotten,
    TenantForgotten,
)
from eunoe.schemas.ids import Millis, Offset
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Writing
from eunoe.worker.simulated_erasures import Erasures
from eunoe.worker.simulated_report import (
    DEAD_LETTER,
    NO_OUTCOME,
    REPEATED,
    Change,
    Decision,
    Simulation,
    decision_of,
    memory_of,
)

_NOWHERE: Final = Offset(-1)
_EPOCH: Final = Millis(0)


class _Unreadable(Exception):
    """The key of a body is gone."""


class DictLedger(dict[LedgerKey, Entry | None]):
    """The ledger in memory: all of it is loaded, so what is not in it does not exist."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: LedgerKey) -> None:
        return None


@dataclass(frozen=True, slots=True)
class _Rules:
    """What a fact's header takes from the rules (`eunoe.processors.heading.InForce`)."""

    policy: Policy
    offset: Offset


@dataclass(slots=True)
class Past:
    """A partition up to the first command that is judged, and what is forgotten by its end.

    ``decided_to``: the input offset of its last decision; ``resume``: where its facts about judged commands start.
    """

    resume: Offset
    ledger: DictLedger = field(default_factory=DictLedger)
    erasures: Erasures = field(default_factory=Erasures)
    decided_at: Millis = _EPOCH
    decided_to: Offset = _NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """By what the commands are judged."""

    policy: Policy
    verifiers: Verifiers
    keyring: Keyring
    examiner: Examiner


class Judge:
    """One partition's commands, in order."""

    def __init__(self, ruling: Ruling, receiver: Receiver, past: Past, found: Simulation) -> None:
        self._ruling = ruling
        self._receiver = receiver
        self._opener = Opener(ruling.keyring, _gone, ruling.examiner)
        self._ledger = past.ledger
        self._erasures = past.erasures
        self._decided_at = past.decided_at
        self._found = found

    async def judge(self, record: Any, then: Event | None) -> None:
        """Count what is decided of ``record`` (Kafka's), and what ``then``, the fact that the log has for it, says."""
        ruling = self._ruling
        raw = RawRecord(Offset(record.offset), Millis(record.timestamp), record.key, record.value)
        received = self._receiver.receive(raw, ruling.verifiers, ruling.policy.idempotency_retention)
        if isinstance(received, Refused):
            self._count_unusable(received, then)
            return
        if self._erasures.cover(received.command):
            self._found.forgotten += 1
            self._follow(then)
            return
        try:
            now = await self._decide(received, then)
        except _Unreadable:
            self._found.unreadable += 1
            self._follow(then)
            return
        self._compare(received, then, now)

    async def _decide(self, received: Received, then: Event | None) -> Decision:
        ledger, policy = self._ledger, self._ruling.policy
        command_id, command = received.envelope.command_id, received.command
        now = Millis(max(received.record.timestamp, self._decided_at))
        what_is_known = known(command_id, command, ledger)
        opened = _with_keys_of(await self._opener.open(received, what_is_known, policy), then)
        what_is_known = with_unsealed(what_is_known, command, opened.digests, ledger)
        for fact in decide(opened, what_is_known, now, policy, _writing(then), reading=_reading(then)):
            event = Event(header=header_of(received, opened, fact, _Rules(policy, _NOWHERE), now), fact=fact)
            take(ledger, event, fold(ledger, event))
            self._decided_at = now
            if isinstance(fact, SubjectForgotten):
                self._ruling.keyring.evict_subject(command.tenant, fact.subject)
            elif isinstance(fact, TenantForgotten):
                self._ruling.keyring.evict_tenant(command.tenant)
            return decision_of(fact)
        return Decision(outcome=REPEATED)

    def _compare(self, received: Received, then: Event | None, now: Decision) -> None:
        before = _before(then, now)
        self._found.count(before, now)
        if before != now:
            change = Change(
                tenant=received.command.tenant,
                memory_id=memory_of(received.command),
                command=type(received.command).__name__,
                command_id=received.envelope.command_id,
                at=received.record.timestamp,
                then=before,
                now=now,
            )
            self._found.changes.append(change)

    def _count_unusable(self, refused: Refused, then: Event | None) -> None:
        """A dead letter under this policy. What it was is known from its fact alone."""
        now = Decision(outcome=DEAD_LETTER, reasons=(refused.why.value,))
        before = _before(then, now)
        self._found.count(before, now)
        if then is not None:
            change = Change(
                tenant=then.header.tenant,
                memory_id=getattr(then.fact, "memory_id", None) or getattr(_draft(then), "memory_id", None),
                command=getattr(then.fact, "command", type(then.fact).__name__),
                command_id=then.header.command_id,
                at=refused.record.timestamp,
                then=before,
                now=now,
            )
            self._found.changes.append(change)

    def _follow(self, then: Event | None) -> None:
        """Take the log's own word for what is not judged, where it still fits what would have been decided before."""
        if then is None:
            return
        try:
            take(self._ledger, then, fold(self._ledger, then))
        except ImpossibleFact:
            return
        self._decided_at = max(self._decided_at, then.header.decided_at)


def _before(then: Event | None, now: Decision) -> Decision:
    if then is not None:
        return decision_of(then.fact)
    return now if now.outcome in (DEAD_LETTER, REPEATED) else Decision(outcome=NO_OUTCOME)


def _draft(event: Event) -> object:
    return getattr(event.fact, "draft", None)


def _with_keys_of(opened: Opened, then: Event | None) -> Opened:
    """Keys that are issued again are those that were: what came later was sealed under them."""
    fact = None if then is None else then.fact
    if opened.fresh_key_id is None or not isinstance(fact, KeyIssued):
        return opened
    root = fact.root_key_id or opened.fresh_root_key_id
    return replace(opened, fresh_key_id=fact.key_id, fresh_root_key_id=root)


def _writing(then: Event | None) -> Writing:
    """What the switches allowed, as far as the log shows it: they are no part of a policy."""
    match None if then is None else then.fact:
        case CommandRejected(reason=Reason.WRITES_OFF):
            return Writing.OFF
        case CandidateObserved():
            return Writing.OBSERVE
        case _:
            return Writing.ON


def _reading(then: Event | None) -> bool:
    fact = None if then is None else then.fact
    return not (isinstance(fact, CommandRejected) and fact.reason is Reason.READS_OFF)


async def _gone() -> None:
    """Called where the ledger says that a key is open and the key models, which have caught up, do not have it."""
    raise _Unreadable

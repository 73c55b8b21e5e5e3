"""Bringing an export in: every fact becomes a command, in order, and the decider says what becomes of each.

Repeat-safe: a command's idempotency key is that of its fact, and a record that is there already is left as it is.
What nobody vouches for is brought in only as far as it was in use: as records that wait for a person.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from eunoe.client.export_file import Incoming, read_export
from eunoe.crypto.buckets import month_bucket, own_bucket
from eunoe.crypto.exports import BadExport
from eunoe.producers import checks
from eunoe.producers.client import Asked, MemoryProducer, Placed, Sent
from eunoe.producers.errors import CallerError, KeyRefused
from eunoe.runtime.errors import CallerFault
from eunoe.schemas.codec import BODIES
from eunoe.schemas.events import (
    MemoryRejected,
    MemoryRetracted,
    Reason,
)
from eunoe.schemas.ids import MemoryId, TenantId
from eunoe.schemas.outcomes import Outcome, OutcomeStatus
from eunoe.schemas.policy import Policy

TIMEOUT_S: Final = 60.0
_WINDOW: Final = 200
"""Commands under way at once: enough that the decider's batches are full, few enough to wait for with one deadline."""
_ENDED: Final = frozenset({MemoryRejected.__name__, MemoryRetracted.__name__})


@dataclass(eq=False)
class ImportRefused(CallerFault):
    """Nothing was brought in."""

    problem: str

    def __str__(self) -> str:
        return f"the import is refused: {self.problem}"


@dataclass(slots=True)
class ImportReport:
    """Every fact of the file is counted in exactly one of these. ``problem``: why nothing in it is vouched for.

    ``restored``: as it was elsewhere; ``quarantined``: waits for a person here; ``already_here``: brought in before;
    ``standing``: a record is under its id, at that version or later, and was not compared; ``left``: of records that
    were not in use, in a file that nobody vouches for; ``unreadable``: lines that are no facts. ``refused`` by reason,
    with the ids of records in ``refused_records``. ``in_use_again``: records whose replacement was refused.
    """

    problem: str | None
    unreadable: int
    restored: int = 0
    quarantined: int = 0
    already_here: int = 0
    standing: int = 0
    left: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    refused_records: dict[MemoryId, str] = field(default_factory=dict)
    in_use_again: set[MemoryId] = field(default_factory=set)

    @property
    def complete(self) -> bool:
        """All of it is here, as it was."""
        short = (self.unreadable, self.refused, self.quarantined, self.left, self.standing)
        return self.problem is None and not any(short)

    def document(self) -> dict[str, Any]:
        return {
            "complete": self.complete,
            "problem": self.problem,
            "restored": self.restored,
            "already_here": self.already_here,
            "standing": self.standing,
            "quarantined": self.quarantined,
            "left": self.left,
            "unreadable": self.unreadable,
            "refused": dict(sorted(self.refused.items())),
            "refused_records": dict(sorted(self.refused_records.items())),
            "in_use_again": sorted(self.in_use_again),
        }

    def take(self, fact: Incoming, outcome: Outcome | str) -> None:
        """What became of a fact: its outcome, or a reason for which no command of it could be sent."""
        reason = outcome if isinstance(outcome, str) else outcome.reason if outcome.refused else None
        if isinstance(outcome, Outcome) and outcome.status is OutcomeStatus.DUPLICATE:
            self.already_here += 1
        elif isinstance(outcome, Outcome) and _stands(fact, outcome):
            self.standing += 1
        elif reason is not None:
            self.refused[reason] += 1
            self.refused_records.setdefault(fact.memory_id, reason)
            self.in_use_again |= set(fact.restored.superseded) - set(self.refused_records)
        elif isinstance(outcome, Outcome) and Reason.UNPROVEN_IMPORT.value in outcome.reasons:
            self.quarantined += 1
        else:
            self.restored += 1


def _stands(fact: Incoming, outcome: Outcome) -> bool:
    met = outcome.current_version if outcome.reason == Reason.VERSION_CONFLICT else None
    return met is not None and met >= fact.restored.version


@dataclass(slots=True, kw_only=True)
class Importing:
    """Imports as one principal. Made by `Memory.connect`."""

    producer: MemoryProducer
    policy: Callable[[], Policy | None]
    timeout: float = field(default=TIMEOUT_S)

    async def file(self, content: bytes, *, tenant: str | None = None) -> ImportReport:
        """Bring in an export of a tenant (`eunoe.client.export_file`). ``tenant``: it must be this one's.

        Needs the right ``import``. Raises `ImportRefused`, also for what is no such file, and what sending raises:
        called again it goes on where it ended.
        """
        policy = self.policy()
        if policy is None:
            raise ImportRefused("no policy is in force")
        try:
            found = read_export(content, policy.import_keys)
        except BadExport as bad:
            raise ImportRefused(str(bad)) from None
        if any(each.tenant != (tenant or found.facts[0].tenant) for each in found.facts):
            raise ImportRefused("it holds another tenant's memory")
        report = ImportReport(problem=found.problem, unreadable=found.unreadable)
        facts = found.facts
        if found.problem is not None:
            facts = in_use(found.facts)
            report.left = len(found.facts) - len(facts)
        for start in range(0, len(facts), _WINDOW):
            window = facts[start : start + _WINDOW]
            await asyncio.gather(*(self._ask_keys(fact, policy) for fact in window))
            await self._answered([each for fact in window if (each := await self._sent(fact, policy, report))], report)
        return report

    async def _sent(self, fact: Incoming, policy: Policy, report: ImportReport) -> tuple[Incoming, Sent] | None:
        """None, and counted, where no command of it can be sent."""
        try:
            return fact, await self._send(fact, policy)
        except KeyRefused as refused:
            closed = refused.outcome.reason == Reason.SUBJECT_CLOSED
            report.take(fact, Reason.ERASED.value if closed else refused.outcome.reason or "no_key")
        except CallerError as error:
            report.take(fact, f"invalid_{error.field}")
        return None

    async def _ask_keys(self, fact: Incoming, policy: Policy) -> None:
        """All of a window's at once; what is refused is refused again, and told, where the fact is sent."""
        if fact.draft is not None:
            with suppress(KeyRefused, CallerError):
                await self.producer.prefetch(_placed(fact, policy))

    async def _answered(self, waiting: Sequence[tuple[Incoming, Sent]], report: ImportReport) -> None:
        outcomes = await asyncio.gather(*(sent.outcome(self.timeout) for _, sent in waiting))
        for (fact, _), outcome in zip(waiting, outcomes, strict=True):
            report.take(fact, outcome)

    async def _send(self, fact: Incoming, policy: Policy) -> Sent:
        vouched = "plain" if fact.proof is None else "proven"
        # By the ids alone: a digest of the words would stay when the words are destroyed.
        asked = Asked(idempotency_key=f"import-{vouched}-{fact.memory_id}-{fact.restored.event_id}")
        if fact.draft is None or fact.body is None:
            assert fact.proof is not None, "of a file that nobody vouches for only beginnings are sent"
            return await self.producer.restore_change(fact.tenant, fact.memory_id, fact.restored, fact.proof, asked)
        return await self.producer.restore(_placed(fact, policy), fact.restored, fact.proof, asked)


def _placed(fact: Incoming, policy: Policy) -> Placed:
    draft, body = fact.draft, fact.body
    assert draft is not None
    assert body is not None
    rule = policy.kinds.get(draft.kind)
    alone = bool(body.about or draft.derived_from) or (rule is not None and rule.own_bucket)
    return Placed(
        tenant=TenantId(fact.tenant),
        subject=None if body.subject is None else checks.subject("subject", body.subject),
        about=tuple(checks.subject("about", each) for each in body.about),
        bucket=own_bucket(draft.memory_id) if alone else month_bucket(draft.expires_at),
        body=BODIES.encode(body),
        draft=draft,
    )


def in_use(facts: Iterable[Incoming]) -> tuple[Incoming, ...]:
    """The beginnings of records that were in use, or waited, at the end of the file."""
    found = tuple(facts)
    ended = {each.memory_id for each in found if each.restored.what in _ENDED}
    ended |= {old for each in found for old in each.restored.superseded}
    return tuple(each for each in found if each.draft is not None and each.memory_id not in ended)

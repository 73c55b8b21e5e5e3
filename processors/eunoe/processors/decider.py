"""Deciding one partition: fetch, receive, open, judge, commit, fold - in order, and never twice.

Everything that fails is answered the same way: the batch, the producer and the state are dropped, and the lane starts
again with an acquisition, which finds out from the log what became of the last transaction.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from aiokafka import TopicPartition

from eunoe.crypto.hierarchy import WrappedKey
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.records import to_record
from eunoe.domain.decide import decide
from eunoe.domain.entries import Entry, LedgerKey
from eunoe.domain.known import Known
from eunoe.domain.ledger_questions import follows_records, known, wanted
from eunoe.domain.ledger_state import fold
from eunoe.domain.ledger_tenants import cut_after, forgets, take
from eunoe.domain.ledger_unsealed import unsealed, with_unsealed
from eunoe.processors.acquisition import Acquisition, Held
from eunoe.processors.dead_letters import BadRecordGauge, DeadLetterBox
from eunoe.processors.errors import TooManyBadRecords
from eunoe.processors.heading import header_of
from eunoe.processors.issuing import Issuer
from eunoe.processors.ledger.ledger import Change, Ledger, Marks
from eunoe.processors.opening import Opener
from eunoe.processors.receiving import RawRecord, Received, Receiver, Refused, Verifiers
from eunoe.processors.transaction import Transactions, Writes, Written
from eunoe.runtime.installation import Installation
from eunoe.runtime.lane import heed_cancellation
from eunoe.runtime.metrics import BATCH_COMMANDS, DEAD_LETTERS, DECIDED, SILENT, TRANSACTION_SECONDS, Meter
from eunoe.schemas.codec import EVENTS, KEY_RECORDS
from eunoe.schemas.commands import (
    Command,
    CompleteTenantForgetting,
    CorrectMemory,
    ForgetTenant,
    RememberMemory,
    RestoreMemory,
)
from eunoe.schemas.events import (
    CommandRejected,
    Event,
    Fact,
    KeyIssued,
    MemoryQuarantined,
    SubjectForgotten,
    TenantForgotten,
)
from eunoe.schemas.ids import Millis, Offset, Partition, TenantId
from eunoe.schemas.policy import Policy
from eunoe.schemas.topics import Topic
from eunoe.schemas.values import Writing

_WAIT_MS: Final = 500


class Rules(Protocol):
    """A snapshot of ``memory-control``: what one batch is judged by."""

    @property
    def policy(self) -> Policy: ...
    @property
    def offset(self) -> Offset: ...
    @property
    def verifiers(self) -> Verifiers: ...
    def writing(self, tenant: TenantId, purposes: Sequence[str]) -> Writing: ...
    def reading(self, tenant: TenantId, purposes: Sequence[str]) -> bool: ...


class RuleSource(Protocol):
    def current(self) -> Rules:
        """The rules in force now. Raises where there is no policy yet."""
        ...


@dataclass(slots=True)
class _Judged:
    """A batch's decisions before they are committed: for each event, what it makes of the entries."""

    writes: Writes = field(default_factory=Writes)
    events: list[tuple[Event, dict[LedgerKey, Entry]]] = field(default_factory=list)
    decided_at: Millis = field(default=Millis(0))
    new_keys: set[TenantId] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDecider:
    """One lane. ``run`` is what `eunoe.runtime.lane.Lanes` calls; it returns only by an exception."""

    partition: Partition
    installation: Installation
    acquisition: Acquisition
    ledger: Ledger
    receiver: Receiver
    opener: Opener
    issuer: Issuer
    letters: DeadLetterBox
    gauge: BadRecordGauge
    transactions: Transactions
    rules: RuleSource
    keyring: Keyring
    batch: int = 500
    meter: Meter = SILENT
    at: Callable[[Offset], None] = lambda _: None
    """Told the next command to be decided: once the partition is acquired, and after each batch."""

    async def run(self) -> None:
        """Acquire the partition and decide until something fails or the task is cancelled."""
        self.rules.current()  # without a policy nothing is acquired
        async with self.acquisition.hold(self.partition, self.ledger) as held:
            marks = held.marks
            self.at(marks.next_input)
            arrivals: asyncio.Queue[Received | Refused] = asyncio.Queue(self.batch)
            fetching = asyncio.create_task(self._keep_fetching(held, arrivals))
            try:
                while True:
                    marks = await self.decide_batch(held, marks, await _all_of(arrivals, fetching))
                    self.at(marks.next_input)
                    heed_cancellation()
            finally:
                fetching.cancel()
                await asyncio.wait([fetching], timeout=_WAIT_MS / 1_000)

    async def _keep_fetching(self, held: Held, arrivals: "asyncio.Queue[Received | Refused]") -> None:
        """Fetch and check while a batch waits for Kafka and Redis, at most one batch ahead.

        Until the batch is taken, not once per batch: what was fetched when the batch before had just begun would be a
        few records, and everything that came later would wait for one more transaction (at 800 commands a second, from
        Kafka's answer to the ledger: p50 124 ms with one fetch a batch, 83 ms with this, measured).
        """
        while True:
            for each in await self.fetch(held):
                await arrivals.put(each)

    async def fetch(self, held: Held) -> Sequence[Received | Refused]:
        """The next records, each with its sender proven or refused; empty when none came for a while."""
        commands = TopicPartition(self.installation.topic(Topic.EVENTS), self.partition)
        fetched = await held.consumer.getmany(commands, timeout_ms=_WAIT_MS, max_records=self.batch)
        rules = self.rules.current()
        retention = rules.policy.idempotency_retention
        records = [
            RawRecord(Offset(each.offset), Millis(each.timestamp), each.key, each.value)
            for each in fetched.get(commands, ())
        ]
        return [self.receiver.receive(each, rules.verifiers, retention) for each in records]

    async def decide_batch(self, held: Held, marks: Marks, received: Sequence[Received | Refused]) -> Marks:
        """Decide what was fetched in one transaction, fold it, and return where the ledger is now."""
        usable, stop = self._within_limit(received)
        for piece in cut_after(usable, _may_end_tenant):
            if piece:
                marks = await self._decide(held, marks, self.rules.current(), piece)
        if stop is not None:
            raise stop
        return marks

    def _within_limit(
        self, received: Sequence[Received | Refused]
    ) -> tuple[Sequence[Received | Refused], TooManyBadRecords | None]:
        """What may be judged, and why the rest must stay unread."""
        for at, each in enumerate(received):
            if self.gauge.too_many(each.record, isinstance(each, Refused)):
                first = at
                while first and isinstance(received[first - 1], Refused):
                    first -= 1
                bad = [each for each in received[first:] if isinstance(each, Refused)]
                reasons = ", ".join(sorted({each.why for each in bad}))
                topic = self.installation.topic(Topic.EVENTS)
                last = bad[-1].record.offset
                stop = TooManyBadRecords(topic, self.partition, received[first].record.offset, last, reasons)
                return received[:first], stop
        return received, None

    async def _decide(self, held: Held, before: Marks, rules: Rules, received: Sequence[Received | Refused]) -> Marks:
        judged = _Judged(decided_at=before.decided_at)
        try:
            await self._judge(judged, before, rules, received)
            next_input = Offset(received[-1].record.offset + 1)
            started = time.perf_counter()
            offsets = await self.transactions.commit(held.producer, judged.writes, next_input)
            seconds = time.perf_counter() - started
        except BaseException:
            # Keys of a transaction that did not commit (or may not have) were never made.
            for tenant in judged.new_keys:
                self.keyring.evict_tenant(tenant)
            self.letters.forget_key()
            raise
        after = Marks(
            position=Offset(offsets[-1] + 1) if offsets else before.position,
            next_input=next_input,
            decided_at=judged.decided_at,
        )
        await self.ledger.write(before, _changes(judged, offsets), after)
        self._measure(judged, received, seconds)
        return after

    def _measure(self, judged: _Judged, received: Sequence[Received | Refused], seconds: float) -> None:
        self.meter.observe(TRANSACTION_SECONDS, seconds)
        self.meter.observe(BATCH_COMMANDS, len(received))
        for each in received:
            if isinstance(each, Refused):
                self.meter.add(DEAD_LETTERS, each.why.value)
        counted = Counter((type(event.fact).__name__, _reason(event.fact)) for event, _ in judged.events)
        for labels, amount in counted.items():
            self.meter.add(DECIDED, *labels, amount=amount)

    async def _judge(
        self, judged: _Judged, before: Marks, rules: Rules, received: Sequence[Received | Refused]
    ) -> None:
        entries: dict[LedgerKey, Entry | None] = {}
        commands = [each for each in received if isinstance(each, Received)]
        await self.ledger.complete(
            before.position,
            entries,
            lambda loaded: [key for each in commands for key in wanted(each.envelope.command_id, each.command, loaded)],
        )
        await self._foresee(before, commands, entries)
        for each in received:
            if isinstance(each, Refused):
                letter, fresh = self.letters.seal(each)
                judged.writes.letter(letter, each.record.timestamp)
                judged.writes.keys += [self._key_record(key) for key in fresh]
            else:
                await self._judge_one(judged, before, rules, each, entries)

    async def _foresee(
        self, before: Marks, commands: Sequence[Received], entries: dict[LedgerKey, Entry | None]
    ) -> None:
        """Load at once what the drafts of a batch may contradict or repeat, instead of in a round trip for each."""
        foreseen = []
        for each in commands:
            if isinstance(each.command, RememberMemory | CorrectMemory):
                told = known(each.envelope.command_id, each.command, entries)
                foreseen.append((each.command, told, self.opener.peek(each.command, told)))
        await self.ledger.complete(
            before.position, entries, lambda loaded: [key for each in foreseen for key in unsealed(*each, loaded)]
        )

    async def _judge_one(
        self,
        judged: _Judged,
        before: Marks,
        rules: Rules,
        received: Received,
        entries: dict[LedgerKey, Entry | None],
    ) -> None:
        command_id, command = received.envelope.command_id, received.command
        if follows_records(command):
            # What a record made in this very batch names may not be loaded yet.
            await self.ledger.complete(before.position, entries, lambda loaded: wanted(command_id, command, loaded))
        now = Millis(max(received.record.timestamp, judged.decided_at))
        what_is_known = known(command_id, command, entries)
        opened = await self.opener.open(received, what_is_known, rules.policy)
        # What it says is sealed: only now is it known what it may contradict, repeat or bring back (see `_foresee`).
        told, digests = what_is_known, opened.digests
        await self.ledger.complete(before.position, entries, lambda loaded: unsealed(command, told, digests, loaded))
        what_is_known = with_unsealed(told, command, digests, entries)
        purposes = _purposes(command, what_is_known)
        writing, reading = rules.writing(command.tenant, purposes), rules.reading(command.tenant, purposes)
        for fact in decide(opened, what_is_known, now, rules.policy, writing, reading=reading):
            event = Event(header=header_of(received, opened, fact, rules, now), fact=fact)
            changed = fold(entries, event)
            take(entries, event, changed)
            judged.decided_at = now
            judged.events.append((event, changed))
            judged.writes.events.append(Written(command.tenant.encode(), EVENTS.encode(event), now))
            if isinstance(fact, KeyIssued) and fact.created:
                judged.new_keys.add(command.tenant)
                made = await self.issuer.make(command.tenant, fact, opened, now)
                judged.writes.keys += [self._key_record(key) for key in made]
            elif isinstance(fact, SubjectForgotten):
                self.keyring.evict_subject(command.tenant, fact.subject)
            elif isinstance(fact, TenantForgotten):
                self.keyring.evict_tenant(command.tenant)

    def _key_record(self, key: WrappedKey) -> Written:
        record = KEY_RECORDS.encode(to_record(self.installation.log_id, key))
        return Written(key.key_id.encode(), record, key.created_at)


async def _all_of(
    arrivals: "asyncio.Queue[Received | Refused]", fetching: "asyncio.Task[None]"
) -> Sequence[Received | Refused]:
    """Everything that has arrived, at most a batch, once there is something. Raises what ended the fetching."""
    first = asyncio.create_task(arrivals.get())
    try:
        await asyncio.wait((first, fetching), return_when=asyncio.FIRST_COMPLETED)
        if not first.done():
            fetching.result()
    finally:
        first.cancel()
    found = [first.result()]
    while len(found) < arrivals.maxsize and not arrivals.empty():
        found.append(arrivals.get_nowait())
    return found


def _changes(judged: _Judged, offsets: Sequence[Offset]) -> list[Change]:
    return [
        Change(
            changed,
            Marks(
                position=Offset(offset + 1),
                next_input=Offset(event.header.input_offset + 1),
                decided_at=event.header.decided_at,
            ),
            forgets(event),
        )
        for (event, changed), offset in zip(judged.events, offsets, strict=True)
    ]


def _may_end_tenant(each: Received | Refused) -> bool:
    return isinstance(each, Received) and isinstance(each.command, ForgetTenant | CompleteTenantForgetting)


def _purposes(command: Command, known: Known) -> Sequence[str]:
    """The purposes the command is about, whose switches it is subject to."""
    if isinstance(command, RememberMemory | CorrectMemory | RestoreMemory) and command.draft is not None:
        return command.draft.purposes
    return () if known.memory is None else known.memory.purposes


def _reason(fact: Fact) -> str:
    match fact:
        case CommandRejected(reason=reason):
            return reason.value
        case MemoryQuarantined(reasons=reasons):
            return reasons[0].value if reasons else ""
        case _:
            return ""

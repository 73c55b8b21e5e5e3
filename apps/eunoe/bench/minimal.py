"""Deciding with minimal rules: the decider's own ledger and transaction, and of all rules only "not twice".

A record is decoded, its command id looked up in the ledger, the draft accepted as it is, the outcome committed with the
consumed offset, and the ledger written. No MAC is checked, nothing opened, no policy asked. It is put together here of
the decider's public parts, so production code has no switch for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aiokafka import ConsumerRecord

from eunoe.bench.copying import Loop
from eunoe.bench.pace import Pace
from eunoe.domain.entries import CommandSeen, Entry, LedgerKey, command_key
from eunoe.processors.ledger.ledger import Change, Ledger, Marks
from eunoe.processors.transaction import Transactions, Writes, Written
from eunoe.schemas.codec import COMMANDS, ENVELOPES, EVENTS
from eunoe.schemas.commands import Command, IssueKey, RememberMemory
from eunoe.schemas.envelope import Envelope
from eunoe.schemas.events import Event, EventHeader, Fact, KeyIssued, MemoryAccepted
from eunoe.schemas.ids import EventId, KeyId, Millis, Offset, derived_id, new_id
from eunoe.schemas.values import Confirmation, Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimalLane:
    """``transactions`` write to a topic that nobody else writes to, ``ledger`` is of this lane alone."""

    loop: Loop
    ledger: Ledger
    transactions: Transactions

    async def run(self, pace: Pace) -> None:
        """Decide until ``pace`` is over."""
        marks = replace(await self.ledger.marks(), next_input=Offset(self.loop.start))
        async with self.loop.clients() as (consumer, producer):
            while not pace.over:
                records = await self.loop.fetch(consumer, pace)
                if not records:
                    continue
                events, changes, decided_at = await self._judge(marks, records)
                next_input = Offset(records[-1].offset + 1)
                writes = Writes(events=[Written(key, EVENTS.encode(event), decided_at) for key, event in events])
                offsets = await self.transactions.commit(producer, writes, next_input)
                after = Marks(position=Offset(offsets[-1] + 1), next_input=next_input, decided_at=decided_at)
                moved = [
                    Change(
                        changed,
                        Marks(position=Offset(at + 1), next_input=Offset(record.offset + 1), decided_at=decided_at),
                    )
                    for changed, at, record in zip(changes, offsets, records, strict=True)
                ]
                await self.ledger.write(marks, moved, after)
                marks = after
                pace.finished(len(records))

    async def _judge(
        self, marks: Marks, records: Sequence[ConsumerRecord]
    ) -> tuple[list[tuple[bytes, Event]], list[dict[LedgerKey, Entry]], Millis]:
        received = [
            (each, envelope := ENVELOPES.decode(each.value), COMMANDS.decode(envelope.command)) for each in records
        ]
        names = [command_key(command.tenant, envelope.command_id) for _, envelope, command in received]
        entries: dict[LedgerKey, Entry | None] = {}
        await self.ledger.complete(marks.position, entries, lambda loaded: [n for n in names if n not in loaded])
        decided_at = Millis(max(marks.decided_at, records[-1].timestamp))
        events: list[tuple[bytes, Event]] = []
        changes: list[dict[LedgerKey, Entry]] = []
        for (record, envelope, command), name in zip(received, names, strict=True):
            if entries[name] is not None:
                raise RuntimeError("a benchmark's commands are all new")
            seen = CommandSeen(decided_at=decided_at)
            entries[name] = seen
            events.append(
                (record.key, Event(header=_header(record, envelope, command, decided_at), fact=_fact(command)))
            )
            changes.append({name: seen})
        return events, changes, decided_at


def _header(record: ConsumerRecord, envelope: Envelope, command: Command, now: Millis) -> EventHeader:
    return EventHeader(
        event_id=EventId(derived_id("event", envelope.command_id)),
        command_id=envelope.command_id,
        message_id=envelope.message_id,
        tenant=command.tenant,
        principal=envelope.principal,
        input_offset=Offset(record.offset),
        decided_at=now,
        policy_version=1,
        policy_hash="0" * 64,
        control_offset=Offset(0),
        idempotency=command.idempotency if isinstance(command, RememberMemory) else None,
    )


def _fact(command: Command) -> Fact:
    match command:
        case RememberMemory(draft=draft):
            return MemoryAccepted(
                draft=draft,
                incarnation=1,
                trust=Trust.ASSERTED,
                confirmation=Confirmation.CONFIRMED,
                content_hash=bytes(16),
            )
        case IssueKey(subject=subject, bucket=bucket):
            return KeyIssued(
                key_id=KeyId(new_id()), incarnation=1, subject=subject, generation=1, bucket=bucket, created=False
            )
        case _:
            raise TypeError(f"no rule for {type(command).__name__}")

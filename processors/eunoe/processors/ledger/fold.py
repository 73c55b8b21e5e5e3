"""Bringing the ledger up to a position of the log: what an acquisition does before anything is decided."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.domain.entries import Entry, LedgerKey
from eunoe.domain.ledger_state import fold, folds
from eunoe.domain.ledger_tenants import cut_after, forgets, take
from eunoe.domain.memory import ImpossibleFact
from eunoe.processors.errors import LedgerAheadOfLog, LogStartMovedOn, UnreadableEvent
from eunoe.processors.ledger.ledger import Change, Ledger, Marks
from eunoe.runtime.lane import heed_cancellation
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.events import Event
from eunoe.schemas.ids import Millis, Offset

_BATCH: Final = 500
_WAIT_MS: Final = 500


async def catch_up(ledger: Ledger, consumer: AIOKafkaConsumer, tp: TopicPartition, end: int) -> Marks:
    """Fold the log up to ``end`` (exclusive, a read-committed end offset) and return the marks.

    ``consumer`` reads committed records of ``tp`` and nothing else. Blocks for as long as there is to fold. Raises
    `LedgerAheadOfLog`, `LogStartMovedOn` or `UnreadableEvent`; none of them skips anything.
    """
    marks = await ledger.marks()
    start = (await consumer.beginning_offsets([tp]))[tp]
    if marks.position > end:
        raise LedgerAheadOfLog(tp.topic, tp.partition, marks.position, end)
    if marks.position < start:
        raise LogStartMovedOn(tp.topic, tp.partition, marks.position, start)
    consumer.seek(tp, marks.position)
    while await consumer.position(tp) < end:
        fetched = await consumer.getmany(tp, timeout_ms=_WAIT_MS, max_records=_BATCH)
        events = [(Offset(each.offset), _decoded(tp, each.offset, each.value)) for each in fetched.get(tp, ())]
        position = Offset(await consumer.position(tp))
        *ended, rest = cut_after(events, lambda each: forgets(each[1]) is not None)
        for part in ended:
            marks = await _fold_in(ledger, tp, marks, part, Offset(part[-1][0] + 1))
        marks = await _fold_in(ledger, tp, marks, rest, position)
        heed_cancellation()
    return marks


def _decoded(tp: TopicPartition, offset: int, value: bytes) -> Event:
    try:
        return EVENTS.decode(value)
    except SchemaError as error:
        raise UnreadableEvent(tp.topic, tp.partition, offset, str(error)) from error


async def _fold_in(
    ledger: Ledger, tp: TopicPartition, before: Marks, events: Sequence[tuple[Offset, Event]], position: Offset
) -> Marks:
    entries: dict[LedgerKey, Entry | None] = {}
    changes: list[Change] = []
    marks = before
    await ledger.complete(
        before.position, entries, lambda loaded: [key for _, event in events for key in folds(event, loaded)]
    )
    for offset, event in events:
        # What a record loaded or made by this batch names (whom it is about, what it replaces) may be missing still.
        await ledger.complete(before.position, entries, partial(folds, event))
        try:
            changed = fold(entries, event)
        except ImpossibleFact as error:
            raise UnreadableEvent(tp.topic, tp.partition, offset, str(error)) from error
        take(entries, event, changed)
        marks = after_event(marks, event, offset)
        changes.append(Change(changed, marks, forgets(event)))
    final = Marks(position=position, next_input=marks.next_input, decided_at=marks.decided_at)
    await ledger.write(before, changes, final)
    return final


def after_event(before: Marks, event: Event, offset: Offset) -> Marks:
    """The marks once ``event`` at ``offset`` is folded; neither input nor time ever steps back."""
    return Marks(
        position=Offset(offset + 1),
        next_input=Offset(max(before.next_input, event.header.input_offset + 1)),
        decided_at=Millis(max(before.decided_at, event.header.decided_at)),
    )

"""Reading traces back from ``memory-access``: what was given to whom, and which answers a record had gone into.

A trace says what its client wrote down; it is not signed. Who may look is for `Reading` to say.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import msgspec
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from eunoe.crypto.errors import CryptoError, KeyClosed, KeySourceUnavailable, RetiredKek, WrongKek
from eunoe.crypto.keyring import Keyring
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.deadline import within
from eunoe.runtime.installation import Installation
from eunoe.schemas.codec import TRACES
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.ids import MemoryId, Millis, TenantId
from eunoe.schemas.topics import Topic
from eunoe.schemas.traces import ASKED, Asked, Trace, TraceKind, place_of

log = logging.getLogger(__name__)

TIMEOUT_S: Final = 120.0
"""For a partition of 30 days of traces, of which some ten thousand a second are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTrace:
    """A trace, and what was asked: ``query`` is None where the caller may not see it, or its day's key is gone."""

    trace: Trace
    query: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """Oldest first, each trace once. ``unreadable``: records of the topic that are no traces this version knows.

    ``unopened``: traces shown without what was asked, though nothing says that their key was destroyed.
    """

    traces: tuple[ReadTrace, ...]
    unreadable: int = 0
    unopened: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceQuery:
    """Which traces; None: any. ``since`` in ms. ``memory_id``: those that delivered it."""

    tenant: TenantId
    since: Millis | None = None
    trace_id: str | None = None
    session_id: str | None = None
    memory_id: MemoryId | None = None
    kind: TraceKind | None = None

    def wants(self, trace: Trace) -> bool:
        return (
            trace.tenant == self.tenant
            and (self.since is None or trace.at >= self.since)
            and (self.trace_id is None or trace.trace_id == self.trace_id)
            and (self.session_id is None or trace.session_id == self.session_id)
            and (self.kind is None or trace.kind is self.kind)
            and (self.memory_id is None or any(each.memory_id == self.memory_id for each in trace.delivered))
        )


async def traces_of(
    bootstrap: Bootstrap,
    installation: Installation,
    keyring: Keyring,
    asked: TraceQuery,
    *,
    may_see: Callable[[Trace], bool],
    may_open: Callable[[Trace], bool],
) -> Traces:
    """The traces of a tenant that ``may_see`` lets through. Reads its partition (30 days) from ``since`` on.

    Raises `BrokerAway`, and what a key source that does not answer raises.
    """
    place = TopicPartition(installation.topic(Topic.ACCESS), installation.partition_of(asked.tenant))
    found: dict[str, ReadTrace] = {}
    unreadable = unopened = 0

    async def take(record: ConsumerRecord) -> None:
        nonlocal unreadable, unopened
        if record.key != asked.tenant.encode():
            return
        try:
            trace = TRACES.decode(record.value or b"")
        except SchemaError:
            unreadable += 1
            return
        if trace.trace_id not in found and asked.wants(trace) and may_see(trace):
            opened = None
            try:
                opened = await _opened(keyring, trace) if may_open(trace) else None
            except NotOpened:
                unopened += 1
            found[trace.trace_id] = ReadTrace(
                trace=trace,
                query=None if opened is None else opened.query,
                subject=None if opened is None else opened.subject,
            )

    await _each(bootstrap, place, asked.since, take)
    traces = tuple(sorted(found.values(), key=lambda each: each.trace.at))
    return Traces(traces=traces, unreadable=unreadable, unopened=unopened)


async def _each(
    bootstrap: Bootstrap, place: TopicPartition, since: Millis | None, take: Callable[[ConsumerRecord], Awaitable[None]]
) -> None:
    consumer = AIOKafkaConsumer(**connecting(bootstrap), enable_auto_commit=False, auto_offset_reset="earliest")
    async with within(TIMEOUT_S, "reading traces"):
        try:
            await consumer.start()
            consumer.assign([place])
            end = (await consumer.end_offsets([place]))[place]
            if since is not None:
                at = (await consumer.offsets_for_times({place: int(since)}))[place]
                consumer.seek(place, end if at is None else at.offset)
            while end and await consumer.position(place) < end:
                for record in (await consumer.getmany(place, timeout_ms=200)).get(place, []):
                    await take(record)
        finally:
            await close_in_time(consumer.stop())


class NotOpened(Exception):
    """Not erased either: whoever wrote the trace named no key that there is, or sealed something else."""


async def _opened(keyring: Keyring, trace: Trace) -> Asked | None:
    """None where nothing is sealed, or the day's key is destroyed. Raises `NotOpened`, and what is wrong with this
    process or the key store: one trace that a client made up keeps nobody from the others."""
    if not trace.sealed:
        return None
    try:
        cipher = await keyring.access_cipher(trace.tenant, trace.key_id)
        return ASKED.decode(cipher.open(place_of(trace.trace_id, trace.tenant), trace.sealed))
    except KeyClosed:
        return None
    except (WrongKek, RetiredKek, KeySourceUnavailable):
        raise
    except (CryptoError, msgspec.MsgspecError) as error:
        log.debug("what a trace asked for cannot be opened: %s", type(error).__name__)
        raise NotOpened from error

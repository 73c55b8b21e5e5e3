"""Traces never hold a read up: what has no room is dropped and counted, what has no key is kept without its query."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from eunoe.crypto.cipher import new_key
from eunoe.crypto.errors import KeySourceUnavailable
from eunoe.crypto.hierarchy import KekWrapper, KeyKind, KeyMeta, WrappedKey, new_plain, wrap_key
from eunoe.crypto.kek import LocalKek
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.keys import DayCipher
from eunoe.producers.traces import NO_KEY, AccessKeys, TraceWriter
from eunoe.runtime.installation import Installation
from eunoe.runtime.metrics import TRACES, Metric
from eunoe.schemas.commands import IssueKey
from eunoe.schemas.ids import Bucket, CommandId, KeyId, LogId, Millis, TenantId
from eunoe.schemas.outcomes import Outcome, OutcomeStatus
from eunoe.schemas.topics import TopicNames
from eunoe.schemas.traces import ASKED, Asked, Trace, day_of, encode_asked, place_of
from eunoe.testing.key_source import InMemoryKeySource
from eunoe.testing.samples import SAMPLE_TENANT, SAMPLE_TIME, sample_trace

LOG = LogId("log")
NOWHERE = "127.0.0.1:1"
TODAY = day_of(SAMPLE_TIME)


@dataclass
class Issuing:
    """Answers a request for an access key as the decider and the ``keys`` model would, unless it is ``silent``."""

    source: InMemoryKeySource = field(default_factory=InMemoryKeySource)
    kek: LocalKek = field(default_factory=lambda: LocalKek(bytes(32)))
    asked: list[IssueKey] = field(default_factory=list)
    issued: dict[tuple[TenantId, Bucket], WrappedKey] = field(default_factory=dict)
    silent: bool = False
    refuses: str | None = None

    def __post_init__(self) -> None:
        meta = KeyMeta(
            key_id=KeyId("tenant"), kind=KeyKind.TENANT, tenant=SAMPLE_TENANT, incarnation=1, created_at=SAMPLE_TIME
        )
        if not self.issued:
            self.source.put(wrap_key(KekWrapper(self.kek), LOG, new_plain(meta.kind), meta))
        self.keyring = Keyring(LOG, self.kek, self.source, lambda: Millis(SAMPLE_TIME))

    async def ask(self, request: IssueKey) -> CommandId:
        self.asked.append(request)
        if not (self.silent or self.refuses):
            asyncio.get_running_loop().call_later(0.02, lambda: asyncio.ensure_future(self._issue(request)))
        return CommandId("command")

    async def _issue(self, request: IssueKey) -> None:
        assert request.bucket is not None
        meta = KeyMeta(
            key_id=KeyId(f"access-{len(self.issued)}"),
            kind=KeyKind.ACCESS,
            tenant=request.tenant,
            incarnation=1,
            bucket=request.bucket,
            created_at=SAMPLE_TIME,
        )
        wrapped = wrap_key(await self.keyring.tenant(request.tenant), LOG, new_key(), meta)
        self.source.put(wrapped)
        self.issued[request.tenant, request.bucket] = wrapped

    async def access_key(self, tenant: TenantId, incarnation: int, day: Bucket) -> WrappedKey | None:
        if not self.source.available:
            raise KeySourceUnavailable("memory", "switched off by the test")
        return self.issued.get((tenant, day))

    def keys(self, patience: float = 5.0) -> AccessKeys:
        return AccessKeys(self.keyring, self, self.ask, self, patience)

    async def wait(self, tenant: TenantId, command_id: CommandId, timeout: float) -> Outcome:
        return Outcome(
            command_id=command_id,
            status=OutcomeStatus.DONE if self.refuses is None else OutcomeStatus.REJECTED,
            kind="KeyIssued",
            decided_at=Millis(SAMPLE_TIME),
            token="",
            reason=self.refuses,
        )


class Counting:
    def __init__(self) -> None:
        self.fates: Counter[str] = Counter()

    def add(self, metric: Metric, *labels: str, amount: float = 1) -> None:
        assert metric is TRACES
        self.fates[labels[0]] += int(amount)

    def observe(self, metric: Metric, value: float) -> None:
        pass


def writer(keys: AccessKeys, meter: Counting, room: int = 10, patience: float = 0.3) -> TraceWriter:
    installation = Installation(log_id=LOG, partitions=4, names=TopicNames(prefix=""))
    return TraceWriter(NOWHERE, installation, keys, meter=meter, room=room, patience=patience)


def bare(trace_id: str = "t-1") -> Trace:
    return sample_trace(trace_id=trace_id, key_id=NO_KEY, sealed=b"")


async def test_a_day_has_one_key_that_is_asked_for_once() -> None:
    issuing = Issuing()
    keys = issuing.keys()
    first = await keys.cipher(SAMPLE_TENANT, TODAY)
    assert isinstance(first, DayCipher)
    assert await keys.cipher(SAMPLE_TENANT, TODAY) is first
    assert issuing.asked == [IssueKey(tenant=SAMPLE_TENANT, bucket=TODAY)]
    other = await keys.cipher(SAMPLE_TENANT, day_of(Millis(SAMPLE_TIME + 86_400_000)))
    assert isinstance(other, DayCipher)
    assert other.key_id != first.key_id
    again = Issuing(issuing.source, issuing.kek, issued=issuing.issued)
    found = await again.keys().cipher(SAMPLE_TENANT, TODAY)
    assert found is not None
    assert (found.key_id, again.asked) == (first.key_id, [])


async def test_what_is_sealed_opens_only_where_it_belongs() -> None:
    cipher = await Issuing().keys().cipher(SAMPLE_TENANT, TODAY)
    assert cipher is not None
    sealed = cipher.seal(place_of("t-1", SAMPLE_TENANT), encode_asked(Asked("green tea", "anna")))
    assert b"tea" not in sealed
    assert ASKED.decode(cipher.open(place_of("t-1", SAMPLE_TENANT), sealed)) == Asked("green tea", "anna")


async def test_a_key_that_does_not_come_is_not_waited_for_again_at_once() -> None:
    issuing = Issuing(silent=True)
    keys = issuing.keys(patience=0.05)
    assert await keys.cipher(SAMPLE_TENANT, TODAY) is None
    assert await keys.cipher(SAMPLE_TENANT, TODAY) is None
    assert len(issuing.asked) == 1
    issuing.source.available = False
    assert await issuing.keys(patience=0.05).cipher(SAMPLE_TENANT, TODAY) is None


async def test_a_refusal_is_not_waited_out() -> None:
    issuing = Issuing(refuses="tenant_not_open")
    async with asyncio.timeout(2):
        assert await issuing.keys(patience=30).cipher(SAMPLE_TENANT, TODAY) is None
    assert len(issuing.asked) == 1


async def test_a_full_buffer_refuses_at_once_and_counts() -> None:
    meter = Counting()
    async with writer(Issuing(silent=True).keys(0.1), meter, room=3) as traces:
        taken = [traces.offer(bare(f"t-{at}"), Asked("tea")) for at in range(5)]
        assert taken == [True, True, True, False, False]
        assert meter.fates["no_room"] == 2
        assert not await traces.flushed(0.2)  # they are kept for when Kafka is back
        assert traces.offer(bare(), Asked("tea"))
    # Kafka was not there: none of them is counted as written.
    assert meter.fates["not_confirmed"] == 4
    assert meter.fates["written"] == 0


async def test_closing_ends_in_time_and_later_traces_are_refused() -> None:
    meter = Counting()
    traces = writer(Issuing().keys(), meter)
    assert not traces.offer(bare(), Asked("tea"))  # nobody writes yet
    async with traces:
        traces.offer(bare(), Asked("tea"))
    assert not traces.offer(bare(), Asked("tea"))
    assert meter.fates["not_confirmed"] == 1
    assert meter.fates["without_query"] == 0

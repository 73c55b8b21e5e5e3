"""Every metric in one table: what it counts, and what to do about it.

Code that measures is given a `Meter`; a worker's one feeds Prometheus, the default one is silent. No label names a
tenant, a subject or a record: their number is unbounded, and who is talked about is nobody's business here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Protocol


class Kind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """``counts`` is the help text; ``act`` says what an operator does about it. Seconds and counts, no other units."""

    name: str
    kind: Kind
    counts: str
    act: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


DECIDED: Final = Metric(
    name="eunoe_commands_decided_total",
    kind=Kind.COUNTER,
    counts="Commands decided, by the fact that answers them and the reason of a refusal or quarantine",
    act="A rise of version_conflict: writers race. not_allowed, source_not_allowed: a client is configured wrongly. "
    "MemoryQuarantined: the review queue grows",
    labels=("fact", "reason"),
)
BATCH_COMMANDS: Final = Metric(
    name="eunoe_decide_batch_commands",
    kind=Kind.HISTOGRAM,
    counts="Records of memory-events in one transaction",
    act="Always at the configured batch: the decider is the slowest stage; add workers, up to one per partition",
    buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000),
)
TRANSACTION_SECONDS: Final = Metric(
    name="eunoe_decide_transaction_seconds",
    kind=Kind.HISTOGRAM,
    counts="From the first send of a transaction to its commit",
    act="Above 0.1 at rest: look at the broker, its disk and replication",
    buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 40),
)
DEAD_LETTERS: Final = Metric(
    name="eunoe_dead_letters_total",
    kind=Kind.COUNTER,
    counts="Records that could not be judged, by reason",
    act="unauthenticated: a wrong or retired secret. misrouted: a client with another partitioner. undecodable, "
    "unknown_schema: a stray or newer writer. overdue: a client's clock, or a replayed record",
    labels=("reason",),
)
RESTARTS: Final = Metric(
    name="eunoe_lane_restarts_total",
    kind=Kind.COUNTER,
    counts="Lanes that began again because Kafka or Redis failed them, by service and error",
    act="A few around a rebalance or a restart are normal; a steady rate is not: read the worker's log",
    labels=("service", "error"),
)
LANES: Final = Metric(
    name="eunoe_lanes",
    kind=Kind.GAUGE,
    counts="Partitions of this worker, by service and state",
    act="Any in `stalled` needs a person: /readyz and the log say what stands still, and how to go on",
    labels=("service", "state"),
)
JOINS: Final = Metric(
    name="eunoe_group_joins",
    kind=Kind.GAUGE,
    counts="How often a service's group gave this worker its partitions: once, and once more for each rebalance",
    act="Rising without workers coming or going: one of them misses heartbeats; look for a blocked event loop",
    labels=("service",),
)
NOT_READY: Final = Metric(
    name="eunoe_not_ready",
    kind=Kind.GAUGE,
    counts="What keeps this worker from being ready, by item of /readyz: how many places fail it",
    act="Any above 0 for a minute: /readyz of that worker names the places and says why",
    labels=("item",),
)
TASKS: Final = Metric(
    name="eunoe_tasks",
    kind=Kind.GAUGE,
    counts="Unfinished asyncio tasks of the process: a few for each service and partition",
    act="Rising while the number of partitions stays: something is started and never ended; restart the worker",
)
LAG: Final = Metric(
    name="eunoe_consumer_lag_offsets",
    kind=Kind.GAUGE,
    counts="Offsets from where a service is to the last stable offset of its topic, asked of the broker and not of the "
    "lane; transaction markers count",
    act="Growing: `eunoe lag` says which groups; see the runbook lag-grows",
    labels=("service", "partition"),
)
LAG_SECONDS: Final = Metric(
    name="eunoe_consumer_lag_seconds",
    kind=Kind.GAUGE,
    counts="Since when this worker knows of records that a service has not worked on; 0 when it is at the end. After a "
    "restart it counts anew: `eunoe lag` reads the age from the record itself",
    act="As for eunoe_consumer_lag_offsets; readers fail closed once a read model lags more than max_read_lag",
    labels=("service", "partition"),
)
UNMOVED_SECONDS: Final = Metric(
    name="eunoe_partition_unmoved_seconds",
    kind=Kind.GAUGE,
    counts="For how long a service stands still on a partition that has records waiting; 0 while it moves or is at the "
    "end",
    act="Above stuck_after the worker is not ready and has dumped its stacks to the log; see the runbook "
    "partition-stuck",
    labels=("service", "partition"),
)
WRITE_TO_READABLE_SECONDS: Final = Metric(
    name="eunoe_write_to_readable_seconds",
    kind=Kind.HISTOGRAM,
    counts="From the append of a command to its fact in `recall`, the oldest of each batch; counts once the model has "
    "been at the end of the log, and no fact twice",
    act="Above what agents were promised: eunoe_decide_batch_commands and eunoe_consumer_lag_offsets say which stage "
    "is the slow one. Needs the clocks of broker and worker to agree",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 15, 60),
)
UNREADABLE_SECONDS: Final = Metric(
    name="eunoe_write_unreadable_seconds",
    kind=Kind.GAUGE,
    counts="Since when the oldest write waits that is not yet known to be readable in a read model: 0 when all are. A "
    "heartbeat of positions through command, decision and fold; needs no traffic",
    act="Growing: something on the way stands still; eunoe_consumer_lag_seconds says whether the decider or the model",
    labels=("model", "partition"),
)
SWEEP_DELAY_SECONDS: Final = Metric(
    name="eunoe_sweep_delay_seconds",
    kind=Kind.GAUGE,
    counts="Since when the longest overdue record is due and not yet expired; readers leave it out all the same",
    act="Above a minute: the decider lags, or refuses the sweeper's proposals; look for not_due and unauthenticated",
    labels=("partition",),
)
SWEEP_IDLE_SECONDS: Final = Metric(
    name="eunoe_sweep_idle_seconds",
    kind=Kind.GAUGE,
    counts="Since when the sweeper of a partition has not finished a look at what is due",
    act="Above stuck_after the worker is not ready: Redis or Kafka does not answer it",
    labels=("partition",),
)
PROJECTED: Final = Metric(
    name="eunoe_projected_offset",
    kind=Kind.GAUGE,
    counts="Next offset that a read model folds; its rate is about the events projected a second",
    act="Flat while `behind` grows: the lane waits or is stalled",
    labels=("model", "partition"),
)
BEHIND: Final = Metric(
    name="eunoe_projection_behind",
    kind=Kind.GAUGE,
    counts="Committed offsets that a read model has not folded",
    act="Growing: add workers. Readers fail closed once it lags more than max_read_lag",
    labels=("model", "partition"),
)
HEALED: Final = Metric(
    name="eunoe_projection_healed",
    kind=Kind.GAUGE,
    counts="How often Redis was not where the running lane had left it, and was filled again from the log",
    act="Redis was flushed, failed over or lost its last seconds: look at its persistence",
    labels=("model",),
)
CONTROL_OFFSET: Final = Metric(
    name="eunoe_control_offset",
    kind=Kind.GAUGE,
    counts="How far memory-control has been read",
    act="Workers that differ for more than two seconds: one of them does not reach the topic",
)
SEARCH_SECONDS: Final = Metric(
    name="eunoe_search_seconds",
    kind=Kind.HISTOGRAM,
    counts="Searches, from the question to the opened records",
    act="Above 0.05: a large scope, a cold key cache or a slow Redis",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2),
)
SEARCH_RECORDS: Final = Metric(
    name="eunoe_search_records",
    kind=Kind.HISTOGRAM,
    counts="Records a search returned",
    act="Mostly 0: wrong agent or purpose in the scope, or queries without usable terms",
    buckets=(0, 1, 2, 5, 10, 20, 50),
)
TRACES: Final = Metric(
    name="eunoe_traces_total",
    kind=Kind.COUNTER,
    counts="Traces of reads, by what became of them",
    act="no_room, not_confirmed: reads left no trace; Kafka is slow or away. refused: Kafka does not let this client "
    "write memory-access. without_query: no access key came; is a worker deciding, and may the principal read?",
    labels=("fate",),
)

REVIEW_ITEMS: Final = Metric(
    name="eunoe_review_items",
    kind=Kind.GAUGE,
    counts="Quarantined memories and open conflicts that wait for a person",
    act="Growing: `eunoe review list` shows them; a source or a detector may be too strict, or reviewers too few",
    labels=("partition",),
)
REVIEW_AGE_SECONDS: Final = Metric(
    name="eunoe_review_age_seconds",
    kind=Kind.GAUGE,
    counts="How long the oldest item waits for a person, by the reason why it waits (one item may have several)",
    act="Above what was promised to authors: decide the oldest first, `eunoe review list --reason REASON`",
    labels=("partition", "reason"),
)
KEYS_REWRAPPED: Final = Metric(
    name="eunoe_keys_rewrapped_total",
    kind=Kind.COUNTER,
    counts="Keys wrapped anew while a key-encryption key is rotated",
    act="None although a rotation is under way: is a worker with the role shred running that holds both keys; "
    "`eunoe keys status`",
)
KEYS_DESTROYED: Final = Metric(
    name="eunoe_keys_destroyed_total",
    kind=Kind.COUNTER,
    counts="Tombstones written for keys, by cause: subject, record (forgotten or expired), time_over",
    act="None for a day, although records expire: is a worker with the role shred running",
    labels=("cause",),
)
SHRED_PENDING: Final = Metric(
    name="eunoe_shred_pending",
    kind=Kind.GAUGE,
    counts="People, records and keys that are due to be destroyed and are not yet",
    act="Above 0 for a minute: the shredder does not reach memory-keys; /readyz and its log say why",
    labels=("partition",),
)
SHRED_OLDEST_SECONDS: Final = Metric(
    name="eunoe_shred_oldest_seconds",
    kind=Kind.GAUGE,
    counts="Since when the oldest of them is due",
    act="As for eunoe_shred_pending; what was promised to people is counted from here",
    labels=("partition",),
)

RECEIPTS: Final = Metric(
    name="eunoe_erasure_receipts_total",
    kind=Kind.COUNTER,
    counts="Erasure receipts written, by stage",
    act="logical without compacted for longer than the key topic's settings say: is a worker shredding, is the "
    "broker's cleaner alive? `eunoe receipt list` shows which",
    labels=("stage",),
)
ATTEST_PENDING: Final = Metric(
    name="eunoe_erasures_unproved",
    kind=Kind.GAUGE,
    counts="Forgotten people whose last receipt is not written yet",
    act="Not falling: see the receipts' stages; a read model that lags holds up the first, a cleaner the second",
    labels=("partition",),
)

ERASURE_STAGE_SECONDS: Final = Metric(
    name="eunoe_erasure_stage_seconds",
    kind=Kind.GAUGE,
    counts="Since when the longest waiting erasure is decided, by the stage it waits for next; 0 where none waits",
    act="logical: a serving read model lags. compacted: the broker's cleaner, or the shredder, stands still. scanned: "
    "removed segment files are still there, or cannot be read from this machine",
    labels=("partition", "stage"),
)

METRICS: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        each.name: each
        for each in (
            DECIDED,
            BATCH_COMMANDS,
            TRANSACTION_SECONDS,
            DEAD_LETTERS,
            RESTARTS,
            LANES,
            JOINS,
            NOT_READY,
            TASKS,
            LAG,
            LAG_SECONDS,
            UNMOVED_SECONDS,
            WRITE_TO_READABLE_SECONDS,
            UNREADABLE_SECONDS,
            SWEEP_DELAY_SECONDS,
            SWEEP_IDLE_SECONDS,
            PROJECTED,
            BEHIND,
            HEALED,
            CONTROL_OFFSET,
            SEARCH_SECONDS,
            SEARCH_RECORDS,
            REVIEW_ITEMS,
            REVIEW_AGE_SECONDS,
            TRACES,
            RECEIPTS,
            ATTEST_PENDING,
            ERASURE_STAGE_SECONDS,
            KEYS_DESTROYED,
            KEYS_REWRAPPED,
            SHRED_PENDING,
            SHRED_OLDEST_SECONDS,
        )
    }
)


class Meter(Protocol):
    """Takes measurements. Neither call blocks or raises."""

    def add(self, metric: Metric, *labels: str, amount: float = 1) -> None:
        """Count ``amount`` on a counter. ``labels``: values, in the order of ``metric.labels``."""
        ...

    def observe(self, metric: Metric, value: float) -> None:
        """One value of a histogram."""
        ...


class SilentMeter:
    """Measures nothing."""

    def add(self, metric: Metric, *labels: str, amount: float = 1) -> None:
        pass

    def observe(self, metric: Metric, value: float) -> None:
        pass


SILENT: Final[Meter] = SilentMeter()

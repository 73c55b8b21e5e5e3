"""Every topic eunoe uses, in one table: name, key, retention, and why.

Nothing else in the code spells a topic name. A prefix keeps several installations apart on one cluster; partition
counts are fixed at creation, for a tenant's partition must never move.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

_DAY_MS: Final = 86_400_000


class Topic(StrEnum):
    """The logical topics. The name on the cluster is ``TopicNames.name(topic)``."""

    EVENTS = "memory-events"
    LIFECYCLE = "memory-lifecycle"
    KEYS = "memory-keys"
    CONTROL = "memory-control"
    ACCESS = "memory-access"
    RECEIPTS = "memory-receipts"
    DEAD_LETTERS = "memory-dead-letters"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """What a topic must look like on the cluster.

    ``partitioned`` topics share one partition count (a tenant has one partition number in all of them); the others
    have a single partition. ``config`` is what creation sets and what a check compares.
    """

    topic: Topic
    partitioned: bool
    config: Mapping[str, str]


# Bodies are ciphertext: compression buys little and would hide bytes from a scan for them.
_COMMON: Final = {"compression.type": "uncompressed", "max.message.bytes": "1048588"}
_LARGER: Final = "2097152"
"""A dead letter holds a whole record of another topic, sealed: it must fit however large that was."""
_FOR_EVER: Final = {**_COMMON, "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


def _kept(days: int, **more: str) -> Mapping[str, str]:
    config = {**_COMMON, "cleanup.policy": "delete", "retention.ms": str(days * _DAY_MS)}
    return MappingProxyType(config | {name.replace("_", "."): value for name, value in more.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysCleaning:
    """How soon a destroyed key is gone from the files of ``memory-keys``. All in milliseconds.

    A segment is closed after ``segment``; what a tombstone replaces is cleaned away at most ``lag`` later; the old
    file stays under another name for ``file_delay``. ``tombstones``: how long a tombstone is kept, which is how long
    a projector of keys may be away and still learn of every destruction.
    """

    segment: int = 600_000
    lag: int = 900_000
    tombstones: int = _DAY_MS
    file_delay: int = 60_000


USUAL_CLEANING: Final = KeysCleaning()
QUICK_CLEANING: Final = KeysCleaning(segment=2_000, lag=3_000, tombstones=60_000, file_delay=1_000)
"""For development and tests, where nobody wants to wait: gone in about five seconds (measured)."""


def _keys_config(cleaning: KeysCleaning) -> Mapping[str, str]:
    return MappingProxyType(
        {
            **_COMMON,
            "cleanup.policy": "compact",
            "segment.ms": str(cleaning.segment),
            "max.compaction.lag.ms": str(cleaning.lag),
            "min.compaction.lag.ms": "0",
            "min.cleanable.dirty.ratio": "0.01",
            "delete.retention.ms": str(cleaning.tombstones),
            "file.delete.delay.ms": str(cleaning.file_delay),
        }
    )


SPECS: Final[Mapping[Topic, TopicSpec]] = MappingProxyType(
    {
        spec.topic: spec
        for spec in (
            # Append time is the broker's: a producer's clock decides nothing.
            TopicSpec(
                topic=Topic.EVENTS,
                partitioned=True,
                config=_kept(30, message_timestamp_type="LogAppendTime"),
            ),
            TopicSpec(topic=Topic.LIFECYCLE, partitioned=True, config=MappingProxyType(_FOR_EVER)),
            # Short segments and a low dirty ratio, so that a tombstoned key is really gone soon.
            TopicSpec(topic=Topic.KEYS, partitioned=True, config=_keys_config(USUAL_CLEANING)),
            # Kept, not compacted: "the first that replaces offset n wins" does not survive compaction (ADR 0009).
            TopicSpec(topic=Topic.CONTROL, partitioned=False, config=MappingProxyType(_FOR_EVER)),
            TopicSpec(topic=Topic.ACCESS, partitioned=True, config=_kept(30)),
            TopicSpec(topic=Topic.RECEIPTS, partitioned=True, config=MappingProxyType(_FOR_EVER)),
            TopicSpec(topic=Topic.DEAD_LETTERS, partitioned=True, config=_kept(14, max_message_bytes=_LARGER)),
        )
    }
)


def specs_with(cleaning: KeysCleaning) -> tuple[TopicSpec, ...]:
    """Every topic, ``memory-keys`` cleaned as told."""
    keys = TopicSpec(topic=Topic.KEYS, partitioned=True, config=_keys_config(cleaning))
    return tuple(keys if spec.topic is Topic.KEYS else spec for spec in SPECS.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicNames:
    """Names on the cluster: the prefix, then the logical name."""

    prefix: str = ""

    def name(self, topic: Topic) -> str:
        return f"{self.prefix}{topic.value}"

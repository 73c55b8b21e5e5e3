"""Whether ``memory-keys`` loses what is destroyed, and how soon: what its settings say, checked before anything else.

A tombstone only makes the old value removable. It goes when its segment is rolled and cleaned, and a topic or broker
that does neither would keep every destroyed key while everybody believes it gone.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from eunoe.processors.shredding.errors import KeysWouldStay
from eunoe.runtime.kafka import TopicAdmin, TopicRefused

LONGEST_MS: Final = 86_400_000
"""A destroyed key that may stay longer than a day is not what a person was promised."""
_DEFAULT_LAG: Final = 2**63 - 1
_DEFAULT_SEGMENT: Final = 604_800_000
_BUSY_MS: Final = 30_000
"""A cleaner that has other partitions to clean first may take this long, whatever the settings say."""


class Cleaning(Struct, frozen=True, kw_only=True):
    """Milliseconds: how long a segment stays open, how long a value under a tombstone may stay, and how long a file
    that was cleaned away stays on disk under another name."""

    segment: int
    lag: int
    file_delay: int

    @property
    def settle(self) -> int:
        """How long after a tombstone the log has to be kept moving: twice what the settings say it takes."""
        return max(_BUSY_MS, 2 * (min(self.segment, self.lag) + self.lag) + self.file_delay)


def cleaning_of(topic: Mapping[str, str]) -> Cleaning:
    """``topic``: the settings in force, inherited ones too. Absent ones count as Kafka's defaults."""
    return Cleaning(
        segment=int(topic.get("segment.ms", _DEFAULT_SEGMENT)),
        lag=int(topic.get("max.compaction.lag.ms", _DEFAULT_LAG)),
        file_delay=int(topic.get("file.delete.delay.ms", 60_000)),
    )


def problems_of(topic: Mapping[str, str], brokers: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """What would keep destroyed keys, one line each. ``brokers``: each one's settings, by its id."""
    if topic.get("cleanup.policy") != "compact":
        yield f"cleanup.policy is {topic.get('cleanup.policy')}, and must be compact alone"
    lag = int(topic.get("max.compaction.lag.ms", _DEFAULT_LAG))
    if lag > LONGEST_MS:
        yield f"max.compaction.lag.ms is {lag}, and may be a day ({LONGEST_MS})"
    least = int(topic.get("min.compaction.lag.ms", 0))
    if least > lag or least > LONGEST_MS:
        yield f"min.compaction.lag.ms is {least}, and may be neither above max.compaction.lag.ms nor above a day"
    delay = int(topic.get("file.delete.delay.ms", 60_000))
    if delay > LONGEST_MS:
        yield f"file.delete.delay.ms is {delay}, and may be a day ({LONGEST_MS})"
    for broker, settings in sorted(brokers.items()):
        if settings.get("log.cleaner.enable", "true") != "true":
            yield f"log.cleaner.enable is false on broker {broker}"


async def check_cleaning(admin: TopicAdmin, topic: str) -> Cleaning:
    """The settings of ``topic`` (its name on the cluster). Raises `KeysWouldStay`, and what ``admin`` does."""
    settings = (await admin.configs([topic]))[topic]
    try:
        brokers = await admin.broker_configs()
    except TopicRefused:  # a managed cluster shows nobody its brokers; without a cleaner it could not even keep offsets
        brokers = {}
    problems = tuple(problems_of(settings, brokers))
    if problems:
        raise KeysWouldStay(topic, problems)
    return cleaning_of(settings)

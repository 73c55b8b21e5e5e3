"""The end of a log is read, and never more of it than is kept."""

from dataclasses import dataclass, field
from typing import Any

from aiokafka import TopicPartition

from eunoe.console.tail import Tail


@dataclass
class Log:
    """As much of a consumer as a tail asks for: records are their offsets; every third offset is a marker."""

    ends: dict[int, int]
    fetched: int = 0
    positions: dict[TopicPartition, int] = field(default_factory=dict)

    def assign(self, places: list[TopicPartition]) -> None:
        self.positions = dict.fromkeys(places, 0)

    def seek(self, place: TopicPartition, offset: int) -> None:
        self.positions[place] = offset

    async def position(self, place: TopicPartition) -> int:
        return self.positions[place]

    async def end_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: self.ends[place.partition] for place in places}

    async def getmany(self, *places: TopicPartition, timeout_ms: int, max_records: int) -> Any:
        found = {}
        for place in places:
            start, end = self.positions[place], min(self.ends[place.partition], self.positions[place] + 4)
            found[place] = [offset for offset in range(start, end) if offset % 3 != 2]
            self.fetched += len(found[place])
            self.positions[place] = end
        return found


def tail(log: Log, kept: int = 10) -> Tail[int]:
    return Tail(log, "memory-lifecycle", len(log.ends), kept, lambda offset: None if offset == 7 else offset)


async def test_the_newest_of_each_partition_are_kept() -> None:
    log = Log({0: 100, 1: 9, 2: 0})
    newest = tail(log)
    await newest.refresh()
    assert [each for partition, each in newest if partition == 0] == [90, 91, 93, 94, 96, 97, 99]
    assert [each for partition, each in newest if partition == 1] == [0, 1, 3, 4, 6]
    assert not [each for partition, each in newest if partition == 2]


async def test_a_second_look_reads_only_what_came_since() -> None:
    log = Log({0: 100})
    newest = tail(log)
    await newest.refresh()
    before = log.fetched
    await newest.refresh()
    assert log.fetched == before
    log.ends[0] = 103
    await newest.refresh()
    assert log.fetched == before + 2
    assert [each for _, each in newest][-2:] == [100, 102]


async def test_of_a_log_that_grows_faster_the_middle_is_passed_over() -> None:
    log = Log({0: 100})
    newest = tail(log)
    await newest.refresh()
    before = log.fetched
    log.ends[0] = 1_000_000
    await newest.refresh()
    assert log.fetched - before <= 10
    assert [each for _, each in newest][-1] == 999_999


async def test_a_log_that_was_recreated_begins_anew() -> None:
    log = Log({0: 100})
    newest = tail(log)
    await newest.refresh()
    log.ends[0] = 4
    await newest.refresh()
    assert [each for _, each in newest] == [0, 1, 3]

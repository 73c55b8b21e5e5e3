"""The log is read as it is at one moment, though sweepers go on writing commands while it is read."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from eunoe.runtime.installation import Installation
from eunoe.schemas.ids import LogId
from eunoe.schemas.topics import Topic, TopicNames
from eunoe.testing.chaos import logged

INSTALLATION = Installation(log_id=LogId("log"), partitions=1, names=TopicNames())


async def test_what_was_decided_of_a_command_that_came_meanwhile_is_read_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lying: dict[Topic, list[str]] = {Topic.EVENTS: ["a"], Topic.LIFECYCLE: ["a"], Topic.DEAD_LETTERS: []}
    read: list[Topic] = []

    async def records(bootstrap: object, installation: object, topic: Topic) -> AsyncIterator[Any]:
        read.append(topic)
        if read == [Topic.EVENTS, Topic.LIFECYCLE]:  # asked and decided between the two
            lying[Topic.EVENTS].append("b")
            lying[Topic.LIFECYCLE].append("b")
        for each in lying[topic]:
            yield each

    monkeypatch.setattr(logged, "_records", records)
    for name in ("_asked", "_decided", "_lettered"):
        monkeypatch.setattr(logged, name, lambda record: record)
    found = await logged.read_log("kafka", INSTALLATION)
    assert [*map(str, found.asked)] == [*map(str, found.decided)] == ["a", "b"]
    assert read.count(Topic.EVENTS) == 3

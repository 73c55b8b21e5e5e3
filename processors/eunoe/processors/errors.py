"""What stops a decider's partition, each with what to do. Everything else is the world's and is tried again."""

from eunoe.runtime.lane import LaneStalled


class LedgerAheadOfLog(LaneStalled):
    """The ledger has folded what the log does not have: the topic was truncated or recreated. Blame: log."""

    def __init__(self, topic: str, partition: int, position: int, end: int) -> None:
        super().__init__(
            f"the ledger stands at {topic}[{partition}] offset {position}, but that log ends at {end}: it was "
            "truncated or recreated. Restore the topic, or delete the ledger's keys so that it is folded anew"
        )


class LogStartMovedOn(LaneStalled):
    """Retention cut what the ledger has not folded yet. Blame: log."""

    def __init__(self, topic: str, partition: int, position: int, start: int) -> None:
        super().__init__(
            f"the ledger stands at {topic}[{partition}] offset {position}, but that log starts at {start}: "
            "it must be kept for ever. Restore it before anything is decided"
        )


class UnreadableEvent(LaneStalled):
    """A fact on the lifecycle log cannot be decoded or folded. Blame: log. Nothing is decided past it."""

    def __init__(self, topic: str, partition: int, offset: int, problem: str) -> None:
        super().__init__(f"{topic}[{partition}] offset {offset}: {problem}. Nothing is decided until it is readable")


class TooManyBadRecords(LaneStalled):
    """More unusable records than a stray client explains. Blame: whoever writes them."""

    def __init__(self, topic: str, partition: int, first: int, last: int, reasons: str) -> None:
        super().__init__(
            f"{topic}[{partition}] offsets {first}-{last}: too many unusable records ({reasons}); they stay unread. "
            f"Stop the client that writes them; to dead-letter them and go on: "
            f"eunoe worker --accept-bad {partition}:{first}-{last}"
        )


class NotAMember(Exception):
    """The group did not confirm that the partition is ours. Blame: world; tried again until a rebalance tells."""

    def __init__(self, partition: int) -> None:
        super().__init__(f"the group does not confirm partition {partition} as ours")


class KeysLagBehind(Exception):
    """A key is missing and the key models have not caught up: nothing can be said of it. Blame: world; tried again."""

    def __init__(self, partition: int) -> None:
        super().__init__(
            f"a key of partition {partition} is not there, and the models `keys` and `subjects` are behind the log: "
            "is a projecting worker running?"
        )


class CommandsLost(LaneStalled):
    """Retention deleted commands that nobody had decided. Blame: operations. They have no outcome and never will."""

    def __init__(self, topic: str, partition: int, first: int, start: int) -> None:
        super().__init__(
            f"{topic}[{partition}]: commands {first}-{start - 1} were deleted by retention before they were decided. "
            f"Their senders got no outcome. To go on without them: "
            f"eunoe worker --accept-bad {partition}:{first}-{start - 1}"
        )


class CannotWrite(LaneStalled):
    """Kafka refuses what has to be written, and always will. Blame: a topic's settings. Nothing was consumed."""

    def __init__(self, topic: str, partition: int, problem: str) -> None:
        super().__init__(
            f"{topic}[{partition}] refuses a record ({problem}): compare the topic's max.message.bytes with "
            "`eunoe topics apply`; the commands stay unread until it takes them"
        )

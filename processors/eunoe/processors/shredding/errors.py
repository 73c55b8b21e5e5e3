"""What stops a shredder's partition, each with what to do. Everything else is the world's and is tried again."""

from eunoe.runtime.lane import LaneStalled


class KeysWouldStay(LaneStalled):
    """The settings of ``memory-keys`` or of its broker keep what is destroyed. Blame: operations."""

    def __init__(self, topic: str, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__(
            f"{topic} would keep destroyed keys: {'; '.join(problems)}. Change it, then restart this worker; until "
            "then nothing is destroyed"
        )


class GuardedKey(LaneStalled):
    """A tenant's key was about to be destroyed with a person's. Blame: a bug, or a log that nobody of ours wrote."""

    def __init__(self, topic: str, partition: int, key_id: str) -> None:
        super().__init__(
            f"{topic}[{partition}]: what is due names the tenant key {key_id}; it was not destroyed, and nothing is "
            "until a person has looked at what the log says"
        )

"""What goes wrong between eunoe and the world, split by blame. None of it ever holds memory content.

`CallerFault`: whoever called or configured has to change something. `LogFault`: the topics are not what they should be.
`WorldFault`: something does not answer; trying again later may succeed.
"""

from dataclasses import dataclass


class RuntimeFault(Exception):
    """Base of this area."""

    retryable = False


class CallerFault(RuntimeFault):
    """The caller, or the configuration."""


class LogFault(RuntimeFault):
    """The log: another one than expected, or not in the shape it must have."""


class WorldFault(RuntimeFault):
    """Kafka or Redis does not answer."""

    retryable = True


@dataclass(eq=False)
class BrokerAway(WorldFault):
    """Kafka did not answer in time, or (``after_seconds`` None) took no connection. Nothing is known to have been
    written, and nothing was reported as written."""

    doing: str
    after_seconds: float | None

    def __str__(self) -> str:
        if self.after_seconds is None:
            return f"Kafka takes no connection: {self.doing} was not possible"
        return f"Kafka did not answer within {self.after_seconds:g} s while {self.doing}"


@dataclass(eq=False)
class LoginRefused(CallerFault):
    """Kafka answers, and does not let this login in."""

    servers: str
    username: str | None
    reason: str

    def __str__(self) -> str:
        who = "this client" if self.username is None else f"the user {self.username}"
        return (
            f"Kafka at {self.servers} does not let {who} in ({self.reason}); look at EUNOE_KAFKA_USERNAME, "
            "EUNOE_KAFKA_PASSWORD or its file, and EUNOE_KAFKA_SECURITY_PROTOCOL, _SASL_MECHANISM and _CA"
        )


@dataclass(eq=False)
class NotInstalled(LogFault):
    """There is no genesis record: `eunoe topics apply` has not run for this prefix, or not to its end."""

    topic: str
    problem: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.problem}; run `eunoe topics apply`"


@dataclass(eq=False)
class LogCutOff(LogFault):
    """What is kept for ever is not there any more from its beginning: retention, or somebody, cut it off."""

    topic: str
    partition: int
    start: int

    def __str__(self) -> str:
        return (
            f"{self.topic}/{self.partition} begins at offset {self.start}: what lay before is gone, and with it the "
            "record by which this log is known. Restore the topic from a copy of it (a mirror, or a backup of the "
            "broker's files). Do not make it anew: that would be another log, with which nothing here could be read"
        )


@dataclass(eq=False)
class WrongPartitionCount(LogFault):
    """A topic has another number of partitions than the log was opened with. A tenant's partition must never move."""

    topic: str
    expected: int
    found: int

    def __str__(self) -> str:
        return f"{self.topic} has {self.found} partitions, but the log was opened with {self.expected}"


@dataclass(eq=False)
class MixedLog(LogFault):
    """The partitions of ``memory-lifecycle`` disagree on which log they are: one of them was recreated or replaced."""

    topic: str
    partition: int
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition} belongs to log {self.found}, the other partitions to {self.expected}"


@dataclass(eq=False)
class ForeignLog(LogFault):
    """Redis holds the read models of another log: recreated topics, or a Redis that serves another installation."""

    prefix: str
    expected: str
    found: str

    def __str__(self) -> str:
        return (
            f"Redis knows log {self.expected} for prefix {self.prefix!r}, but Kafka now holds log {self.found}: "
            "the topics were recreated, or this is another installation's Redis"
        )


@dataclass(eq=False)
class StaleControl(CallerFault):
    """Somebody else changed the same record first. Look at what is in force now, and decide again."""

    name: str
    replaces: int
    current: int

    def __str__(self) -> str:
        return (
            f"{self.name}: made against offset {self.replaces}, but {self.current} is in force; look at it and repeat"
        )


@dataclass(eq=False)
class PolicyNotNewer(CallerFault):
    """Another policy of this version, or of a later one, is in force. Events name the version: it must tell which."""

    version: int
    in_force: int

    def __str__(self) -> str:
        same = "another policy of that version" if self.version == self.in_force else "a later version"
        return (
            f"version {self.version} cannot follow version {self.in_force}: {same} is in force. Nothing was published; "
            f"set version = {self.in_force + 1} in the file (to go back, publish the old rules under that number)"
        )


@dataclass(eq=False)
class NotASigner(CallerFault):
    """The key is none of the installation's ``control_signers``."""

    signer: str

    def __str__(self) -> str:
        return f"{self.signer!r} is not one of control_signers, so what it signs would be ignored"


@dataclass(eq=False)
class ControlRefused(CallerFault):
    """The record was written and every process ignores it; ``problem`` says why."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.name}: not adopted: {self.problem}"

"""What can go wrong with the stack. The world is to blame for all of it: try again once the reason is gone."""

from dataclasses import dataclass
from pathlib import Path


class StackError(Exception):
    """Base of everything this package raises."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One provider that was tried: why it could not serve, and what would make it able to."""

    provider: str
    reason: str
    remedy: str


class StackUnavailable(StackError):
    """No provider can serve. The text names each one that was tried and what to install or set."""

    def __init__(self, attempts: tuple[Attempt, ...]) -> None:
        self.attempts = attempts
        lines = [f"  {a.provider}: {a.reason}\n    -> {a.remedy}" for a in attempts]
        super().__init__("\n".join(["no Kafka and Redis could be had; tried:", *lines]))


class NoStackHere(StackError):
    """Nothing says where Kafka and Redis are: no stack was started for this folder, and no setting names them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        super().__init__(
            f"no stack is running here (looked in {directory}): start one with `eunoe up`, or say where Kafka and "
            "Redis are with EUNOE_KAFKA and EUNOE_REDIS, or with --config FILE"
        )


class UnknownProvider(StackError):
    """``EUNOE_STACK`` names a provider that does not exist."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name = name
        self.known = known
        super().__init__(f"EUNOE_STACK={name!r}: unknown provider, choose one of {', '.join(known)}")


class ProgramMissing(StackError):
    """A program the local provider needs is neither installed nor packaged for this Python."""

    def __init__(self, program: str, looked_in: tuple[str, ...], remedy: str) -> None:
        self.program = program
        self.looked_in = looked_in
        self.remedy = remedy
        super().__init__(f"no {program} (looked in: {'; '.join(looked_in)}). {remedy}")


class DownloadFailed(StackError):
    """The broker's jars could not be fetched whole. Nothing half-finished was kept."""

    def __init__(self, what: str, reason: str) -> None:
        self.what = what
        self.reason = reason
        super().__init__(f"could not download {what}: {reason}")


class StartFailed(StackError):
    """A service ended, or did not answer in time. ``tail`` is the end of its own log (no memory content is in it)."""

    def __init__(self, service: str, reason: str, log: Path, tail: str) -> None:
        self.service = service
        self.reason = reason
        self.log = log
        self.tail = tail
        super().__init__(f"{service} did not start: {reason} (log: {log})\n{tail}".rstrip())


class StopFailed(StackError):
    """A process outlived SIGKILL by the deadline."""

    def __init__(self, service: str, pid: int) -> None:
        self.service = service
        self.pid = pid
        super().__init__(f"{service} (process {pid}) did not end after SIGKILL")


class StackBusy(StackError):
    """Another process held the lock of this directory for longer than the deadline."""

    def __init__(self, lock: Path, seconds: float) -> None:
        self.lock = lock
        self.seconds = seconds
        super().__init__(f"another process has held {lock} for {seconds:.0f} s")


class NotAnswering(StackError):
    """A service that should be there does not answer."""

    def __init__(self, service: str, address: str) -> None:
        self.service = service
        self.address = address
        super().__init__(f"{service} does not answer at {address}")

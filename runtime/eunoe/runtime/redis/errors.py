"""What goes wrong between a projection and its Redis."""

from dataclasses import dataclass

from redis.exceptions import ResponseError


class ProjectionError(Exception):
    """Base of this package's errors."""


@dataclass(eq=False)
class WatermarkMismatch(ProjectionError):
    """The projection is not where its writer left it: Redis was flushed or failed over, or another writer moved it.

    Blame: world. What to do: read the watermark again and go on from there; nothing was written or judged.
    """

    key: str
    expected: int
    found: int

    def __str__(self) -> str:
        return f"{self.key}: expected position {self.expected}, found {self.found}"


class FunctionsUnavailable(ProjectionError):
    """Redis has no Functions. Blame: world."""

    def __str__(self) -> str:
        return (
            "this Redis has no Functions for us (FUNCTION is unknown or not allowed): eunoe needs Redis 7 or newer, "
            "and a user that may call FUNCTION and FCALL"
        )


class SlotMoving(ProjectionError, ResponseError):
    """The slot is on its way from one node of a Redis Cluster to another: neither holds all of it.

    Blame: world. What to do: ask again. Nothing was written, and no part of an answer is given.
    """

    def __init__(self, *said: object, status_code: str | None = None) -> None:
        ResponseError.__init__(self, *said, status_code=status_code)

    def __str__(self) -> str:
        return "the partition is being moved to another Redis node"


@dataclass(eq=False)
class LibraryMissing(ProjectionError):
    """This Redis has not got the Functions of this version, and this user may not load them, so that none can put its
    own in their place. Blame: world. What to do: a worker of this version that projects loads them at its start."""

    library: str

    def __str__(self) -> str:
        return f"Redis has no library {self.library}: a worker of this version, which may load it, has not run here yet"

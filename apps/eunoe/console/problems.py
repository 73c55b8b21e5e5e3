"""What keeps a part from answering, in words. A library's text may quote anything, so its errors are named by type."""

from collections.abc import Sequence
from types import UnionType
from typing import Final

from aiokafka.errors import GroupAuthorizationFailedError, KafkaError, TopicAuthorizationFailedError
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError, ResponseError

from eunoe.console.known_log import LogChanged
from eunoe.console.snapshot import Problem, Service
from eunoe.readmodels.errors import StoreUnavailable
from eunoe.runtime.errors import ForeignLog, LogCutOff, MixedLog, NotInstalled, WorldFault, WrongPartitionCount
from eunoe.runtime.redis.errors import FunctionsUnavailable
from eunoe.schemas.ids import Millis

SILENT = "does not answer"


_SAID: Final[tuple[tuple[type[Exception] | UnionType, Service, str], ...]] = (
    (NotInstalled, Service.KAFKA, "has no log of this installation; run `eunoe topics apply`"),
    (LogCutOff, Service.KAFKA, "has lost the beginning of the log: restore it from a copy"),
    (MixedLog | WrongPartitionCount, Service.KAFKA, "has topics that do not belong together"),
    (LogChanged, Service.KAFKA, "has another log than before"),
    (ForeignLog, Service.REDIS, "holds the read models of another log"),
    (FunctionsUnavailable, Service.REDIS, "has no Functions for us"),
    (AuthenticationError | NoPermissionError, Service.REDIS, "does not let the console in"),
    (ResponseError, Service.REDIS, "answers with an error"),
    (RedisError | StoreUnavailable, Service.REDIS, SILENT),
    (GroupAuthorizationFailedError | TopicAuthorizationFailedError, Service.KAFKA, "does not let the console in"),
    (KafkaError | WorldFault, Service.KAFKA, SILENT),
)
"""The first that fits is said."""


class Unanswered(Exception):
    """A look took longer than it may. Whose fault it was, who else is silent tells."""


def problem_of(error: BaseException, asked: Sequence[Service], silent: Sequence[Service], since: Millis) -> Problem:
    """``asked``: whom the part asks; ``silent``: who is known not to answer at this moment."""
    if isinstance(error, Unanswered | OSError | TimeoutError):
        # A part that asks Redis alone still had to learn from Kafka which log it is.
        named = [each for each in asked if each in silent] or silent or asked
        return Problem(who=" or ".join(named), what=SILENT, since=since)
    for kinds, who, what in _SAID:
        if isinstance(error, kinds):
            return Problem(who=who.value, what=what, since=since)
    return Problem(who=Service.CONSOLE.value, what=f"has a bug here ({type(error).__name__})", since=since)

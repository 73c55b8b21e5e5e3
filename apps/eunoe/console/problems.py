"""What keeps a part from answering, in words. A library's text may quote anything, so its errors are named by type."""

from collections.abc import Sequence

from aiokafka.errors import KafkaError
from redis.exceptions import AuthenticationError, RedisError

from eunoe.console.known_log import LogChanged
from eunoe.console.snapshot import Problem, Service
from eunoe.readmodels.errors import StoreUnavailable
from eunoe.runtime.errors import ForeignLog, MixedLog, NotInstalled, WorldFault, WrongPartitionCount
from eunoe.runtime.redis.errors import FunctionsUnavailable
from eunoe.schemas.ids import Millis

SILENT = "does not answer"


class Unanswered(Exception):
    """A look took longer than it may. Whose fault it was, who else is silent tells."""


def problem_of(error: BaseException, asked: Sequence[Service], silent: Sequence[Service], since: Millis) -> Problem:
    """``asked``: whom the part asks; ``silent``: who is known not to answer at this moment."""
    match error:
        case NotInstalled():
            return _problem(Service.KAFKA, "has no log of this installation; run `eunoe topics apply`", since)
        case MixedLog() | WrongPartitionCount():
            return _problem(Service.KAFKA, "has topics that do not belong together", since)
        case LogChanged():
            return _problem(Service.KAFKA, "has another log than before", since)
        case ForeignLog():
            return _problem(Service.REDIS, "holds the read models of another log, or none yet", since)
        case FunctionsUnavailable():
            return _problem(Service.REDIS, "has no Functions for us", since)
        case AuthenticationError():
            return _problem(Service.REDIS, "does not let the console in", since)
        case RedisError() | StoreUnavailable():
            return _problem(Service.REDIS, SILENT, since)
        case KafkaError() | WorldFault():
            return _problem(Service.KAFKA, SILENT, since)
        case Unanswered() | OSError() | TimeoutError():
            # A part that asks Redis alone still had to learn from Kafka which log it is.
            named = [each for each in asked if each in silent] or silent or asked
            return Problem(who=" or ".join(named), what=SILENT, since=since)
        case _:
            return _problem(Service.CONSOLE, f"has a bug here ({type(error).__name__})", since)


def _problem(who: Service, what: str, since: Millis) -> Problem:
    return Problem(who=who.value, what=what, since=since)

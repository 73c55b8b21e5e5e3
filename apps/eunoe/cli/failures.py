"""What can go wrong, as an exit code and one paragraph: the one place that maps errors to what the caller sees.

0 success, 1 a refusal or a failed check, 2 wrong usage, 3 Kafka or Redis cannot be reached. Texts of our own errors
hold no memory content; those of a library might, so they are named by type.
"""

import json
import os
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import click

DEBUG_VARIABLE: Final = "EUNOE_DEBUG"


class Exit(IntEnum):
    SUCCESS = 0
    REFUSED = 1
    USAGE = 2
    UNREACHABLE = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """``name`` is a type, for programs; ``message`` is for people."""

    code: Exit
    name: str
    message: str

    @property
    def document(self) -> str:
        return json.dumps({"error": self.name, "message": self.message}, ensure_ascii=False)


def failure_of(error: Exception) -> Failure:
    """How ``error`` is reported."""
    if isinstance(error, click.ClickException):
        code = Exit.USAGE if isinstance(error, click.UsageError) else Exit.REFUSED
        return Failure(code, type(error).__name__, error.format_message())
    for base, code in _bases():
        if isinstance(error, base):
            return Failure(code, type(error).__name__, _text(error))
    hint = f"set {DEBUG_VARIABLE}=1 to see where"
    return Failure(Exit.REFUSED, type(error).__name__, f"this is a bug in eunoe ({type(error).__name__}); {hint}")


def debugging() -> bool:
    return bool(os.environ.get(DEBUG_VARIABLE))


def _bases() -> tuple[tuple[type[Exception], Exit], ...]:
    """The first that fits decides. Imported when something failed, not at every start."""
    from aiokafka.errors import KafkaError
    from redis.exceptions import RedisError

    from eunoe.client.line_problems import BadLine
    from eunoe.crypto.errors import CryptoError, CryptoWorldError, KekUnusable, SecretUnusable
    from eunoe.producers.errors import CallerError
    from eunoe.readmodels.errors import NoOutcome
    from eunoe.readmodels.recall.analyse_words import LoneSurrogate
    from eunoe.readmodels.recall.errors import BadScope, RecallError
    from eunoe.runtime.errors import RuntimeFault, WorldFault
    from eunoe.runtime.lane import LaneStalled
    from eunoe.runtime.redis.errors import ProjectionError
    from eunoe.runtime.settings import SettingsError
    from eunoe.schemas.errors import SchemaError
    from eunoe.schemas.outcomes import BadToken
    from eunoe.schemas.policy_file import PolicyError
    from eunoe.stack.errors import StackError, UnknownProvider
    from eunoe.worker.errors import BadAcceptance, RoleUnavailable

    usage: tuple[type[Exception], ...] = (SettingsError, UnknownProvider, BadLine, BadScope, BadToken)
    usage += (LoneSurrogate, CallerError, RoleUnavailable, BadAcceptance, KekUnusable, SecretUnusable)
    away = (WorldFault, StackError, CryptoWorldError, RedisError, KafkaError, ConnectionError, TimeoutError)
    ours = (RuntimeFault, CryptoError, RecallError, ProjectionError, SchemaError, PolicyError, LaneStalled)
    return (
        *((base, Exit.USAGE) for base in usage),
        # The world answers, only not with an outcome: the command was not accepted as far as anybody knows.
        (NoOutcome, Exit.REFUSED),
        *((base, Exit.UNREACHABLE) for base in away),
        *((base, Exit.REFUSED) for base in ours),
    )


def _advice(error: Exception) -> str:
    from eunoe.readmodels.errors import StoreUnavailable
    from eunoe.runtime.errors import BrokerAway

    for kind, service, page in ((BrokerAway, "Kafka", "broker-lost"), (StoreUnavailable, "Redis", "redis-lost")):
        if isinstance(error, kind):
            return f"; is {service} up? `eunoe status` shows the local stack, docs/runbooks/{page}.md what to look at"
    return ""


def _text(error: Exception) -> str:
    ours = type(error).__module__.startswith("eunoe.")
    text = str(error) if ours else ""
    if text:
        return text + _advice(error)
    service = type(error).__module__.partition(".")[0]
    where = {"redis": "Redis", "aiokafka": "Kafka"}.get(service, "the service")
    return f"{where} cannot be reached ({type(error).__name__}); is it running? `eunoe status` shows the local stack"

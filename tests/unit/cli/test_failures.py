"""Every kind of error has one exit code and one paragraph; what is not ours is not quoted."""

import json

import aiokafka.errors
import click
import pytest
import redis.exceptions

from eunoe.cli.failures import Exit, failure_of
from eunoe.client.line_problems import BadLine
from eunoe.crypto.errors import KekUnusable, KeySourceUnavailable, WrongKek
from eunoe.readmodels.errors import NoOutcome, StoreUnavailable
from eunoe.readmodels.recall.errors import BadScope, ReadRefused
from eunoe.runtime.errors import BrokerAway, ForeignLog, LogCutOff, NotInstalled, StaleControl
from eunoe.runtime.redis.errors import FunctionsUnavailable
from eunoe.runtime.settings import SettingProblem, SettingsError
from eunoe.schemas.ids import CommandId, TenantId
from eunoe.schemas.outcomes import BadToken
from eunoe.stack.errors import NotAnswering, UnknownProvider
from eunoe.worker.errors import RoleUnavailable


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (click.UsageError("no such option"), Exit.USAGE),
        (SettingsError((SettingProblem("EUNOE_KAFKA", "must be host:port"),)), Exit.USAGE),
        (UnknownProvider("x", ("local",)), Exit.USAGE),
        (BadLine("confidence", "must be a number"), Exit.USAGE),
        (BadScope("agent", "not a name"), Exit.USAGE),
        (BadToken(), Exit.USAGE),
        (RoleUnavailable("shred", "later"), Exit.USAGE),
        (KekUnusable("kek", "is not set"), Exit.USAGE),
        (BrokerAway("sending", 3), Exit.UNREACHABLE),
        (StoreUnavailable("reading", "ConnectionError"), Exit.UNREACHABLE),
        (KeySourceUnavailable("redis", "away"), Exit.UNREACHABLE),
        (NotAnswering("kafka", "host:1"), Exit.UNREACHABLE),
        (redis.exceptions.ConnectionError("secret"), Exit.UNREACHABLE),
        (aiokafka.errors.KafkaConnectionError("secret"), Exit.UNREACHABLE),
        (NotInstalled("t", "no topic"), Exit.REFUSED),
        (LogCutOff("t", 1, 7), Exit.REFUSED),
        (ForeignLog("", "a", "b"), Exit.REFUSED),
        (StaleControl("policy", 1, 2), Exit.REFUSED),
        (WrongKek("a", "b"), Exit.REFUSED),
        (FunctionsUnavailable(), Exit.REFUSED),
        (ReadRefused("reads_off", TenantId("t")), Exit.REFUSED),
        (NoOutcome(CommandId("c"), 3), Exit.REFUSED),
    ],
)
def test_the_code_says_whose_turn_it_is(error: Exception, code: Exit) -> None:
    failure = failure_of(error)
    assert failure.code is code
    assert failure.message
    assert json.loads(failure.document) == {"error": type(error).__name__, "message": failure.message}


@pytest.mark.parametrize(
    "error",
    [
        ValueError("Prefers tea"),
        redis.exceptions.ResponseError("Prefers tea"),
        aiokafka.errors.KafkaError("Prefers tea"),
        ConnectionError("Prefers tea"),
    ],
)
def test_a_text_that_is_not_ours_is_not_repeated(error: Exception) -> None:
    assert "Prefers" not in failure_of(error).document


def test_a_bug_is_called_one_and_says_how_to_see_more() -> None:
    failure = failure_of(KeyError("x"))
    assert failure.code is Exit.REFUSED
    assert "bug" in failure.message
    assert "EUNOE_DEBUG" in failure.message

"""Whatever becomes of a line is in the report, and keeps no other line from being sent."""

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from eunoe.client.ingesting import Report, ingest
from eunoe.client.lines import Line, RememberLine
from eunoe.client.memory import Memory
from eunoe.producers.client import Sent
from eunoe.producers.errors import CallerError, KeyRefused, NoKeyYet, NotSent
from eunoe.producers.proposal import Placed
from eunoe.readmodels.errors import NoOutcome
from eunoe.schemas.ids import CommandId, Millis, TenantId
from eunoe.schemas.outcomes import Outcome, OutcomeStatus

CANARY = "zanzibar"
KEPT = Outcome(command_id=CommandId("c"), status=OutcomeStatus.ACCEPTED, kind="x", decided_at=Millis(1), token="t")
CLOSED = Outcome(
    command_id=CommandId("c"),
    status=OutcomeStatus.REJECTED,
    kind="x",
    decided_at=Millis(1),
    token="t",
    reason="subject_closed",
)


class _Sent:
    def __init__(self, unconfirmed: Exception | None, outcome: Outcome | Exception) -> None:
        self.unconfirmed, self.decided = unconfirmed, outcome

    async def written(self) -> None:
        if self.unconfirmed is not None:
            raise self.unconfirmed

    async def outcome(self, timeout: float) -> Outcome:
        await self.written()
        if isinstance(self.decided, Exception):
            raise self.decided
        return self.decided


class _Memory:
    """Does with a line what stands under its agent's name."""

    def __init__(self, **fates: dict[str, Any]) -> None:
        self.fates = fates
        self.tried: list[str] = []

    def _fate(self, line: Line, step: str) -> Any:
        assert isinstance(line, RememberLine)
        return self.fates.get(line.agent, {}).get(step)

    def place(self, line: Line) -> Line:
        if (problem := self._fate(line, "place")) is not None:
            raise problem
        return line

    def has_keys(self, ready: Line) -> bool:
        return self._fate(ready, "keys") is None

    async def prefetch(self, ready: Line) -> None:
        raise self._fate(ready, "keys")

    async def send(self, line: Line, *, idempotency_key: str, ready: Placed) -> Sent:
        assert isinstance(line, RememberLine)
        self.tried.append(line.agent)
        if (problem := self._fate(line, "send")) is not None:
            raise problem
        return cast("Sent", _Sent(self._fate(line, "written"), self._fate(line, "outcome") or KEPT))


def line(agent: str) -> bytes:
    fields = {"op": "remember", "tenant": "acme", "agent": agent, "purposes": ["support"], "statement": CANARY}
    return json.dumps({**fields, "source": {"kind": "tool", "uri": "x"}, "ttl": "P1D"}).encode()


async def report_of(memory: _Memory, agents: Sequence[str], **options: Any) -> Report:
    seen: list[int] = []
    report = await ingest(cast("Memory", memory), [line(each) for each in agents], progress=seen.append, **options)
    assert sum(seen) == len(agents), "each line is finished once"
    return report


@pytest.mark.parametrize(
    ("step", "problem", "said"),
    [
        ("place", CallerError("ttl", "is missing"), "ttl: is missing"),
        ("place", ZeroDivisionError(CANARY), "failed unexpectedly (ZeroDivisionError)"),
        ("keys", NoKeyYet(TenantId("acme"), 20), "no key for tenant acme came within 20 s"),
        ("keys", KeyError(CANARY), "failed unexpectedly (KeyError)"),
        ("send", NoKeyYet(TenantId("acme"), 20), "no key for tenant acme came within 20 s"),
        ("send", RuntimeError(CANARY), "failed unexpectedly (RuntimeError)"),
        ("written", NotSent("taking a command", 0.0, "MessageSizeTooLargeError"), "MessageSizeTooLargeError"),
        ("outcome", NoOutcome(CommandId("c"), 60), "no_outcome within 60 s"),
        ("outcome", ValueError(CANARY), "failed unexpectedly (ValueError)"),
    ],
)
async def test_a_line_that_fails_is_named_and_the_rest_goes_on(step: str, problem: Exception, said: str) -> None:
    memory = _Memory(bad={step: problem})
    report = await report_of(memory, ["good", "bad", "good"])
    assert [each.line for each in report.failed] == [2]
    assert said in report.failed[0].problem
    assert CANARY not in report.failed[0].problem
    assert (report.accepted, report.published) == (2, 3 if step == "outcome" else 2)


async def test_a_key_that_is_refused_is_the_line_refused() -> None:
    report = await report_of(_Memory(bad={"send": KeyRefused(CLOSED)}), ["good", "bad", "good"])
    assert (report.accepted, dict(report.rejected), report.failed) == (2, {"subject_closed": 1}, [])


async def test_when_kafka_is_away_the_rest_is_not_tried_and_the_report_says_what_has_arrived() -> None:
    memory = _Memory(away={"send": NotSent("buffering a command", 30.0, "KafkaTimeoutError")})
    report = await report_of(memory, ["good", "good", "away", "good", "good"])
    assert memory.tried == ["good", "good", "away"]
    assert (report.published, report.accepted) == (2, 2)
    assert [each.line for each in report.failed] == [3, 4, 5]
    assert "Kafka did not confirm" in report.failed[0].problem
    assert {each.problem for each in report.failed[1:]} == {"not sent: Kafka had stopped answering at line 3"}


async def test_what_kafka_never_confirmed_does_not_count_as_published() -> None:
    report = await report_of(_Memory(away={"written": NotSent("taking", 30.0)}), ["good", "away"], wait=False)
    assert (report.published, [each.line for each in report.failed]) == (1, [2])


async def test_an_endless_wait_is_refused_before_anything_is_sent() -> None:
    memory = _Memory()
    with pytest.raises(CallerError, match="timeout"):
        await ingest(cast("Memory", memory), [line("good")], timeout=float("nan"))
    assert memory.tried == []

"""A record that was refused for the key it was sealed under is sent once more, and nothing else is."""

from dataclasses import dataclass, field
from typing import cast

import pytest

from eunoe.producers.errors import KeyRefused
from eunoe.producers.sent import Sent
from eunoe.runtime.publish import Delivery
from eunoe.schemas.ids import CommandId, Millis, TenantId
from eunoe.schemas.outcomes import Outcome, OutcomeStatus

ACME = TenantId("acme")


class _Written:
    async def written(self) -> None:
        return None


def _outcome(command: str, reason: str | None) -> Outcome:
    return Outcome(
        command_id=CommandId(command),
        status=OutcomeStatus.ACCEPTED if reason is None else OutcomeStatus.REJECTED,
        kind="MemoryAccepted" if reason is None else "CommandRejected",
        decided_at=Millis(1),
        token="",
        reason=reason,
    )


@dataclass
class World:
    """Answers the first command with ``first`` and each later one with ``then``; None: taken."""

    first: str | None
    then: str | None = None
    keys: str = "new"
    sent: list[str] = field(default_factory=list)

    async def wait(self, tenant: TenantId, command_id: CommandId, timeout: float) -> Outcome:
        return _outcome(command_id, self.first if len(self.sent) == 1 else self.then)

    def send(self) -> Sent:
        self.sent.append(f"c{len(self.sent)}")
        return Sent(
            command_id=CommandId(self.sent[-1]),
            tenant=ACME,
            memory_id=None,
            _delivery=cast("Delivery", _Written()),
            _outcomes=self,
            _again=self.again if len(self.sent) == 1 else None,
        )

    async def again(self) -> Sent | None:
        if self.keys == "refused":
            raise KeyRefused(_outcome("key", "subject_closed"))
        return None if self.keys == "same" else self.send()


@pytest.mark.parametrize("reason", ["subject_closed", "unknown_key", "wrong_key", "unreadable_body"])
async def test_what_an_old_key_was_refused_for_is_sent_once_more(reason: str) -> None:
    world = World(reason)
    outcome = await world.send().outcome(5)
    assert (outcome.command_id, outcome.refused, world.sent) == ("c1", False, ["c0", "c1"])


async def test_a_second_refusal_is_final() -> None:
    world = World("subject_closed", "subject_closed")
    outcome = await world.send().outcome(5)
    assert (outcome.command_id, outcome.reason, world.sent) == ("c1", "subject_closed", ["c0", "c1"])


@pytest.mark.parametrize("reason", [None, "not_allowed", "idempotency_mismatch"])
async def test_what_was_taken_or_refused_for_another_reason_is_not_sent_again(reason: str | None) -> None:
    world = World(reason)
    assert (await world.send().outcome(5)).reason == reason
    assert world.sent == ["c0"]


@pytest.mark.parametrize("keys", ["same", "refused"])
async def test_without_another_key_the_first_answer_holds(keys: str) -> None:
    world = World("subject_closed", keys=keys)
    outcome = await world.send().outcome(5)
    assert (outcome.command_id, outcome.reason, world.sent) == ("c0", "subject_closed", ["c0"])

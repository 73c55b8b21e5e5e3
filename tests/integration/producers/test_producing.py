"""What a producer sends is decided: on a real broker, by a real decider."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from eunoe.producers.client import Asked, MemoryProducer, Proposal
from eunoe.schemas.events import KeyIssued, MemoryAccepted
from eunoe.schemas.ids import AgentId, TenantId
from eunoe.schemas.outcomes import OutcomeStatus
from eunoe.schemas.values import SourceKind
from eunoe.testing.deciding import OFFICER, REVIEWER, Surroundings

MakeProducer = Callable[..., Awaitable[MemoryProducer]]
ACME = TenantId("acme")
WAIT = 20.0


def proposal(statement: str = "Prefers tea.", subject: str | None = "customer-17", **over: object) -> Proposal:
    fields: dict[str, object] = {
        "tenant": ACME,
        "agent": AgentId("bot"),
        "statement": statement,
        "subject": subject,
        "purposes": ["support"],
        "source_kind": SourceKind.USER_EXPLICIT,
        "source_uri": "crm://tickets/1",
        "ttl": timedelta(days=30),
    }
    return Proposal(**(fields | over))  # type: ignore[arg-type]  # the checks are what is tested


@pytest.mark.usefixtures("decided")
async def test_a_memory_is_accepted(make_producer: MakeProducer) -> None:
    producer = await make_producer()
    sent = await producer.remember(proposal())
    outcome = await sent.outcome(WAIT)
    assert (outcome.status, outcome.memory_id, outcome.version) == (OutcomeStatus.ACCEPTED, sent.memory_id, 1)

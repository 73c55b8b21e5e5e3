"""Whose history it is: agent, purpose and clearance, as of any other read."""

from typing import Any

import pytest

from eunoe.client.history_scope import is_readable
from eunoe.readmodels.history import Place
from eunoe.readmodels.history_reader import Entry, History
from eunoe.readmodels.recall.scope import Admission, ReadScope
from eunoe.schemas.ids import (
    AgentId,
    CommandId,
    EventId,
    MemoryId,
    Offset,
    PrincipalName,
    TenantId,
)
from eunoe.schemas.values import Sensitivity
from eunoe.testing.samples import SAMPLE_TIME

SCOPE = ReadScope(tenant=TenantId("acme"), agent=AgentId("bot"), purpose="support", principal=PrincipalName("low"))
PLACE = Place(agent=AgentId("bot"), purposes=("support",), sensitivity=Sensitivity.INTERNAL)


class Nobody:
    """Nobody is restricted."""

    async def restricted(self, *_: Any) -> bool:
        return False


def history(place: Place | None) -> History:
    entry = Entry(
        position=Offset(1),
        kind="MemoryAccepted",
        version=1,
        decided_at=SAMPLE_TIME,
        principal=PrincipalName("somebody"),
        event_id=EventId("e"),
        command_id=CommandId("c"),
        policy_version=1,
        policy_hash="h",
        place=place,
    )
    return History(memory_id=MemoryId("m"), entries=(entry,), position=Offset(2))


@pytest.mark.parametrize(
    ("place", "cleared", "readable"),
    [
        (PLACE, Sensitivity.INTERNAL, True),
        (PLACE, Sensitivity.RESTRICTED, True),
        (PLACE, Sensitivity.PUBLIC, False),
        (
            Place(agent=AgentId("other"), purposes=("support",), sensitivity=Sensitivity.PUBLIC),
            Sensitivity.PUBLIC,
            False,
        ),
        (
            Place(agent=AgentId("other"), purposes=("support",), shared=True, sensitivity=Sensitivity.PUBLIC),
            Sensitivity.PUBLIC,
            True,
        ),
        (Place(agent=AgentId("bot"), purposes=("billing",), sensitivity=Sensitivity.PUBLIC), Sensitivity.PUBLIC, False),
        (None, Sensitivity.RESTRICTED, False),
    ],
)
async def test_a_history_is_for_whoever_could_read_the_record(
    place: Place | None, cleared: Sensitivity, readable: bool
) -> None:
    admission = Admission(max_sensitivity=cleared, control_offset=0)
    nobody: Any = Nobody()
    assert await is_readable(history(place), SCOPE, admission, nobody) is readable

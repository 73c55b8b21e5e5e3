"""What a read model had of a forgotten tenant is gone before its watermark passes the fact, whenever it is killed."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs
from redis.asyncio import Redis

from eunoe.readmodels.history import HistoryModel
from eunoe.readmodels.projector import ReadModel
from eunoe.readmodels.removing import Removal, let_go_of
from eunoe.readmodels.review import ReviewModel
from eunoe.readmodels.subjects import SubjectsModel
from eunoe.readmodels.tenants import TenantsReader, TenantStanding
from eunoe.runtime.redis.errors import WatermarkMismatch
from eunoe.schemas.events import Event, Fact, SubjectHeld, TenantForgotten, TenantReadmitted
from eunoe.schemas.ids import CommandId, MemoryId, Millis, Offset, TenantId, new_id
from eunoe.testing.samples import (
    SAMPLE_SUBJECT,
    SAMPLE_TENANT,
    SAMPLE_TIME,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_quarantined,
)
from readmodel_log import Log

LIKE = TenantId(f"{SAMPLE_TENANT}-2")
"""Begins as the other one's name does."""
DAY = Millis(SAMPLE_TIME + 86_400_000)


def clock() -> Millis:
    return SAMPLE_TIME


MODELS: tuple[Callable[[Redis], ReadModel[Event]], ...] = (
    lambda _: HistoryModel(),
    SubjectsModel,
    lambda redis: ReviewModel(redis, clock),
)


class Killed(Exception):
    """What the test does in the middle of a removal."""


class KilledWhileRemoving:
    """The model, in a lane that is killed once after the removal, before the fact is folded."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.name, self.source, self.functions = model.name, model.source, model.functions
        self.fold = model.fold
        self.left = 1

    async def let_go(self, removal: Removal) -> None:
        await let_go_of(self.model, removal)
        self.left -= 1
        if self.left == 0:
            raise Killed


def happens(fact: Fact, tenant: TenantId = SAMPLE_TENANT) -> Event:
    return sample_event(fact, tenant=tenant, command_id=CommandId(new_id()))


def records(tenant: TenantId, incarnation: int = 1) -> list[Event]:
    kept = sample_accepted(sample_draft(memory_id=MemoryId(new_id())))
    waits = sample_quarantined(draft=sample_draft(memory_id=MemoryId(new_id())))
    held = SubjectHeld(subject=SAMPLE_SUBJECT, generation=1, review_at=DAY)
    facts = [structs.replace(each, incarnation=incarnation) for each in (kept, waits)]
    return [happens(each, tenant) for each in (*facts, held)]


@pytest.mark.parametrize("make", MODELS)
async def test_a_later_tenant_of_the_name_meets_an_empty_model(
    log: Log, make: Callable[[Redis], ReadModel[Event]]
) -> None:
    neighbour = log.neighbour()
    stays = [*records(neighbour), *records(LIKE)]
    later = records(SAMPLE_TENANT, 2)
    ending = [happens(TenantForgotten(incarnation=1)), happens(TenantReadmitted(incarnation=2))]
    await log.write(*stays, *records(SAMPLE_TENANT))
    model = make(log.redis)
    await log.fold(model)
    assert any(f":{SAMPLE_TENANT}" in each for each in await log.contents(model.name))
    await log.write(*ending, *later)
    with pytest.raises(Killed):
        await log.fold(KilledWhileRemoving(model))
    removed = await log.contents(model.name)
    assert [each for each in removed if each.split(":")[1:2] == [SAMPLE_TENANT]] == []
    await log.fold(model)
    lived = await log.contents(model.name)
    # Filled anew, where the whole log is one batch.
    await log.fold(make(log.redis), generation=2)
    assert await log.contents(model.name, 2) == lived
    items = {each: value for each, value in lived.items() if each.split(":")[1:2] == [SAMPLE_TENANT]}
    assert items, "what came later is there"
    if model.name == "subjects":
        standing = await TenantsReader(log.redis, log.installation).standing(SAMPLE_TENANT)
        assert (standing.incarnation, standing.closed, standing.forgotten) == (2, 1, False)
        assert await TenantsReader(log.redis, log.installation).standing(LIKE) == TenantStanding()


async def test_a_lane_that_is_elsewhere_removes_nothing(log: Log) -> None:
    await log.write(*records(SAMPLE_TENANT))
    model = SubjectsModel(log.redis)
    await log.fold(model)
    before = await log.contents(model.name)
    lane = log.lane(model)
    removal = Removal(log.redis, lane._watermark, log.prefix(model.name), Offset(1), SAMPLE_TENANT)
    with pytest.raises(WatermarkMismatch):
        await asyncio.wait_for(model.let_go(removal), 10)
    assert await log.contents(model.name) == before

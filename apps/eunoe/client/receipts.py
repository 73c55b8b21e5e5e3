"""Erasure receipts as whoever asked for an erasure gets them."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eunoe.processors.attesting.chain import receipts
from eunoe.runtime.installation import Installation
from eunoe.runtime.lane import heed_cancellation
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import CommandId, TenantId
from eunoe.schemas.receipts import ReceiptRecord, Stage

_PAUSE_S = 0.25


async def receipts_of(
    settings: Settings, installation: Installation, tenant: TenantId, request: CommandId | None = None
) -> list[ReceiptRecord]:
    """The tenant's receipts in order, or those of one request. Raises aiokafka's errors."""
    found: list[ReceiptRecord] = []
    async for record in receipts(settings.brokers, installation, installation.partition_of(tenant)):
        statement = json.loads(record.body)
        if statement["tenant"] == tenant and request in (None, statement["request"]):
            found.append(record)
    return found


async def receipts_until(
    settings: Settings,
    installation: Installation,
    tenant: TenantId,
    requests: Sequence[CommandId],
    stage: Stage,
    timeout: float,
) -> list[ReceiptRecord]:
    """The receipts of the request, once ``stage`` is among them, or those that are there after ``timeout`` seconds.

    ``requests``: the ids under which it may be known; a repeated request is proved under that of the first.
    """
    return await _until(settings, installation, tenant, lambda each: each["request"] in requests, stage, timeout)


async def tenant_receipts_until(
    settings: Settings, installation: Installation, tenant: TenantId, incarnation: int, stage: Stage, timeout: float
) -> list[ReceiptRecord]:
    """As `receipts_until`: those of the forgetting of the whole tenant, whoever asked for it and when."""
    return await _until(
        settings, installation, tenant, lambda each: each.get("incarnation") == incarnation, stage, timeout
    )


async def _until(
    settings: Settings,
    installation: Installation,
    tenant: TenantId,
    wanted: Callable[[Mapping[str, Any]], bool],
    stage: Stage,
    timeout: float,
) -> list[ReceiptRecord]:
    deadline = asyncio.get_running_loop().time() + timeout
    while True:
        all_of_it = await receipts_of(settings, installation, tenant)
        found = [each for each in all_of_it if wanted(json.loads(each.body))]
        stages = {json.loads(each.body)["stage"] for each in found}
        if stage.value in stages or asyncio.get_running_loop().time() > deadline:
            return found
        heed_cancellation()
        await asyncio.sleep(_PAUSE_S)

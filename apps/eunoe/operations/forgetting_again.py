"""A log restored from before somebody was forgotten: whoever the erasure ledger knows is forgotten in it again.

The services of the restored log run here and nowhere else: every other worker refuses to start until this has come to
its end. Killed anywhere it is called again; what was forgotten again already is not asked for twice.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from msgspec import Struct

from eunoe.client.memory import Memory
from eunoe.processors.attesting.erasure_ledger import RESTORED, RESTORING, SETTLED, Closing, ErasureLedger
from eunoe.producers.client import Asked
from eunoe.producers.errors import KeyRefused
from eunoe.readmodels import subjects
from eunoe.runtime.brokers import connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.errors import LogFault
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.unlinking import unlink_all
from eunoe.runtime.settings import Settings
from eunoe.schemas.events import ForgettingRequested, Reason, TenantActionProposed, TenantForgettingRequested
from eunoe.schemas.ids import Partition
from eunoe.schemas.outcomes import Outcome
from eunoe.schemas.topics import Topic
from eunoe.worker.attest import check_attest_settings
from eunoe.worker.embedded import running_services
from eunoe.worker.foundation import Foundation, open_foundation
from eunoe.worker.older_log import missing_of

_PAUSE_S: Final = 0.2
_SETTLING: Final = frozenset({Reason.NOT_FOUND.value, Reason.SUBJECT_CLOSED.value, Reason.TENANT_FORGOTTEN.value})
"""Refusals that leave nothing to do: this log never knew the person, or has them closed by an earlier event."""
_OTHER: Final = "incarnation"
"""The field of a refusal: the log has no such incarnation of the tenant (any more)."""
_ASKED: Final = frozenset({ForgettingRequested.__name__, TenantForgettingRequested.__name__})
_HALF: Final = "one of two people has said so by this: somebody of another owner must call it too"


@dataclass(eq=False)
class RedisAheadOfLog(LogFault):
    """Redis has folded records that the restored log does not have, and would answer from them."""

    model: str
    partition: Partition

    def __str__(self) -> str:
        return (
            f"Redis has folded more of partition {self.partition} into {self.model} than this log holds: it is of the "
            "log before the restore. Have it emptied with --empty-redis; all of it is folded again"
        )


@dataclass(eq=False)
class NotForgottenAgain(LogFault):
    """Somebody could not be forgotten again. Nothing may be served from this log yet."""

    refused: Sequence[str]

    def __str__(self) -> str:
        return (
            f"{len(self.refused)} could not be forgotten again ({', '.join(sorted(set(self.refused)))}): nothing is "
            "served from this log yet. Remove the cause, and call it again"
        )


class ForgottenAgain(Struct, frozen=True, kw_only=True):
    """``missing``: closings that the log lacked; ``forgotten`` again of them; ``settled``: nothing was left to do."""

    missing: int = 0
    forgotten: int = 0
    settled: int = 0

    @property
    def document(self) -> dict[str, Any]:
        return {"missing": self.missing, "forgotten_again": self.forgotten, "nothing_to_forget": self.settled}


async def forget_again(settings: Settings, *, empty_redis: bool, timeout: float = 120.0) -> ForgottenAgain:
    """Have everybody forgotten again whom the ledger knows and the log lacks. Needs the right to erase.

    Raises `RedisAheadOfLog` before anything is done, `NotForgottenAgain`, ``TimeoutError``, `BrokenErasureLedger`.
    """
    _, ledger = check_attest_settings(settings)
    async with open_foundation(settings) as foundation:
        log_id = foundation.installation.log_id
        standing = ledger.standing(log_id)
        closings = [each.closing for each in standing.newest if each.closing is not None]
        missing = await missing_of(settings, foundation, closings)
        if not missing and not standing.restoring:
            return ForgottenAgain()
        if await _ahead(settings, foundation, empty=empty_redis):
            await unlink_all(foundation.redis, f"eunoe:{log_id}:*")
        if not standing.restoring:
            ledger.mark(log_id, RESTORING)
        async with running_services(settings, older_log=True) as running, Memory.connect(settings) as memory:
            await running.ready(timeout)
            outcomes = [await _again(memory, each, timeout) for each in missing]
            settled = _settle(ledger, memory, missing, outcomes)
            await _until_entered(settings, foundation, ledger, timeout)
        ledger.mark(log_id, RESTORED)
        return ForgottenAgain(missing=len(missing), forgotten=len(missing) - settled, settled=settled)


async def _again(memory: Memory, closing: Closing, timeout: float) -> Outcome:
    # One who may not erase only asks; that must not use up the key of one who may.
    asked = Asked(idempotency_key=f"restored {closing.event_id} {memory.settings.principal}")
    try:
        if closing.subject is None:
            sent = await memory.producer.forget_tenant(closing.tenant, closing.generation)
        else:
            sent = await memory.producer.forget_pseudonym(closing.tenant, closing.subject, asked)
    except KeyRefused as refused:
        return refused.outcome  # of a person in a tenant that is forgotten itself
    return await sent.outcome(timeout)


def _settle(ledger: ErasureLedger, memory: Memory, missing: Sequence[Closing], outcomes: Sequence[Outcome]) -> int:
    """Enter what needs nothing more. Raises `NotForgottenAgain` for what was refused for another reason, or is held."""
    settled, refused = 0, []
    for closing, outcome in zip(missing, outcomes, strict=True):
        if outcome.refused and (outcome.reason in _SETTLING or outcome.field == _OTHER):
            ledger.append(memory.installation.log_id, closing, SETTLED)
            settled += 1
        elif outcome.kind == TenantActionProposed.__name__:
            refused.append(_HALF)
        elif outcome.refused or outcome.kind in _ASKED:
            refused.append(outcome.reason or "only asked for: the caller may not erase, or there is a hold")
    if refused:
        raise NotForgottenAgain(refused)
    return settled


async def _until_entered(settings: Settings, foundation: Foundation, ledger: ErasureLedger, timeout: float) -> None:
    """Until the new closing events stand in the ledger, and so none is missing."""
    async with asyncio.timeout(timeout):
        while True:
            standing = ledger.standing(foundation.installation.log_id)
            closings = [each.closing for each in standing.newest if each.closing is not None]
            if not await missing_of(settings, foundation, closings):
                return
            await asyncio.sleep(_PAUSE_S)


async def _ahead(settings: Settings, foundation: Foundation, *, empty: bool) -> bool:
    """Whether Redis has seen a later log. Raises `RedisAheadOfLog` unless it may be emptied."""
    installation = foundation.installation
    topic = installation.topic(Topic.LIFECYCLE)
    places = [TopicPartition(topic, each) for each in range(installation.partitions)]
    consumer = AIOKafkaConsumer(
        **connecting(settings.brokers), isolation_level="read_uncommitted", enable_auto_commit=False
    )
    try:
        await consumer.start()
        ends = await consumer.end_offsets(places)
    finally:
        await close_in_time(consumer.stop())
    for place, end in ends.items():
        model = Prefix(installation.log_id, Partition(place.partition), subjects.NAME)
        if max((await GenerationStore(foundation.redis).filled(model)).values()) > end:
            if not empty:
                raise RedisAheadOfLog(subjects.NAME, Partition(place.partition))
            return True
    return False

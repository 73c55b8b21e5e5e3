"""Stored records held against the policy in force (B38): which of them it would no longer allow, and taking those back.

The log says what is stored and who wrote it, and each text is opened and looked at by the detectors once more. What is
forgotten is not opened, and not judged: it is gone. Nothing is decided here: what is to go is retracted, or sent back
to waiting, by a command of the caller, a reviewer, with the codes of the reasons, and only the decider's outcome says
whether it went.

A run that stopped is begun again: what went is gone, and the others are judged as before, for the same record under the
same policy has the same idempotency key. Records are taken in the order in which they came.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import Final

from eunoe.client.gate import entered
from eunoe.client.held import Held, HeldRecord, read_on
from eunoe.client.held_texts import keys_passed, opened
from eunoe.client.memory import Memory
from eunoe.detectors.bodies import BodyExaminer
from eunoe.detectors.detectors import load_detectors
from eunoe.domain.reevaluation import Judgement, Standing, Stored, judged
from eunoe.processors.opening import Examiner, body_facts
from eunoe.producers.client import Asked
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.runtime.installation import Installation
from eunoe.schemas.ids import MemoryId, Offset, TenantId
from eunoe.schemas.outcomes import OutcomeStatus
from eunoe.schemas.policy import BY_POLICY, Policy
from eunoe.schemas.values import Lifecycle

TIMEOUT_S: Final = 60.0
REASON: Final = BY_POLICY
"""Stands before the code in the reason of a retraction or suspension."""


class Waiting(StrEnum):
    """What becomes of records in use that would wait for a person: sent back to waiting, or retracted."""

    SUSPEND = "suspend"
    RETRACT = "retract"


_NO_POLICY: Final = "no_policy"
_UNHURRIED_US: Final = 10_000_000
"""A detector that was only slow here is no reason to take anything back, and two runs must find the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A record that the policy would not let in as it is. ``outcome``: of what was asked about it, if anything was."""

    memory_id: MemoryId
    version: int
    lifecycle: Lifecycle
    judged_under: int
    judgement: Judgement
    outcome: str | None = None

    @property
    def left(self) -> bool:
        """Whether it is still there. What somebody else changed meanwhile is judged at the next run."""
        return self.outcome not in (OutcomeStatus.DONE.value, OutcomeStatus.DUPLICATE.value)


@dataclass(slots=True, kw_only=True)
class Report:
    """``erased``: not opened and not judged. ``closed``: their key is gone; judged by what is in the clear alone.

    ``position``: up to where the log was read.
    """

    policy_version: int
    policy_hash: str
    position: Offset
    judged: int = 0
    erased: int = 0
    closed: int = 0
    found: list[Found] = field(default_factory=list)

    @property
    def left(self) -> int:
        return sum(each.left for each in self.found)

    def counts(self) -> dict[str, int]:
        """By standing and code: ``refused.unknown_kind``."""
        codes = (f"{each.judgement.standing}.{code}" for each in self.found for code in each.judgement.reasons)
        return dict(sorted(Counter(codes).items()))


async def reevaluate(
    memory: Memory,
    tenant: str,
    *,
    apply: bool = False,
    waiting: Waiting | None = None,
    progress: Callable[[], None] = lambda: None,
) -> Report:
    """Judge what ``tenant`` has stored. ``apply``: retract what would be refused, and do with what would wait as
    ``waiting`` says; None: leave it.

    For the right to review. Raises `ReadRefused`, and what reading the log, its keys and sending raise.
    """
    of = TenantId(tenant)
    gate = memory.reviewing.gate
    gate.check(of)
    await entered(gate.control, memory.reading.tenants, of)
    policy = gate.control.state.policy
    if policy is None:
        raise ReadRefused(_NO_POLICY, of)
    held = await _read(memory, memory.installation, of)
    report = Report(policy_version=policy.version, policy_hash=policy.hash, position=held.position)
    looking = replace(policy, detection=replace(policy.detection, budget=_UNHURRIED_US))
    for record in held.records.values():
        if record.state.lifecycle not in (Lifecycle.ACTIVE, Lifecycle.QUARANTINED):
            continue
        if held.erased(record):
            report.erased += 1
            continue
        found = await _judged(memory, of, record, looking, report)
        progress()
        if found is not None:
            refused = found.judgement.standing is Standing.REFUSED
            if apply and (refused or waiting is not None):
                suspends = not refused and waiting is Waiting.SUSPEND
                found = await _taken_out(memory, of, found, policy, suspends=suspends)
            report.found.append(found)
    return report


async def _read(memory: Memory, installation: Installation, tenant: TenantId) -> Held:
    held = await read_on(memory.settings.brokers, installation, Held(tenant=tenant))
    redis, partition = memory.reading.reader.redis, installation.partition_of(tenant)
    await keys_passed(memory.settings.brokers, installation, redis, partition, held.position, TIMEOUT_S)
    return held


@cache
def _examiner() -> Examiner:
    """Every detector that is installed here, as a worker has them."""
    return BodyExaminer(load_detectors())


async def _judged(
    memory: Memory, tenant: TenantId, record: HeldRecord, policy: Policy, report: Report, look: Examiner | None = None
) -> Found | None:
    """What is wrong with it; None where nothing is."""
    body = await opened(memory.keyring, tenant, record.draft)
    report.judged += 1
    report.closed += body is None
    stored = Stored(
        draft=record.draft,
        state=record.state,
        decided_at=record.born.said.decided_at,
        reasons=record.reasons,
        body=None if body is None else body_facts(*body),
        findings=() if body is None else (look or _examiner()).examine(body[0], record.draft, policy),
    )
    judgement = judged(stored, policy)
    if judgement.standing is Standing.ALLOWED:
        return None
    state = record.state
    return Found(
        memory_id=record.draft.memory_id,
        version=state.version,
        lifecycle=state.lifecycle,
        judged_under=record.born.said.policy_version,
        judgement=judgement,
    )


async def _taken_out(memory: Memory, tenant: TenantId, found: Found, policy: Policy, *, suspends: bool) -> Found:
    asked = Asked(idempotency_key=f"reevaluate/{policy.hash}/{found.memory_id}/{found.version}")
    reasons = [f"{REASON}{each}" for each in found.judgement.reasons]
    if suspends:
        sent = await memory.producer.suspend(tenant, found.memory_id, found.version, reasons, asked)
    else:
        sent = await memory.producer.retract(tenant, found.memory_id, found.version, asked, reason=reasons[0])
    outcome = await sent.outcome(TIMEOUT_S)
    return replace(found, outcome=outcome.reason if outcome.refused else outcome.status.value)

"""What the log says about keys and receipts, judged. Pure: the log, what Redis holds, and the time are arguments."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from eunoe.operations.doctor_finding import Checked, Finding, some
from eunoe.operations.doctor_log import Facts, Generation, KeyTopic, Number
from eunoe.schemas.ids import KeyId, Millis, Partition, TenantId
from eunoe.schemas.receipts import BY_ITSELF, WORDING, Stage

_CLOSED: Final = "generation closed"
_ENDED: Final = "tenant forgotten"
PATIENCE_MS = 60_000
"""How late anything may be beyond what the settings say it takes, before it is a finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Milliseconds. ``cleaning``: how long the settings of ``memory-keys`` let a destroyed key stay; ``caches``: how
    long a client may hold an opened one."""

    now: Millis
    cleaning: int
    caches: int

    def due(self, stage: Stage, closed_at: Millis) -> bool:
        """Whether the receipt of ``stage`` should be there."""
        takes = self.caches + (0 if stage is Stage.LOGICAL else self.cleaning)
        return self.now - closed_at > takes + PATIENCE_MS


def check_unknown(facts: Facts, keys: KeyTopic) -> Checked:
    """Keys of somebody whom the log does not know."""
    strange: dict[Partition, list[KeyId]] = defaultdict(list)
    owned = 0
    for key_id, record in keys.held.items():
        if record.subject is None:
            continue
        owned += 1
        if (record.tenant, record.subject, record.generation) not in facts.known:
            strange[keys.where[key_id]].append(key_id)
    todo = (
        "nobody of ours wrote them, or the log lost facts: compare the log with its backups, then look at who may write"
    )
    return Checked(
        name="every key belongs to somebody whom the log knows",
        examined=owned,
        things="keys of people",
        findings=tuple(
            Finding(where=f"memory-keys[{partition}]", what=f"keys without a known subject: {some(ids)}", todo=todo)
            for partition, ids in sorted(strange.items())
        ),
    )


def check_closed(facts: Facts, keys: KeyTopic, times: Times) -> Checked:
    """Keys of the forgotten that are still there."""
    left: dict[Generation, list[KeyId]] = defaultdict(list)
    of_tenants: dict[tuple[TenantId, int], list[KeyId]] = defaultdict(list)
    for key_id, record in keys.held.items():
        if record.subject is not None:
            whom = (record.tenant, record.subject, record.generation)
            if whom in facts.closed:
                left[whom].append(key_id)
        if (record.tenant, record.incarnation) in facts.tenants:
            of_tenants[record.tenant, record.incarnation].append(key_id)
    found = [(_CLOSED, facts.closed[whom], ids) for whom, ids in sorted(left.items())]
    found += [(_ENDED, facts.tenants[which], ids) for which, ids in sorted(of_tenants.items())]
    late = [each for each in found if times.due(Stage.COMPACTED, each[1].at)]
    todo = "run a worker with the role shred; its /readyz and `eunoe_shred_pending` say what keeps it"
    return Checked(
        name="no key of a forgotten person or tenant is left",
        examined=len(facts.closed) + len(facts.tenants),
        things="closed generations and tenants",
        findings=tuple(
            Finding(
                where=f"memory-keys[{closing.partition}]",
                what=f"{what} at offset {closing.offset}: keys left: {some(ids)}",
                todo=todo,
            )
            for what, closing, ids in late
        ),
    )


def check_receipts(facts: Facts, stages: Mapping[Number, Mapping[Stage, str]], times: Times) -> Checked:
    """Forgotten people and tenants whose erasure is not proved."""
    return Checked(
        name="every erasure has its receipts",
        examined=len(facts.closed) + len(facts.tenants),
        things="closed generations and tenants",
        findings=tuple(_unproved(facts, stages, times)),
    )


def _unproved(facts: Facts, stages: Mapping[Number, Mapping[Stage, str]], times: Times) -> Iterator[Finding]:
    closings = [(_CLOSED, each) for each in facts.closed.values()]
    closings += [(_ENDED, each) for each in facts.tenants.values()]
    for what, closing in sorted(closings, key=lambda each: (each[1].partition, each[1].offset)):
        there = stages.get((closing.partition, closing.offset), {})
        where = f"memory-receipts[{closing.partition}]"
        missing = [each.value for each in BY_ITSELF if each not in there and times.due(each, closing.at)]
        if missing:
            todo = (
                "docs/erasure.md, when a stage does not come: `eunoe lag`, and a worker with the roles shred and attest"
            )
            said = f"{what} at offset {closing.offset}: no receipt of {', '.join(missing)}"
            yield Finding(where=where, what=said, todo=todo)
        unproved = [stage.value for stage, claim in there.items() if claim != WORDING]
        if unproved:
            todo = "`eunoe receipt show` says which check failed; for segment files, set kafka_log_dirs"
            said = f"{what} at offset {closing.offset}: not proved: {', '.join(unproved)}"
            yield Finding(where=where, what=said, todo=todo)


def check_stored(keys: KeyTopic, stored: Mapping[KeyId, Partition], positions: Mapping[Partition, int]) -> Checked:
    """Keys that the read model `keys` still holds although they are destroyed.

    ``stored``: ids under which Redis holds a key, looked at after the topic was read. ``positions``: how far the model
    had come before that; what it has not folded yet is no finding.
    """
    wrong: dict[Partition, list[KeyId]] = defaultdict(list)
    for key_id, partition in stored.items():
        tombstone = keys.destroyed.get(key_id)
        if key_id not in keys.held and tombstone is not None and tombstone < positions.get(partition, 0):
            wrong[partition].append(key_id)
    todo = "Redis holds what is destroyed: flush this Redis (everything in it is folded again), rewrite its files"
    return Checked(
        name="Redis holds no destroyed key",
        examined=len(stored),
        things="wrapped keys",
        findings=tuple(
            Finding(where=f"Redis, keys[{partition}]", what=f"destroyed and still stored: {some(ids)}", todo=todo)
            for partition, ids in sorted(wrong.items())
        ),
    )

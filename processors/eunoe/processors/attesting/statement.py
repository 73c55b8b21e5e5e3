"""What a receipt states: which erasure, which stage, what was checked and where, and what it does not speak of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from eunoe.processors.attesting.pending import Erasure
from eunoe.processors.attesting.stage_checks import PERSON, TENANT
from eunoe.runtime.installation import Installation
from eunoe.schemas.ids import Millis, Partition
from eunoe.schemas.receipts import FORMAT, WORDING, Stage
from eunoe.schemas.topics import Topic

_FACTS: Final = ("request", "tenant", "generation", "incarnation", "closed_at_offset", "closed_at_log_time_ms")
"""What names the erasure in each of its receipts: a generation of a person, or an incarnation of a whole tenant."""


def facts_of(erasure: Erasure) -> Mapping[str, Any]:
    """What names it."""
    return {
        "request": erasure.request,
        "tenant": erasure.tenant,
        "incarnation" if erasure.subject is None else "generation": erasure.generation,
        "closed_at_offset": erasure.offset,
        "closed_at_log_time_ms": erasure.closed_at,
    }


def whose_of(erasure: Erasure) -> str:
    return TENANT if erasure.subject is None else PERSON


@dataclass(frozen=True, slots=True)
class Made:
    """What is the same in all statements that are made together. ``limits``: what they do not cover."""

    installation: Installation
    partition: Partition
    now: Millis
    stage: Stage
    limits: Sequence[str]

    def statement(self, facts: Mapping[str, Any], checks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """``facts``: as `facts_of`, or an earlier statement about the same erasure."""
        return {
            "receipt": "eunoe erasure receipt",
            "format": FORMAT,
            "stage": self.stage.value,
            "claim": WORDING if all(each["passed"] for each in checks) else "not proved at this stage",
            **{name: facts[name] for name in _FACTS if name in facts},
            "installation": self.installation.log_id,
            "topics": {each.value: self.installation.topic(each) for each in (Topic.LIFECYCLE, Topic.KEYS)},
            "partition": self.partition,
            "checked_at_machine_time_ms": self.now,
            "checks": list(checks),
            "not_covered": list(self.limits),
        }

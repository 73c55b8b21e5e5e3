"""What a read gives back, made up for tests of what is done with it."""

from typing import Any, Final

from eunoe.readmodels.recall.explain import Contribution
from eunoe.readmodels.recall.result import Freshness, RecalledMemory, SearchResult
from eunoe.schemas.ids import AgentId, LogId, MemoryId, Millis, Offset, Partition, PrincipalName, derived_id
from eunoe.schemas.values import (
    Confirmation,
    ExportDeletePolicy,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Trust,
    Visibility,
)
from eunoe.testing.samples import SAMPLE_TIME

_MEMORY: Final[dict[str, Any]] = {
    "memory_id": MemoryId(derived_id("memory", "recalled")),
    "version": 1,
    "statement": "Prefers delivery after 18:00.",
    "score": 0.25,
    "terms": (Contribution(name="term:p:deliv", amount=0.2), Contribution(name="recency", amount=0.05)),
    "reasons": ("term", "recency"),
    "conflicts": (),
    "kind": "preference",
    "memory_class": MemoryClass.LONG_TERM,
    "claim_key": "delivery.window",
    "agent": AgentId("support-bot"),
    "visibility": Visibility.AGENT,
    "purposes": ("support",),
    "surfaces": (),
    "source_kind": SourceKind.USER_EXPLICIT,
    "source_uri": "crm://tickets/4711",
    "event_ids": ("e-1",),
    "provenance": None,
    "principal": PrincipalName("dev-agent"),
    "trust": Trust.ASSERTED,
    "confirmation": Confirmation.CONFIRMED,
    "confidence": 0.9,
    "sensitivity": Sensitivity.PERSONAL,
    "retention": None,
    "observed_at": None,
    "created_at": SAMPLE_TIME,
    "valid_from": None,
    "valid_until": None,
    "expires_at": Millis(SAMPLE_TIME + 86_400_000),
    "external_id": None,
    "policy_version": 1,
    "producer_surface": None,
    "scope": None,
    "export_delete_policy": ExportDeletePolicy.OPERATOR_ONLY,
}


def sample_recalled(**changes: Any) -> RecalledMemory:
    """A memory about a delivery, confirmed and of middling trust, with ``changes``."""
    return RecalledMemory(**{**_MEMORY, **changes})


def sample_result(*records: RecalledMemory, **changes: Any) -> SearchResult:
    """A search that found ``records`` and nothing else, with ``changes``."""
    usual: dict[str, Any] = {
        "excluded": {},
        "examined": len(records),
        "capped": False,
        "skipped": (),
        "used_tokens": 0,
        "freshness": Freshness(
            log_id=LogId(derived_id("log")),
            partition=Partition(4),
            position=Offset(77),
            log_time=SAMPLE_TIME,
            lag=3,
        ),
        "token": f"{derived_id('log')}:4:77",
        "policy_version": 1,
        "policy_hash": "0" * 64,
        "control_offset": 5,
        "max_sensitivity": Sensitivity.RESTRICTED,
    }
    return SearchResult(records=records, **{**usual, **changes})

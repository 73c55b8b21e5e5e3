"""The seven fields of a poisoning review (C12-C17), on stored records and on candidates alike.

Three rules tie them together, checked wherever one is made or decoded, and written into the JSON Schemas:

- an untrusted write is activated only by a delayed review (C13, C15);
- what would influence rules, permissions or routing likewise (C14);
- what is activated by a delayed review is waiting, was released, or was rejected: never simply there.
"""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from eunoe.schemas.values import SourceKind

Text = Annotated[str, Meta(min_length=1)]
Revision = Annotated[int, Meta(ge=1)]

UNTRUSTED_SOURCES: Final = frozenset({SourceKind.THIRD_PARTY, SourceKind.MODEL_OUTPUT})
"""Where nothing else is said. What holds for an installation is its policy's word."""


class WriteTrustBoundary(StrEnum):
    """From which side of the trust boundary the write came."""

    TRUSTED_WRITE = "trusted_write"
    UNTRUSTED_WRITE = "untrusted_write"


class ActivationPolicy(StrEnum):
    """What has to happen before the record is used."""

    ON_ACCEPTANCE = "on_acceptance"
    DELAYED_REVIEW = "delayed_review"


class ContaminationScope(StrEnum):
    """How far a poisoned record could reach. Nothing reaches beyond its tenant (C20)."""

    AGENT_LOCAL = "agent_local"
    TENANT_LOCAL = "tenant_local"


class QuarantineState(StrEnum):
    """Whether the record waits, and what a person said."""

    NONE = "none"
    QUARANTINED = "quarantined"
    RELEASED = "released"
    REJECTED = "rejected"


class ProvenanceCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to look a record up: its source, who answers for it, and which revision is meant (C16)."""

    source: Text
    owner: Text
    revision: Revision


class Reviewed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The seven fields. ``rollback_ref``: what a withdrawal and the replay of affected traces name, ``ID@REVISION``."""

    write_trust_boundary: WriteTrustBoundary
    activation_policy: ActivationPolicy
    contamination_scope: ContaminationScope
    policy_influence: bool
    provenance_check: ProvenanceCheck
    quarantine_state: QuarantineState
    rollback_ref: Text

    def __post_init__(self) -> None:
        delayed = self.activation_policy is ActivationPolicy.DELAYED_REVIEW
        if self.write_trust_boundary is WriteTrustBoundary.UNTRUSTED_WRITE and not delayed:
            raise ValueError("an untrusted_write needs activation_policy delayed_review")
        if self.policy_influence and not delayed:
            raise ValueError("policy_influence needs activation_policy delayed_review")
        if delayed and self.quarantine_state is QuarantineState.NONE:
            raise ValueError("activation_policy delayed_review needs a quarantine_state other than none")


class PoisoningReview(Reviewed, frozen=True, kw_only=True):
    """The seven fields by themselves."""


def poisoning_review(
    *,
    untrusted: bool,
    policy_influence: bool,
    shared: bool,
    check: ProvenanceCheck,
    record_id: str,
    quarantine: QuarantineState,
) -> PoisoningReview:
    """The seven fields from what decides them. What waits, or has waited, is activated by a delayed review.

    Raises ValueError where something that has to wait did not.
    """
    waited = quarantine is not QuarantineState.NONE
    return PoisoningReview(
        write_trust_boundary=WriteTrustBoundary.UNTRUSTED_WRITE if untrusted else WriteTrustBoundary.TRUSTED_WRITE,
        activation_policy=ActivationPolicy.DELAYED_REVIEW if waited else ActivationPolicy.ON_ACCEPTANCE,
        contamination_scope=ContaminationScope.TENANT_LOCAL if shared else ContaminationScope.AGENT_LOCAL,
        policy_influence=policy_influence,
        provenance_check=check,
        quarantine_state=quarantine,
        rollback_ref=f"{record_id}@{check.revision}",
    )

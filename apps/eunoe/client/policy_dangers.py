"""What a policy may say and seldom should: told by `eunoe policy check`, refused by nobody.

What it can never say is refused where it is read (`eunoe.schemas.policy_checks`, `policy_rules`).
"""

from collections.abc import Iterator, Sequence
from typing import Final

from eunoe.schemas.policy import ANY, INFLUENCE, Policy
from eunoe.schemas.toml_tables import LARGEST
from eunoe.schemas.values import Action, Confirmation, SourceKind, Trust, Verdict

_SHORT_WAIT: Final = 3_600_000
_MANY: Final = 10_000
_VERSIONS_LEFT: Final = 1_000
_HARMLESS: Final = frozenset({"personal_data"})


def dangers_of(policy: Policy) -> Sequence[str]:
    """One line for each, with the place in the file by name; in the order of the sections."""
    return (
        *_version(policy),
        *_purposes(policy),
        *_sources(policy),
        *_findings(policy),
        *_reviews(policy),
        *_erasing(policy),
    )


def _version(policy: Policy) -> Iterator[str]:
    if LARGEST - policy.version < _VERSIONS_LEFT:
        yield f"version: the next must be above it, and none is above {LARGEST}"


def _purposes(policy: Policy) -> Iterator[str]:
    if ANY in policy.purposes:
        yield f'purposes."{ANY}": whatever purpose is named is a purpose; name those there are, with their owners'


def _sources(policy: Policy) -> Iterator[str]:
    for kind, rule in policy.sources.items():
        if rule.trust is Trust.VERIFIED:
            yield f"sources.{kind}.trust: verified without anybody having verified it; it wins against what people said"
        if kind is SourceKind.TOOL and rule.confirmation is Confirmation.CONFIRMED:
            yield f"sources.{kind}.confirmation: what a tool says is taken for confirmed, though no person confirmed it"


def _findings(policy: Policy) -> Iterator[str]:
    for detector, verdicts in policy.detection.verdicts.items():
        for rule, verdict in verdicts.items():
            if verdict is Verdict.ALLOW and rule not in _HARMLESS:
                yield f"detection.detectors.{detector}.{rule}: what is found is remembered and nobody looks at it"
    for each, verdict in policy.circumstances.items():
        if verdict is Verdict.ALLOW:
            yield f"circumstances.{each}: it speaks against remembering, and is remembered all the same"


def _reviews(policy: Policy) -> Iterator[str]:
    for name in sorted(INFLUENCE | policy.review.waiting.keys()):
        if policy.review.waiting.get(name, policy.review.usual) < _SHORT_WAIT:
            yield f"review.waiting.{name}: less than an hour until a person may let it in"
    principals = policy.principals.values()
    reviewers = {each.owner for each in principals if Action.REVIEW in each.actions}
    writers = {each.owner for each in principals if Action.WRITE in each.actions}
    if len(reviewers) == 1 and writers == reviewers:
        yield f"principals: only {min(reviewers)} reviews, and nobody decides about what is of their own owner"
    if not reviewers:
        yield "principals: nobody may review, so what waits waits for ever"


def _erasing(policy: Policy) -> Iterator[str]:
    if not policy.erasure.two_people:
        yield "erasure.two_people: one person alone readmits, lifts a hold and destroys a key-encryption key"
    if policy.erasure.per_hour > _MANY:
        yield f"erasure.per_hour: {policy.erasure.per_hour:,} an hour is no limit that stops a slip"

"""The tables of a policy about judging: detection, circumstances, justification, review and conflicts.

Read by `eunoe.schemas.policy_file`, into the types of `eunoe.schemas.policy`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from eunoe.schemas.commands import Answers
from eunoe.schemas.events import Reason
from eunoe.schemas.ids import SecretId, is_name
from eunoe.schemas.policy import (
    ANY,
    INFLUENCE,
    NEVER_ALLOWED,
    ConflictRules,
    DetectionRules,
    ErasureRules,
    LineageRules,
    RateRules,
    ReviewRules,
)
from eunoe.schemas.public_keys import public_key
from eunoe.schemas.toml_tables import Table, member
from eunoe.schemas.values import Circumstance, MemoryClass, Verdict

_LONGEST_LOOK: Final = 1_000_000
"""Microseconds: the decider of the partition stands still meanwhile."""


def answers_of(kind: str, table: Table) -> frozenset[str]:
    """Which questions of B3 a record of this kind must answer."""
    names = table.names("answers", required=False)
    for name in names:
        if name not in Answers.__struct_fields__:
            table.problem(
                "answers", f"kinds.{kind}.answers: {name!r} is none of {', '.join(Answers.__struct_fields__)}"
            )
    return frozenset(names)


def classes_of(kind: str, table: Table) -> frozenset[MemoryClass]:
    """As which classes a record of this kind may be kept; every one where nothing is said."""
    if "classes" not in table:
        return frozenset(MemoryClass)
    found = {name: member(MemoryClass, name) for name in table.names("classes", required=True)}
    for name, value in found.items():
        if value is None:
            table.problem("classes", f"kinds.{kind}.classes: {name!r} is none of {', '.join(MemoryClass)}")
    return frozenset(value for value in found.values() if value is not None)


def surfaces_of(top: Table) -> frozenset[str] | None:
    """The surfaces there are; None for any."""
    if "surfaces" not in top:
        return None
    names = top.any_or_names("surfaces", required=True)
    for name in names or ():
        if not is_name(name):
            top.problem("surfaces", f"surfaces: {name!r} is no name: 1 to 64 of A-Z a-z 0-9 . _ -")
    return None if names is None else frozenset(names)


def circumstances_of(table: Table) -> Mapping[Circumstance, Verdict]:
    """What each circumstance that an author may declare does."""
    found = {each: table.choice(each.value, Verdict) for each in Circumstance if each.value in table}
    for each, verdict in found.items():
        if verdict is Verdict.REDACT:
            table.problem(each.value, f"circumstances.{each}: a circumstance cannot be redacted")
    table.close()
    return MappingProxyType(found)


def detection_of(table: Table) -> DetectionRules:
    """What findings do, and how long looking may take."""
    usual = DetectionRules()
    budget = table.integer("budget_us", 1, usual.budget, maximum=_LONGEST_LOOK)
    verdicts: dict[str, Mapping[str, Verdict]] = {}
    for detector, rules in table.tables("detectors", required=False):
        verdicts[detector] = MappingProxyType({rule: rules.choice(rule, Verdict) for rule in rules})
        for rule, verdict in verdicts[detector].items():
            if objection := _objection(rule, verdict):
                rules.problem(rule, f"detection.detectors.{detector}.{rule}: {objection}")
        rules.close()
    table.close()
    return DetectionRules(verdicts=MappingProxyType(verdicts), budget=budget)


def _objection(rule: str, verdict: Verdict) -> str | None:
    """Why a class of findings cannot have the verdict."""
    if rule in INFLUENCE and verdict in (Verdict.ALLOW, Verdict.REDACT):
        return "it always waits; quarantine or reject"
    if verdict is not Verdict.ALLOW:
        return None
    if rule == ANY:
        return "what no line speaks of is not let through; name what is allowed, or redact, quarantine or reject"
    return "it is never remembered as it stands; redact, quarantine or reject" if rule in NEVER_ALLOWED else None


def review_of(table: Table) -> ReviewRules:
    """How long what waits must wait at least."""
    waiting = table.table("waiting", required=False)
    found: dict[str, int] = {}
    for name in waiting:
        if member(Reason, name) is None:
            waiting.problem(name, f"review.waiting: {name!r} is no reason for which a record waits")
        found[name] = waiting.duration(name, 0)
    usual = table.duration("usual", 0)
    for name in sorted(INFLUENCE - found.keys()) if not usual else ():
        table.problem("waiting", f"review.waiting.{name} is missing: what would change it must wait a while (C19)")
    waiting.close()
    table.close()
    return ReviewRules(waiting=MappingProxyType(found), usual=usual)


def conflicts_of(table: Table) -> ConflictRules:
    """When being newer counts."""
    after = table.duration("newer_wins_after") if "newer_wins_after" in table else None
    table.close()
    return ConflictRules(newer_wins_after=after)


def import_keys_of(table: Table) -> Mapping[SecretId, bytes]:
    """Whose exports are restored as they were: public keys by the name under which they sign."""
    found: dict[SecretId, bytes] = {}
    for name in table:
        text = table.text(name)
        key = public_key(text)
        if key is None:
            table.problem(name, f"import_keys.{name} must be an Ed25519 public key: 32 bytes in base64")
        found[SecretId(name)] = key or b""
    table.close()
    return MappingProxyType(found)


def rates_of(table: Table) -> RateRules:
    """How much may be written."""

    def limit(name: str) -> int | None:
        return table.integer(name, 1) if name in table else None

    rules = RateRules(per_minute=limit("per_minute"), tenant_per_minute=limit("tenant_per_minute"))
    table.close()
    return rules


def erasure_of(table: Table) -> ErasureRules:
    """Who may destroy what, and when."""
    usual = ErasureRules()
    rules = ErasureRules(
        grace=table.duration("grace") if "grace" in table else None,
        two_people=table.flag("two_people", usual.two_people),
        proposal=table.duration("proposal", usual.proposal),
        per_hour=table.integer("per_hour", 1, usual.per_hour),
    )
    table.close()
    return rules


def lineage_of(table: Table) -> LineageRules:
    """What goes with what it was built on."""
    usual = LineageRules()
    rules = LineageRules(
        superseded=table.flag("withdraw_superseded", usual.superseded),
        retracted=table.flag("withdraw_retracted", usual.retracted),
    )
    table.close()
    return rules

"""The tables of a policy about judging: detection, circumstances, justification, review and conflicts.

Read by `eunoe.schemas.policy_file`, into the types of `eunoe.schemas.policy`.
"""

from collections.abc import Mapping
from types import MappingProxyType

from eunoe.schemas.commands import Answers
from eunoe.schemas.events import Reason
from eunoe.schemas.policy import ConflictRules, DetectionRules, ReviewRules
from eunoe.schemas.toml_tables import Table, member
from eunoe.schemas.values import Circumstance, Verdict


def answers_of(kind: str, table: Table) -> frozenset[str]:
    """Which questions of B3 a record of this kind must answer."""
    names = table.names("answers", required=False)
    for name in names:
        if name not in Answers.__struct_fields__:
            table.problem(
                "answers", f"kinds.{kind}.answers: {name!r} is none of {', '.join(Answers.__struct_fields__)}"
            )
    return frozenset(names)


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
    budget = table.integer("budget_us", 1, usual.budget)
    verdicts: dict[str, Mapping[str, Verdict]] = {}
    for detector, rules in table.tables("detectors", required=False):
        verdicts[detector] = MappingProxyType({rule: rules.choice(rule, Verdict) for rule in rules})
        rules.close()
    table.close()
    return DetectionRules(verdicts=MappingProxyType(verdicts), budget=budget)


def review_of(table: Table) -> ReviewRules:
    """How long what waits must wait at least."""
    waiting = table.table("waiting", required=False)
    found: dict[str, int] = {}
    for name in waiting:
        if member(Reason, name) is None:
            waiting.problem(name, f"review.waiting: {name!r} is no reason for which a record waits")
        found[name] = waiting.duration(name, 0)
    usual = table.duration("usual", 0)
    waiting.close()
    table.close()
    return ReviewRules(waiting=MappingProxyType(found), usual=usual)


def conflicts_of(table: Table) -> ConflictRules:
    """When being newer counts."""
    after = table.duration("newer_wins_after") if "newer_wins_after" in table else None
    table.close()
    return ConflictRules(newer_wins_after=after)

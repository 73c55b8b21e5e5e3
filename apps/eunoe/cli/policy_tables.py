"""What a policy makes of a candidate, defaults included: the tables about judging as they hold, not as they stand."""

from typing import TYPE_CHECKING, Any

from eunoe.schemas.durations import duration_text

if TYPE_CHECKING:
    from eunoe.schemas.policy import Policy


def effective(policy: "Policy") -> dict[str, Any]:
    """The judging tables as one JSON document. Durations as in the file."""
    from eunoe.schemas.values import Circumstance

    later = policy.conflicts.newer_wins_after
    return {
        "circumstances": {each.value: policy.circumstance(each).value for each in Circumstance},
        "detection": {
            "budget_us": policy.detection.budget,
            "detectors": {
                name: {rule: verdict.value for rule, verdict in rules.items()}
                for name, rules in policy.detection.verdicts.items()
            },
            "otherwise": policy.detection.verdict("", "").value,
        },
        "review": {
            "waiting": {reason: duration_text(millis) for reason, millis in policy.review.waiting.items()},
            "usual": duration_text(policy.review.usual),
        },
        "conflicts": {"newer_wins_after": None if later is None else duration_text(later)},
        "surfaces": None if policy.surfaces is None else sorted(policy.surfaces),
        "kinds": {
            name: {
                "classes": sorted(each.value for each in rule.classes),
                "answers": sorted(rule.answers),
                "confirmed_only": rule.confirmed_only,
                "derived": rule.derived,
            }
            for name, rule in policy.kinds.items()
        },
        "sources": {kind.value: {"copies": rule.copies.value} for kind, rule in policy.sources.items()},
        "purposes": {
            name: {"owner": rule.owner, "fallback": rule.fallback, "max_sensitivity": rule.max_sensitivity.value}
            for name, rule in policy.purposes.items()
        },
    }


def effective_text(policy: "Policy") -> str:
    """The same for people: as comments, so that what is shown is a policy file still."""
    lines = ["# In force, defaults included:"]
    for table, values in effective(policy).items():
        lines += [f"#   {each}" for each in _lines(table, values)]
    return "\n".join(lines)


def _lines(name: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in _lines(f"{name}.{key}", each)]
    if isinstance(value, list):
        return [f"{name} = {', '.join(map(str, value)) or 'none'}"]
    said = {None: "any" if name == "surfaces" else "never", True: "yes", False: "no"}
    return [f"{name} = {said[value] if value is None or isinstance(value, bool) else value}"]

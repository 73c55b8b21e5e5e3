"""What a policy says of detectors that nobody has: a misspelt name would switch off what it was meant to sharpen."""

from collections.abc import Sequence

from eunoe.detectors.detectors import load_detectors
from eunoe.schemas.policy import ANY, Policy


def gaps_of(policy: Policy) -> Sequence[str]:
    """One line for each detector or class that no installed detector has. Raises `BadDetector`."""
    rules = {each.name: each.rules for each in load_detectors().members}
    every = frozenset[str]().union(*rules.values())
    found = []
    for detector, verdicts in policy.detection.verdicts.items():
        if detector != ANY and detector not in rules:
            known = ", ".join(sorted(rules))
            found.append(f"detection.detectors.{detector}: no such detector is installed here; there are {known}")
            continue
        classes = every if detector == ANY else rules[detector]
        known = ", ".join(sorted(classes))
        found += [
            f"detection.detectors.{detector}.{each}: nothing finds such a class; there are {known}"
            for each in verdicts
            if each != ANY and each not in classes
        ]
    return found

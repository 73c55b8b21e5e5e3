"""What a policy may say and seldom should is told by name; a policy without it is told nothing."""

import pytest

from eunoe.client.policy_dangers import dangers_of
from unit.policy.test_policy_file import DEVELOPMENT, read

TOOL = '[sources.tool]\ntrust = "asserted"\nconfirmation = "proposed"'
CAREFUL = (
    DEVELOPMENT.replace('[purposes."*"]', "[purposes.support]")
    .replace("two_people = false", "two_people = true")
    .replace("per_hour = 1000000", "per_hour = 100")
)


def test_a_careful_policy_is_told_nothing() -> None:
    assert dangers_of(read(CAREFUL)) == ()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[purposes.support]", '[purposes."*"]', 'purposes."*": whatever purpose'),
        (TOOL, TOOL.replace("asserted", "verified"), "sources.tool.trust: verified without"),
        (TOOL, TOOL.replace("proposed", "confirmed"), "sources.tool.confirmation: what a tool says"),
        ('instruction = "quarantine"', 'instruction = "allow"', "detection.detectors.*.instruction: what is found"),
        ('one_off = "reject"', 'one_off = "allow"', "circumstances.one_off: it speaks against"),
        ('routing = "P1D"', 'routing = "PT5M"', "review.waiting.routing: less than an hour"),
        ('instruction = "P1D"', 'instruction = "PT4S"', "review.waiting.instruction: less than an hour"),
        ("version = 1", "version = 2147483000", "version: the next must be above it"),
        ('owner = "dev-review"', 'owner = "dev-team"', "principals: only dev-team reviews"),
        ('actions = ["review", "read", "write"]', 'actions = ["read", "write"]', "principals: nobody may review"),
        ("two_people = true", "two_people = false", "erasure.two_people: one person alone"),
        ("per_hour = 100", "per_hour = 1000000", "erasure.per_hour: 1,000,000 an hour"),
    ],
)
def test_what_is_dangerous_is_told_by_name(old: str, new: str, told: str) -> None:
    assert old in CAREFUL
    found = dangers_of(read(CAREFUL.replace(old, new, 1)))
    assert [each for each in found if told in each], found

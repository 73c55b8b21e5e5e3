"""The example is a valid scenario, and one that is not says where."""

import base64
import shutil
from pathlib import Path
from typing import Any

import pytest

from eunoe.client.lines import line_of
from eunoe.demo.play import fits
from eunoe.demo.scenario import ScenarioError, read_scenario
from eunoe.demo.stand import with_secrets
from eunoe.runtime.principals import PolicyVerifiers
from eunoe.schemas.policy_file import read_policy

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "support"


def test_the_example_can_be_read_and_its_lines_are_lines() -> None:
    scenario = read_scenario(EXAMPLE)
    assert {fields["tenant"] for fields in scenario.lines.values()} == {"aurora", "beryoza"}
    assert len({(fields["tenant"], fields["agent"]) for fields in scenario.lines.values()}) == 3
    for fields in scenario.lines.values():
        line_of(dict(fields))


def test_every_principal_of_the_example_is_in_its_policy_and_has_a_secret(tmp_path: Path) -> None:
    scenario = read_scenario(EXAMPLE)
    policy = read_policy(with_secrets(scenario.policy, tmp_path).encode())
    assert set(scenario.principals) <= set(policy.principals)
    assert PolicyVerifiers(policy, tmp_path).missing == []


def test_secrets_are_fresh_and_those_that_are_there_are_kept(tmp_path: Path) -> None:
    policy = read_scenario(EXAMPLE).policy
    first = with_secrets(policy, tmp_path)
    assert with_secrets(policy, tmp_path) == first
    other = tmp_path / "other"
    other.mkdir()
    assert with_secrets(policy, other) != first
    assert base64.b64decode(read_policy(first.encode()).principals["reviewer"].secrets[0].reference)  # type: ignore[index]  # a plain name
    assert all((path.stat().st_mode & 0o077) == 0 for path in tmp_path.glob("*.secret"))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('as = "reviewer"', "", "`as` is missing"),
        ('history = "maren-mornings"', "", "needs exactly one of"),
        ("at_expiry_of =", "at_the_end_of =", "at_the_end_of: unknown"),
        ("records = 3", "record = 3", "expect.record: unknown for send"),
        ('memories = "memories.jsonl"', "", "memories is missing"),
        ("title =", "title", "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, old: str, new: str, problem: str) -> None:
    folder = tmp_path / "scenario"
    shutil.copytree(EXAMPLE, folder)
    script = folder / "scenario.toml"
    assert old in script.read_text("utf-8")
    script.write_text(script.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(ScenarioError, match=problem):
        read_scenario(folder)


@pytest.mark.parametrize(
    ("expect", "seen", "met"),
    [
        ({"status": "accepted"}, {"status": "accepted", "version": 1}, True),
        ({"status": "accepted"}, {"status": "rejected"}, False),
        ({"found": ["a", "b"]}, {"found": ["b", "a"]}, True),
        ({"found": ["a"]}, {"found": ["a", "b"]}, False),
        ({"found": []}, {"found": []}, True),
        ({"found": []}, {"refused": "not_allowed"}, False),
        ({"first": "a"}, {"found": ["a", "b"]}, True),
        ({"first": "b"}, {"found": ["a", "b"]}, False),
        ({"first": "a"}, {"found": []}, False),
        ({"first": "a"}, {"status": "duplicate", "first": "a"}, True),
        ({"absent": ["c"]}, {"found": ["a", "b"]}, True),
        ({"absent": ["b"]}, {"found": ["a", "b"]}, False),
        ({"absent": ["b"]}, {"refused": "not_allowed"}, False),
        ({"skipped": ["b"]}, {"found": ["a"], "skipped": ["b"]}, True),
        ({"skipped": ["b"]}, {"found": ["a"]}, False),
        ({"kinds": ["MemoryAccepted"]}, {"kinds": ["MemoryAccepted", "MemoryExpired"]}, False),
    ],
)
def test_an_expectation_is_met_or_not(expect: dict[str, Any], seen: dict[str, Any], met: bool) -> None:
    assert fits(expect, seen) is met

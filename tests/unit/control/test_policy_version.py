"""A policy is replaced by a later version only: events name the version, so a number must stand for one file."""

import pytest

from eunoe.runtime.control_state import ControlState
from eunoe.runtime.errors import PolicyNotNewer
from eunoe.runtime.policy_version import would_change
from eunoe.runtime.principals import sample_development_text
from eunoe.schemas.policy import Policy
from eunoe.schemas.policy_file import read_policy


def policy(version: int, title: str = "rules") -> Policy:
    text = sample_development_text()
    text = text.replace("version = 1", f"version = {version}").replace('development only"', f'{title}"')
    return read_policy(text.encode())


def test_the_first_policy_and_a_later_version_are_published() -> None:
    assert would_change(ControlState(), policy(7))
    assert would_change(ControlState(policy=policy(7)), policy(8))


def test_the_same_file_again_changes_nothing() -> None:
    assert not would_change(ControlState(policy=policy(7)), policy(7))


@pytest.mark.parametrize("new", [policy(6), policy(7, "other rules")])
def test_an_older_version_and_another_file_of_the_same_one_are_refused_with_the_number_to_take(new: Policy) -> None:
    with pytest.raises(PolicyNotNewer) as refused:
        would_change(ControlState(policy=policy(7)), new)
    assert f"version {new.version} cannot follow version 7" in str(refused.value)
    assert "version = 8" in str(refused.value)

"""What a worker is told to do is checked before it starts."""

import pytest

from eunoe.worker.errors import BadAcceptance, RoleUnavailable
from eunoe.worker.roles import Role, parse_accepted, parse_roles


def test_roles_are_named_by_commas() -> None:
    assert parse_roles("decide, project") == {Role.DECIDE, Role.PROJECT}
    assert parse_roles("project,shred") == {Role.PROJECT, Role.SHRED}


@pytest.mark.parametrize(("role", "said"), [("x", "no such role")])
def test_a_role_that_is_not_there_says_so(role: str, said: str) -> None:
    with pytest.raises(RoleUnavailable, match=said):
        parse_roles(f"decide,{role}")


def test_no_role_at_all_is_refused() -> None:
    with pytest.raises(RoleUnavailable):
        parse_roles(" , ")


def test_accepted_ranges_are_gathered_by_partition() -> None:
    assert parse_accepted(["3:120-180", "0:1-1", "3:200-201"]) == {3: ((120, 180), (200, 201)), 0: ((1, 1),)}
    assert parse_accepted([]) == {}


@pytest.mark.parametrize("text", ["3", "3:5", "3:9-5", "a:1-2", "3:1-2,4:1-2", "-1:1-2", "3:1–2"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(BadAcceptance, match="PARTITION:FIRST-LAST"):
        parse_accepted([text])

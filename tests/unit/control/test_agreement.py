"""A policy that changes who may destroy takes the people that the one in force names, not the control key alone."""

from collections.abc import Iterable
from dataclasses import replace as with_fields

import pytest
from msgspec.structs import replace

from eunoe.runtime.agreement import missing_for_policy
from eunoe.schemas.control import Approval, signed_policy_bytes
from eunoe.schemas.ids import LogId, Millis, Offset, PrincipalName
from eunoe.schemas.policy import Policy, RateRules
from unit.control.test_kek_rotation import LOG, SIGNERS, policy

XENIA = PrincipalName("xenia")
ONE_MORE = with_fields(policy().principals[PrincipalName("ines")], name=XENIA)
BODY, AT = b"the next policy", Offset(7)


def agreed(name: str, body: bytes = BODY, replaces: int = AT, log: LogId = LOG) -> Approval:
    signer = SIGNERS[name]
    blank = Approval(principal=PrincipalName(name), secret_id=signer.secret_id, at=Millis(5), signature=b"")
    return replace(blank, signature=signer.sign(signed_policy_bytes(body, Offset(replaces), blank, log)))


def without(name: str, before: Policy) -> Policy:
    return with_fields(before, principals={n: each for n, each in before.principals.items() if n != name})


def missing(before: Policy | None, after: Policy, approvals: Iterable[Approval] = ()) -> str | None:
    return missing_for_policy(approvals, BODY, AT, before, after, LOG)


def test_what_does_not_say_who_destroys_needs_nobody() -> None:
    before = policy()
    after = with_fields(before, version=2, title="other", rates=RateRules(per_minute=3))
    assert missing(before, after) is None
    agent = before.principals[PrincipalName("dev-agent")]
    moved = with_fields(agent, purposes=frozenset({"support"}))
    assert missing(before, with_fields(before, principals={**before.principals, agent.name: moved})) is None


@pytest.mark.parametrize(
    "after",
    [
        policy(two_people=False),
        policy(omars_owner="privacy"),
        without("omar", policy()),
        with_fields(policy(), erasure=with_fields(policy().erasure, grace=0)),
        with_fields(policy(), principals={**policy().principals, XENIA: ONE_MORE}),
    ],
    ids=["one is enough", "one owner", "one of them gone", "by itself", "one more"],
)
def test_who_destroys_and_what_it_takes_needs_two_owners(after: Policy) -> None:
    before = policy()
    for few in ((), (agreed("ines"),), (agreed("ines"), agreed("ines"))):
        assert "agreed: " in (missing(before, after, few) or "")
    assert missing(before, after, (agreed("ines"), agreed("omar"))) is None


def test_an_approval_is_of_one_file_in_the_place_of_one_other_in_one_installation() -> None:
    before, after = policy(), policy(two_people=False)
    stray = (
        agreed("ines", body=b"another"),
        agreed("ines", replaces=6),
        agreed("ines", log=LogId("log-2")),
        replace(agreed("omar"), principal=PrincipalName("ines")),
    )
    for each in stray:
        assert "agreed: 1" in (missing(before, after, (each, agreed("omar"))) or "")


def test_a_first_policy_and_one_that_asked_for_nobody_take_the_key_alone() -> None:
    assert missing(None, policy()) is None
    assert missing(policy(two_people=False), policy()) is None


def test_where_the_policy_names_one_owner_that_one_agrees() -> None:
    """Or nobody could ever name a second."""
    before = policy(omars_owner="privacy")
    others = [name for name in before.principals if name.startswith("dev-officer")]
    for name in others:
        before = without(name, before)
    assert missing(before, policy()) is not None
    assert missing(before, policy(), (agreed("ines"),)) is None

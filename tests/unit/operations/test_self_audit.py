"""The questions of the self-audit: each "no" follows from a table of the policy, and goes when that is mended."""

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

import pytest

from eunoe.operations.self_audit import self_audit
from eunoe.runtime.principals import sample_development_policy
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Action, Confirmation, PrincipalKind, SourceKind, Trust


def development() -> Policy:
    return sample_development_policy()


def named() -> Policy:
    """The development policy with a purpose that has a name and an owner."""
    any_purpose = development().purposes["*"]
    support = replace(any_purpose, name="support", owner="head-of-support")
    return replace(development(), purposes=MappingProxyType({"support": support}))


def noes(policy: Policy) -> list[str]:
    return [each.question for each in self_audit(policy) if not each.yes]


def test_a_policy_that_names_its_purposes_has_only_yeses() -> None:
    assert noes(named()) == []


def test_the_development_policy_does_not_pass_and_says_why() -> None:
    assert [each.because for each in self_audit(development()) if not each.yes] == [
        'purposes."*" lets any purpose pass: name each of them',
        "nobody owns *",
    ]


def confirmed_guesses(policy: Policy) -> Policy:
    rule = replace(policy.sources[SourceKind.INFERRED], confirmation=Confirmation.CONFIRMED)
    return replace(policy, sources=MappingProxyType({**policy.sources, SourceKind.INFERRED: rule}))


def trusted_strangers(policy: Policy) -> Policy:
    rule = replace(policy.sources[SourceKind.THIRD_PARTY], trust=Trust.ASSERTED)
    return replace(policy, sources=MappingProxyType({**policy.sources, SourceKind.THIRD_PARTY: rule}))


def without(action: Action) -> Callable[[Policy], Policy]:
    def changed(policy: Policy) -> Policy:
        return replace(
            policy,
            principals=MappingProxyType(
                {
                    name: replace(rule, actions=rule.actions - {action}) if rule.kind is PrincipalKind.HUMAN else rule
                    for name, rule in policy.principals.items()
                }
            ),
        )

    return changed


@pytest.mark.parametrize(
    "change", [confirmed_guesses, trusted_strangers, without(Action.REVIEW), without(Action.ERASE)]
)
def test_each_weakness_is_one_no(change: Callable[[Policy], Policy]) -> None:
    assert len(noes(change(named()))) == 1


def test_a_summary_that_may_start_as_confirmed_is_told() -> None:
    policy = named()
    summary = replace(policy.kinds["summary"], derived=False)
    loose = replace(policy, kinds=MappingProxyType({**policy.kinds, "summary": summary}))
    assert [each.because for each in self_audit(loose) if not each.yes] == ["kinds.summary: derived must be true"]
    none = replace(policy, kinds=MappingProxyType({"fact": policy.kinds["fact"]}))
    assert [each.because.partition(":")[0] for each in self_audit(none) if not each.yes] == ["no kind is derived"]

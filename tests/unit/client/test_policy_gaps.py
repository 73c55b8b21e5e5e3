"""A policy that speaks of detectors or classes that there are not would switch off what it was meant to sharpen."""

from dataclasses import replace
from types import MappingProxyType

from eunoe.client.policy_gaps import gaps_of
from eunoe.runtime.principals import sample_development_policy
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Verdict

POLICY = sample_development_policy()


def with_verdicts(detector: str, rule: str) -> Policy:
    verdicts = {**POLICY.detection.verdicts, detector: MappingProxyType({rule: Verdict.REJECT})}
    return replace(POLICY, detection=replace(POLICY.detection, verdicts=verdicts))


def test_the_development_policy_names_what_there_is() -> None:
    assert gaps_of(POLICY) == []
    assert gaps_of(with_verdicts("text", "secret")) == []
    assert gaps_of(with_verdicts("text", "*")) == []


def test_a_misspelt_detector_or_class_is_named_with_what_there_is() -> None:
    (detector,) = gaps_of(with_verdicts("txt", "secret"))
    assert "detection.detectors.txt: no such detector is installed here; there are text" in detector
    (rule,) = gaps_of(with_verdicts("text", "secrets"))
    assert "detection.detectors.text.secrets: nothing finds such a class; there are" in rule
    assert "secret" in rule
    assert len(gaps_of(with_verdicts("*", "secrets"))) == 1

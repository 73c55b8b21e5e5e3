"""The questions a team should be able to answer about its memory (C43, B70, B71), answered from the policy in force.

What the code guarantees whatever the policy says is answered with where it is guaranteed; what a policy can undo is
looked up in it. A "no" names the table to change.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from eunoe.schemas.policy import ANY, Policy
from eunoe.schemas.values import Action, Confirmation, PrincipalKind, SourceKind, Trust

_NOBODY = frozenset({"nobody", "none", "-", ""})
_SUMMARY = "summar"
_GUESSES = (SourceKind.INFERRED, SourceKind.MODEL_OUTPUT)


@dataclass(frozen=True, slots=True)
class Answer:
    """``because``: where it is guaranteed, or what in the policy says otherwise."""

    question: str
    yes: bool
    because: str

    @property
    def document(self) -> dict[str, Any]:
        return {"question": self.question, "answer": "yes" if self.yes else "no", "because": self.because}


def self_audit(policy: Policy) -> tuple[Answer, ...]:
    """Every question, in a fixed order."""
    return tuple(_answers(policy))


def _answers(policy: Policy) -> Iterator[Answer]:
    yield Answer("Has every record a tenant and a class?", True, "both are required fields of every command")
    yield Answer(
        "Has every lasting record provenance and a revision?",
        True,
        "a draft without provenance is refused (no_provenance); every accepted change raises the version by one",
    )
    yield Answer(
        "Is every retrieval bounded by class and volume?",
        True,
        "limit and token budget are arguments of every read; sensitivity is bounded by principal and purpose",
    )
    yield _named_purposes(policy)
    yield Answer(
        "Can a result be reconstructed from its trace?",
        True,
        "each search leaves what it delivered, why, and under which policy on memory-access, the query sealed",
    )
    yield _no_guess_is_a_fact(policy)
    yield _owned(policy)
    yield _untrusted_waits(policy)
    yield _held_by(policy, Action.REVIEW, "Is there a person who may review?")
    yield _held_by(policy, Action.ERASE, "Is there a person who may have somebody forgotten?")


def _named_purposes(policy: Policy) -> Answer:
    question = "Does every query say who reads and why?"
    if ANY in policy.purposes:
        return Answer(question, False, f'purposes."{ANY}" lets any purpose pass: name each of them')
    return Answer(question, True, f"{len(policy.purposes)} purposes are named; any other is refused")


def _no_guess_is_a_fact(policy: Policy) -> Answer:
    question = "Is what a model inferred or summarised never taken for confirmed?"
    wrong = [
        kind.value
        for kind in _GUESSES
        if (rule := policy.sources.get(kind)) is not None and rule.confirmation is Confirmation.CONFIRMED
    ]
    if wrong:
        return Answer(question, False, f"sources.{', sources.'.join(wrong)}: confirmation must be proposed")
    summaries = [name for name, rule in policy.kinds.items() if _SUMMARY in name.lower() and not rule.derived]
    if summaries:
        return Answer(question, False, f"kinds.{', kinds.'.join(sorted(summaries))}: derived must be true")
    derived = sorted(name for name, rule in policy.kinds.items() if rule.derived)
    if not derived:
        return Answer(question, False, "no kind is derived: a summary may start as confirmed; give summaries a kind")
    return Answer(
        question,
        True,
        f"inferred, model_output and the kinds {', '.join(derived)} start as proposed; every read says so",
    )


def _owned(policy: Policy) -> Answer:
    question = "Has every purpose an owner, and a way to go on without memory?"
    wrong = [name for name, rule in policy.purposes.items() if rule.owner.strip().lower() in _NOBODY]
    if wrong:
        return Answer(question, False, f"nobody owns {', '.join(sorted(wrong))}")
    return Answer(question, True, "each names an owner and a fallback")


def _untrusted_waits(policy: Policy) -> Answer:
    question = "Does what third parties say wait for a person?"
    rule = policy.sources.get(SourceKind.THIRD_PARTY)
    if rule is not None and rule.trust is not Trust.UNTRUSTED:
        return Answer(question, False, "sources.third_party: trust must be untrusted")
    return Answer(question, True, "an untrusted source is quarantined, and promoted only by somebody of another owner")


def _held_by(policy: Policy, action: Action, question: str) -> Answer:
    people = [
        rule
        for rule in policy.principals.values()
        if action in rule.actions and rule.kind is PrincipalKind.HUMAN and rule.secrets
    ]
    if not people:
        return Answer(question, False, f"no human principal has the action {action.value}")
    owners = {each.owner for each in people}
    return Answer(question, True, f"{len(people)} of {len(owners)} owner{'' if len(owners) == 1 else 's'}")

"""The tables about judging: what is wrong in one is told with its line, and what is right is read as it stands."""

import pytest

from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.policy_file import PolicyError
from eunoe.schemas.values import Action, Circumstance, MemoryClass, PrincipalKind, Sensitivity, SourceKind, Verdict
from unit.policy.test_policy_file import DAY, DEVELOPMENT, read

SURFACES = "[retention]"
"""Written before the first table: a key after one would belong to it."""
FACT = "[kinds.fact]"
TOOL = "[sources.tool]"
INFERRED = '[sources.inferred]\ntrust = "asserted"\nconfirmation = "proposed"'
OTHERS = '[sources.third_party]\ntrust = "untrusted"\nconfirmation = "proposed"'
MODELS = '[sources.model_output]\ntrust = "untrusted"\nconfirmation = "proposed"'


def problems(old: str, new: str) -> tuple[tuple[int, str], ...]:
    """Line and text of all that is wrong with the development policy once ``old`` is ``new``; none if nothing is."""
    assert old in DEVELOPMENT
    try:
        read(DEVELOPMENT.replace(old, new, 1))
    except PolicyError as error:
        return tuple((each.line, each.problem) for each in error.problems)
    return ()


@pytest.mark.parametrize(
    ("old", "bad", "good", "problem"),
    [
        # circumstances
        ('one_off = "reject"', 'one_off = "redact"', 'one_off = "allow"', "a circumstance cannot be redacted"),
        ('one_off = "reject"', 'one_off = "no"', 'one_off = "quarantine"', "'no' is none of allow, redact, quarantine"),
        ('one_off = "reject"', 'one_of = "reject"', "", "unknown key 'circumstances.one_of'"),
        ('one_off = "reject"', "one_off = true", 'one_off = "reject"', "circumstances.one_off must be text"),
        # detection
        ("budget_us = 20000", "budget_us = 0", "budget_us = 1", "detection.budget_us must be at least 1"),
        ("budget_us = 20000", 'budget_us = "2ms"', "budget_us = 500", "detection.budget_us must be a whole number"),
        ("budget_us = 20000", "budget_ms = 2", "", "unknown key 'detection.budget_ms'"),
        ('routing = "quarantine"', 'routing = "drop"', 'routing = "reject"', "'drop' is none of allow, redact"),
        ('routing = "quarantine"', "routing = 3", 'routing = "reject"', "routing must be text"),
        ('routing = "quarantine"', 'routing = "allow"', 'routing = "reject"', "it always waits; quarantine or reject"),
        ('secret = "reject"', 'secret = "allow"', 'secret = "redact"', "never remembered as it stands"),
        ('forbidden_data = "reject"', 'forbidden_data = "allow"', "", "never remembered as it stands"),
        ('hidden_profile = "quarantine"', 'hidden_profile = "allow"', "", "never remembered as it stands"),
        ('derived_from_memory = "reject"', 'derived_from_memory = "allow"', "", "never remembered as it stands"),
        ('routing = "quarantine"', '"*" = "allow"', '"*" = "reject"', "what no line speaks of is not let through"),
        ('privilege = "quarantine"', 'privilege = "redact"', "", "it always waits; quarantine or reject"),
        # review
        ('instruction = "P1D"', 'boredom = "P1D"', "", "'boredom' is no reason for which"),
        ('instruction = "P1D"', 'instruction = "1 day"', 'instruction = "PT12H"', "not a duration such as P180D"),
        ('instruction = "P1D"', 'instruction = "P0D"', 'instruction = "P2D"', "must be longer than nothing"),
        ("[review.waiting]", "[review.waitin]", "[review.waiting]", "unknown key 'review.waitin'"),
        # conflicts
        ('newer_wins_after = "P1D"', 'newer_wins_after = "P1M"', 'newer_wins_after = "PT1S"', "no fixed length"),
        ('newer_wins_after = "P1D"', 'older_wins = "P1D"', "", "unknown key 'conflicts.older_wins'"),
        ('newer_wins_after = "P1D"', "newer_wins_after = 86400", "", "newer_wins_after must be a duration"),
        # kinds
        (FACT, f'{FACT}\nanswers = ["why"]', f'{FACT}\nanswers = ["future_use"]', "kinds.fact.answers: 'why' is none"),
        (FACT, f"{FACT}\nanswers = true", f"{FACT}\nanswers = []", "kinds.fact.answers must be a list of names"),
        (FACT, f'{FACT}\nclasses = ["eternal"]', f'{FACT}\nclasses = ["profile"]', "'eternal' is none of short_term"),
        (FACT, f'{FACT}\nconfirmed_only = "yes"', f"{FACT}\nconfirmed_only = true", "must be true or false"),
        # sources
        (
            "[sources.tool]",
            '[sources.tool]\ncopies = "redact"',
            '[sources.tool]\ncopies = "reject"',
            "cannot be redacted",
        ),
        (
            "[sources.tool]",
            '[sources.tool]\ncopies = "no"',
            '[sources.tool]\ncopies = "allow"',
            "'no' is none of allow",
        ),
        (
            INFERRED,
            INFERRED.replace("asserted", "verified"),
            INFERRED.replace("asserted", "untrusted"),
            "only untrusted or",
        ),
        (INFERRED, INFERRED.replace("proposed", "confirmed"), INFERRED, "cannot be confirmed: what is inferred"),
        (OTHERS, OTHERS.replace("untrusted", "asserted"), OTHERS, "cannot be asserted, only untrusted: what third"),
        (OTHERS, OTHERS.replace("proposed", "confirmed"), OTHERS, "cannot be confirmed: what third"),
        (MODELS, MODELS.replace("untrusted", "asserted"), MODELS, "cannot be asserted, only untrusted: what a model"),
        # purposes
        (
            'owner = "nobody"',
            'owner = "nobody"\nmax_sensitivity = "secret"',
            'owner = "nobody"\nmax_sensitivity = "internal"',
            "'secret' is none of public, internal",
        ),
        ('owner = "nobody"', 'owner = " "', 'owner = "somebody"', "owner must not be empty"),
        # surfaces
        (SURFACES, f'surfaces = ["a b"]\n{SURFACES}', f'surfaces = ["chat"]\n{SURFACES}', "'a b' is no name"),
        (SURFACES, f"surfaces = 3\n{SURFACES}", f'surfaces = "*"\n{SURFACES}', "surfaces must be a list of names"),
        # principals
        ('owner = "dev-team"', 'owner = ""', 'owner = "dev"', "principals.dev-agent.owner must not be empty"),
    ],
)
def test_a_bad_value_is_told_with_its_line_and_a_good_one_in_its_place_is_not(
    old: str, bad: str, good: str, problem: str
) -> None:
    assert problems(old, good) == (), "the control"
    (told,) = [line for line, text in problems(old, bad) if problem in text]
    text = DEVELOPMENT.replace(old, bad, 1)
    (written,) = [line for line in bad.splitlines() if line not in old.splitlines()]
    assert told == text.count("\n", 0, text.index(written, DEVELOPMENT.index(old))) + 1


def test_a_service_is_not_granted_review() -> None:
    human = 'kind = "human"\nowner = "dev-review"'
    ((line, text),) = problems(human, human.replace("human", "service"))
    assert text == "principals.dev-reviewer: only a human may have review, and it is a service"
    assert DEVELOPMENT.splitlines()[line - 1].startswith('actions = ["review"')
    assert problems(human, human.replace("dev-review", "somebody")) == (), "the control"


def test_a_principal_without_an_owner_is_refused() -> None:
    ((line, text),) = problems('owner = "dev-team"\n', "")
    assert text == "principals.dev-agent.owner is missing"
    assert DEVELOPMENT.splitlines()[line - 1] == "[principals.dev-agent]"


def test_what_stands_in_the_tables_is_what_holds() -> None:
    text = DEVELOPMENT.replace(FACT, f'{FACT}\nanswers = ["staleness"]\nclasses = ["profile"]\nconfirmed_only = true')
    text = text.replace("[sources.tool]", '[sources.tool]\ncopies = "quarantine"')
    policy = read(text.replace('owner = "nobody"', 'owner = "nobody"\nmax_sensitivity = "internal"'))
    assert policy.circumstance(Circumstance.ONE_OFF) is Verdict.REJECT
    assert policy.detection.verdict("any", "routing") is Verdict.QUARANTINE
    assert policy.review.waiting["routing"] == DAY
    assert policy.conflicts.newer_wins_after == DAY
    fact = policy.kinds["fact"]
    assert fact.answers == frozenset({"staleness"})
    assert (fact.classes, fact.confirmed_only) == (frozenset({MemoryClass.PROFILE}), True)
    assert policy.sources[SourceKind.TOOL].copies is Verdict.QUARANTINE
    assert policy.purposes["*"].max_sensitivity is Sensitivity.INTERNAL


def test_what_would_change_rules_or_routing_has_a_waiting_period_in_every_policy() -> None:
    for name in ("routing", "privilege", "policy_influence"):
        with pytest.raises(PolicyError, match=f"review.waiting.{name} is missing"):
            read(DEVELOPMENT.replace(f'{name} = "P1D"\n', ""))
    assert read(DEVELOPMENT.replace('routing = "P1D"\n', 'routing = "PT1H"\n')).review.waiting["routing"] == 3_600_000


def test_what_no_line_speaks_of_is_not_let_through() -> None:
    start, end = DEVELOPMENT.index("# What findings in a text do"), DEVELOPMENT.index("[principals.dev-agent]")
    waiting = '[review]\nusual = "P1D"\n\n'
    bare = read(DEVELOPMENT[:start] + waiting + DEVELOPMENT[end:])
    assert {bare.circumstance(each) for each in Circumstance} == {Verdict.REJECT}
    assert bare.detection.verdict("any", "anything") is Verdict.QUARANTINE
    assert bare.conflicts.newer_wins_after is None


def test_whoever_may_review_is_a_person_in_every_policy_that_is_read() -> None:
    policy = read(DEVELOPMENT)
    assert policy.principals[PrincipalName("dev-reviewer")].kind is PrincipalKind.HUMAN
    for rule in policy.principals.values():
        assert Action.REVIEW not in rule.actions or rule.kind is PrincipalKind.HUMAN
        assert rule.owner

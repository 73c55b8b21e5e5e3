"""A policy with an error is refused with file, line and reason; all that is wrong is told at once."""

import base64
import hashlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.runtime.principals import sample_development_text
from eunoe.schemas.ids import PrincipalName, SecretId, TenantId
from eunoe.schemas.policy import Policy
from eunoe.schemas.policy_file import PolicyError, read_policy
from eunoe.schemas.values import Action, Confirmation, SourceKind, Trust

PUBLIC = base64.b64encode(bytes(32)).decode()
OFFICERS = base64.b64encode(bytes([1]) * 32).decode()
DEV_AGENT = 'actions = ["write", "read", "request_erasure"]'
DEVELOPMENT = sample_development_text()
DAY = 86_400_000


def changed(old: str, new: str) -> tuple[str, int]:
    """The development policy with the first ``old`` replaced, and the line on which that stands."""
    at = DEVELOPMENT.index(old)
    return DEVELOPMENT.replace(old, new, 1), DEVELOPMENT.count("\n", 0, at) + 1


def read(text: str) -> Policy:
    return read_policy(text.encode(), "policy.toml")


def test_the_development_policy_is_valid_and_says_what_it_is_for_in_its_first_lines() -> None:
    policy = read(DEVELOPMENT)
    assert "development only" in DEVELOPMENT.splitlines()[0].lower()
    assert "one person alone" in DEVELOPMENT.splitlines()[1]
    assert set(policy.principals) == {"dev-agent", "dev-portal", "dev-reviewer", "dev-officer", "eunoe-sweeper"}
    assert set(policy.kinds) == {"fact", "preference", "episode", "summary", "skill", "note"}
    assert len({policy.principals[PrincipalName(name)].owner for name in ("dev-reviewer", "dev-officer")}) == 2


def test_the_hash_is_of_the_bytes_as_they_are() -> None:
    assert read(DEVELOPMENT).hash == hashlib.sha256(DEVELOPMENT.encode()).hexdigest()
    assert read(DEVELOPMENT + "# a comment\n").hash != read(DEVELOPMENT).hash


def test_what_is_written_is_what_is_read() -> None:
    policy = read(DEVELOPMENT)
    officer = policy.principals[PrincipalName("dev-officer")]
    assert officer.may(Action.ERASE, TenantId("any"))
    assert not officer.may(Action.WRITE, TenantId("any"))
    assert policy.kinds["fact"].ttl_max == 1_825 * DAY
    assert policy.sources[SourceKind.TOOL].trust is Trust.ASSERTED
    assert policy.sources[SourceKind.TOOL].confirmation is Confirmation.PROPOSED
    assert policy.sources[SourceKind.MODEL_OUTPUT].trust is Trust.UNTRUSTED
    secret = policy.secret(PrincipalName("dev-agent"), SecretId("dev-agent-1"))
    assert secret is not None
    assert secret.reference == "file:dev-agent.secret"


def test_a_purpose_is_known_by_its_own_rule_or_the_one_for_any() -> None:
    anything = read(DEVELOPMENT)
    rule = anything.purpose("support")
    assert rule is not None
    assert rule.name == "*"
    named = read(DEVELOPMENT.replace('[purposes."*"]', "[purposes.support]"))
    assert named.purpose("support") is not None
    assert named.purpose("marketing") is None


def test_a_principal_may_be_held_to_tenants_and_source_kinds() -> None:
    text = DEVELOPMENT.replace('tenants = "*"', 'tenants = ["acme"]', 1)
    text = text.replace('source_kinds = "*"', 'source_kinds = ["tool"]', 1)
    agent = read(text).principals[PrincipalName("dev-agent")]
    assert agent.may(Action.WRITE, TenantId("acme"))
    assert not agent.may(Action.WRITE, TenantId("acme-2"))
    assert agent.source_kinds == frozenset({SourceKind.TOOL})


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("version = 1", "version = 0", "version must be at least 1"),
        ("version = 1", 'version = "1"', "version must be a whole number"),
        ("version = 1", "version = true", "version must be a whole number"),
        ('title = "development only"', 'title = ""', "title must not be empty"),
        ('title = "development only"', 'titel = "x"', "unknown key 'titel'"),
        ('idempotency = "P30D"', 'idempotency = "P29D"', "at least P30D, as long as commands are kept"),
        ('idempotency = "P30D"', 'idempotency = "P1M"', "years and months have no fixed length"),
        ('idempotency = "P30D"', 'idempotency = "P0D"', "longer than nothing"),
        ("statement_chars = 4000", "statement_chars = -1", "statement_chars must be at least 1"),
        ("statement_chars = 4000", "statement_charz = 4000", "unknown key 'limits.statement_charz'"),
        ('owner = "nobody"', "owner = 3", "owner must be text"),
        ('ttl_max = "P1825D"', 'ttl_max = "P1825D"\nttl_default = "P365D"', "unknown key 'kinds.fact.ttl_default'"),
        ('ttl_max = "P1825D"', 'ttl_max = "180 days"', "not a duration such as P180D"),
        ('ttl_max = "P1825D"', 'ttl_max = "P1825D"\nown_bucket = "yes"', "own_bucket must be true or false"),
        ("[sources.tool]", "[sources.rumour]", "source kind 'rumour' is none of user_explicit, system"),
        ('trust = "asserted"', 'trust = "high"', "'high' is none of untrusted, asserted, verified"),
        ('confirmation = "confirmed"', 'confirmation = "rejected"', "a new record cannot start as rejected"),
        ('kind = "service"', 'kind = "robot"', "'robot' is none of human, service"),
        ('tenants = "*"', 'tenants = ["a/b"]', "'a/b' is no tenant name"),
        ('tenants = "*"', 'tenants = ["acme", "acme"]', "names something twice"),
        (DEV_AGENT, 'actions = ["write", "rite"]', "'rite' is none of write, review"),
        (DEV_AGENT, 'actions = ["write", "erase"]', "erase must be signed"),
        ('secret = "file:dev-agent.secret"', 'secret = "file:../x"', "env:NAME or file:NAME"),
        ('id = "dev-reviewer-1"', 'id = "dev-agent-1"', "secret id 'dev-agent-1' is used twice"),
        (f'public_key = "{PUBLIC}"', 'public_key = "QUJD"', "32 bytes in base64"),
        (f'public_key = "{OFFICERS}"', f'public_key = "{PUBLIC}"', "dev-reviewer and dev-officer have the same secret"),
        ('owner = "dev-privacy"', 'owner = "Dev-Team "', "owner 'Dev-Team ' is spelled 'dev-team' elsewhere"),
        (
            f'public_key = "{OFFICERS}"',
            f'public_key = "{PUBLIC[:-2]}B="',
            "dev-reviewer and dev-officer have the same secret",
        ),
        ('owner = "dev-privacy"', 'owner = "DEV-TEAM"', "owner 'DEV-TEAM' is spelled 'dev-team' elsewhere"),
        ('owner = "dev-privacy"', 'owner = "dev\u200b-team"', "owner 'dev\\u200b-team' (dev\\u200b-team) is spelled"),
        ('owner = "dev-privacy"', 'owner = "d\u0435v-team"', "(d\\u0435v-team) is spelled 'dev-team' elsewhere"),
        ('owner = "dev-privacy"', 'owner = "de\u0301v-team"', "is spelled 'dev-team' elsewhere"),
        ('kind = "service"', 'kind = "service"\npurposes = ["a b"]', "'a b' is no name"),
        ('kind = "service"', 'kind = "service"\nagents = [3]', "agents must be a list of names"),
    ],
)
def test_an_error_is_told_with_its_line(old: str, new: str, problem: str) -> None:
    text, line = changed(old, new)
    with pytest.raises(PolicyError) as caught:
        read(text)
    told = [each for each in caught.value.problems if problem in each.problem]
    assert told, str(caught.value)
    assert told[0].file == "policy.toml"
    assert told[0].line == line + new.count("\n")


@pytest.mark.parametrize(
    ("missing", "table"),
    [
        ('owner = "dev-team"\n', "[principals.dev-agent]"),
        ('tenants = "*"\n', "[principals.dev-agent]"),
        ('source_kinds = "*"\n', "[principals.dev-agent]"),
        ('ttl_max = "P1825D"\n', "[kinds.fact]"),
        ('fallback = "answer without memory"\n', '[purposes."*"]'),
    ],
)
def test_what_grants_something_has_no_default(missing: str, table: str) -> None:
    text = DEVELOPMENT.replace(missing, "", 1)
    with pytest.raises(PolicyError, match="is missing") as caught:
        read(text)
    assert caught.value.problems[0].line == text[: text.index(table)].count("\n") + 1


def test_several_errors_are_told_together_in_order() -> None:
    text = DEVELOPMENT.replace("version = 1", "version = 0").replace('"file:eunoe-sweeper.secret"', '"s3cr3t"')
    text = text.replace('ttl_max = "P730D"', 'ttl_max = "soon"', 1)
    with pytest.raises(PolicyError) as caught:
        read(text)
    lines = [each.line for each in caught.value.problems]
    assert len(lines) == 3
    assert lines == sorted(lines)
    assert str(caught.value).count("policy.toml:") == 3


def test_a_secret_pasted_into_the_policy_is_not_repeated() -> None:
    with pytest.raises(PolicyError) as caught:
        read(DEVELOPMENT.replace("file:dev-agent.secret", "hunter2-hunter2"))
    assert "hunter2" not in str(caught.value)
    assert "never be the secret itself" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "line", "problem"),
    [
        (b"version = 1\ntitle = x\n", 2, "Invalid value"),
        (b"version = 1\nversion = 2\n", 2, "overwrite"),
        (b"version = 1\n\xff\n", 2, "not UTF-8"),
        (b"a = 1\nb = [1,\n", 3, "Invalid value"),
        (b"version = 1\na = " + b"[" * 100_000 + b"\n", 2, "nested too deeply"),
        (b"title = 'x'\nversion = " + b"9" * 5_000 + b"\n", 2, "too long to be read"),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(data: bytes, line: int, problem: str) -> None:
    with pytest.raises(PolicyError, match=problem) as caught:
        read_policy(data, "policy.toml")
    assert [each.line for each in caught.value.problems] == [line]


@pytest.mark.parametrize(
    ("old", "setting", "most"),
    [
        ("version = 1", "version", 2**31 - 1),
        ("statement_chars = 4000", "statement_chars", 200_000),
        ("body_bytes = 32768", "body_bytes", 900_000),
        ("[limits]", "[limits]\npurposes", 1_000),
        ("budget_us = 20000", "budget_us", 1_000_000),
        ("per_hour = 1000000", "per_hour", 2**31 - 1),
    ],
)
def test_a_number_has_an_end(old: str, setting: str, most: int) -> None:
    read(DEVELOPMENT.replace(old, f"{setting} = {most}", 1))
    for above in (most + 1, 2**64):
        text, line = changed(old, f"{setting} = {above}")
        with pytest.raises(PolicyError, match=f"{setting.rsplit(maxsplit=1)[-1]} must be at most {most}") as caught:
            read(text)
        assert [each.line for each in caught.value.problems] == [line + setting.count("\n")]


OFFICER = '"operate", "export", "import"]'


@pytest.mark.parametrize(
    "text",
    [
        DEVELOPMENT.replace(OFFICER, OFFICER.replace('"operate", ', "")),
        DEVELOPMENT.replace('owner = "dev-privacy"\ntenants = "*"', 'owner = "dev-privacy"\ntenants = ["acme"]'),
    ],
)
def test_a_policy_after_which_none_could_follow_is_refused(text: str) -> None:
    assert text != DEVELOPMENT
    with pytest.raises(PolicyError, match=r"policy.toml:\d+: nobody may operate on every tenant") as caught:
        read(text)
    (problem,) = caught.value.problems
    assert text.splitlines()[problem.line - 1].startswith("actions = ")


def test_an_empty_file_names_all_that_is_missing() -> None:
    with pytest.raises(PolicyError) as caught:
        read("")
    told = str(caught.value)
    assert all(name in told for name in ("version", "title", "purposes", "kinds", "sources", "principals"))


@given(st.text(max_size=300))
def test_any_text_is_a_policy_or_a_policy_error(text: str) -> None:
    with pytest.raises(PolicyError):
        read(text)


@given(st.integers(0, len(DEVELOPMENT) - 1), st.sampled_from(list('[]{}"=.,\n\\ a0#')))
def test_one_changed_character_is_a_policy_or_a_policy_error(at: int, character: str) -> None:
    with suppress(PolicyError):
        read(DEVELOPMENT[:at] + character + DEVELOPMENT[at + 1 :])


def test_two_spellings_of_one_owner_are_one_however_they_are_composed() -> None:
    def owners(first: str, second: str) -> str:
        return DEVELOPMENT.replace('owner = "dev-team"', f'owner = "{first}"').replace(
            'owner = "dev-privacy"', f'owner = "{second}"'
        )

    with pytest.raises(PolicyError, match="elsewhere"):
        read(owners("Zo\u00eb's team", "Zoe\u0308's team"))
    assert read(owners("Отдел поддержки", "Отдел защиты данных")), "the control"

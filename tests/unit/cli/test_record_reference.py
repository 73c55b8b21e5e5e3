"""A record is named by its id, or by what `rollback_ref` says; all else is wrong usage, before anything is sent."""

from typing import Any

import pytest
from click.testing import CliRunner

from eunoe.cli import record_commands, write_commands
from eunoe.cli.main import cli
from eunoe.cli.record_reference import RecordId, Reference
from eunoe.client.lines import line_of

ID = "018f0000-0000-7000-8000-000000000000"
SCOPE = ("--tenant", "acme", "--agent", "bot", "--purpose", "support")


def code(*arguments: str) -> int:
    return CliRunner().invoke(cli, list(arguments)).exit_code


def test_an_id_with_and_without_its_revision() -> None:
    assert Reference().convert(f"{ID}@3", None, None) == (ID, 3)
    assert Reference().convert(ID, None, None) == (ID, None)
    assert RecordId().convert(f"{ID}@3", None, None) == ID


@pytest.mark.parametrize("wrong", ["nonsense", f"{ID}@", f"{ID}@0", f"{ID}@x", f"{ID}@3@4", ID.upper()])
@pytest.mark.parametrize(
    "command",
    [
        ("history", *SCOPE),
        ("why", "--query", "tea", *SCOPE),
        ("retract", "--tenant", "acme"),
        ("rollback", "--tenant", "acme"),
        ("review", "show", "--tenant", "acme"),
    ],
)
def test_no_reference_is_wrong_usage(command: tuple[str, ...], wrong: str) -> None:
    assert code(*command, wrong) == 2
    assert code("traces", "--tenant", "acme", "--memory", "nonsense") == 2


def test_a_revision_stands_for_the_expected_version(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(record_commands, "perform", lambda _, fields, __: sent.append(fields))
    assert code("retract", f"{ID}@3", "--tenant", "acme") == 0
    assert code("retract", ID, "--expected-version", "2", "--tenant", "acme") == 0
    assert [(each["memory_id"], each["expected_version"]) for each in sent] == [(ID, 3), (ID, 2)]
    assert code("retract", ID, "--tenant", "acme") == 2
    assert code("retract", f"{ID}@3", "--expected-version", "2", "--tenant", "acme") == 2
    assert code("rollback", ID, "--tenant", "acme") == 2


def test_remember_takes_all_that_a_record_carries(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(write_commands, "perform", lambda _, fields, __: sent.append(fields))
    names: tuple[str, ...] = ("future-use", "why-not-ask-again", "gain-measure", "staleness")
    names += ("readers", "confirmation", "deletion", "correction")
    answers = [part for name in names for part in (f"--{name}", f"the {name}")]
    more: tuple[str, ...] = (
        "--conflict-policy",
        "require_review_on_conflict",
        "--export-delete-policy",
        "operator_only",
    )
    more += ("--retention", "short", "--uri", "crm://1", "--ttl", "P1D")
    assert code("remember", "Prefers tea.", *SCOPE, "--scope", "orders", *more, *answers) == 0
    (fields,) = sent
    assert fields["answers"] == {name.replace("-", "_"): f"the {name}" for name in names}
    assert (fields["scope"], fields["retention"]) == ("orders", "short")
    assert line_of(fields)

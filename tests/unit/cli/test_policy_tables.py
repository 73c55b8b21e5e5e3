"""`policy check` names file, line and reason; `policy show` also says what holds where a file says nothing."""

import json
from pathlib import Path

import pytest

from eunoe.cli.main import main
from eunoe.cli.policy_tables import effective, effective_text
from eunoe.schemas.policy_file import read_policy
from unit.policy.test_policy_file import DEVELOPMENT


def test_defaults_are_shown_as_they_hold() -> None:
    text = DEVELOPMENT.replace('one_off = "reject"\n', "").replace('newer_wins_after = "P1D"\n', "")
    document = effective(read_policy(text.encode()))
    assert document["circumstances"]["one_off"] == "reject", "what no line speaks of"
    assert document["circumstances"]["error_undetectable"] == "quarantine"
    assert document["detection"]["detectors"]["*"]["secret"] == "reject"
    assert (document["detection"]["budget_us"], document["detection"]["otherwise"]) == (20000, "quarantine")
    assert document["review"]["waiting"]["routing"] == "P1D"
    assert document["conflicts"] == {"newer_wins_after": None}
    assert document["kinds"]["fact"]["classes"] == ["long_term", "profile", "short_term"]
    assert document["sources"]["tool"] == {"copies": "allow"}
    assert json.loads(json.dumps(document)) == document


def test_what_people_see_is_a_policy_file_still() -> None:
    policy = read_policy(DEVELOPMENT.encode())
    shown = f"{DEVELOPMENT}\n{effective_text(policy)}\n"
    assert "#   detection.budget_us = 20000" in shown
    assert "#   conflicts.newer_wins_after = P1D" in shown
    assert effective(read_policy(shown.encode())) == effective(policy)


def test_check_says_file_line_and_reason_of_all_that_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(
        DEVELOPMENT.replace("budget_us = 20000", "budget_us = 0").replace('one_off = "reject"', "one_off = 1")
    )
    lines = {text: number for number, text in enumerate(file.read_text().splitlines(), 1)}
    with pytest.raises(SystemExit) as ended:
        main(["policy", "check", str(file)])
    assert ended.value.code == 1
    told = capsys.readouterr().err
    assert f"{file}:{lines['budget_us = 0']}: detection.budget_us must be at least 1" in told
    assert f"{file}:{lines['one_off = 1']}: circumstances.one_off must be text" in told
    file.write_text(DEVELOPMENT)
    with pytest.raises(SystemExit) as fine:
        main(["policy", "check", str(file)])
    assert fine.value.code == 0, "the control"


def test_check_warns_of_what_is_allowed_and_dangerous(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(DEVELOPMENT.replace('exfiltration = "quarantine"', 'exfiltration = "allow"', 1))
    with pytest.raises(SystemExit) as ended:
        main(["policy", "check", str(file)])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "warning: detection.detectors.*.exfiltration: what is found is remembered" in told
    assert "is valid" in told
    with pytest.raises(SystemExit):
        main(["policy", "check", str(file), "--json"])
    assert any("exfiltration" in each for each in json.loads(capsys.readouterr().out)["warnings"])

"""The frame of the command line: what can be asked, how wrong usage looks, and how fast it answers."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest

from eunoe.cli.main import COMMANDS, cli, main
from eunoe.schemas.ids import NIL

THE_ISSUE = frozenset(
    [
        "up",
        "down",
        "status",
        "topics",
        "worker",
        "ingest",
        "remember",
        "correct",
        "promote",
        "reject",
        "confirm",
        "retract",
        "suspend",
        "forget",
        "search",
        "outcome",
        "history",
        "session",
        "policy",
        "demo",
        "bench",
    ]
)
INSTALLED = [name for name, (place, _) in COMMANDS.items() if importlib.util.find_spec(place.partition(":")[0])]


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return (ended.value.code, *capsys.readouterr())


def test_every_command_of_the_issue_is_there() -> None:
    assert set(COMMANDS) >= THE_ISSUE


@pytest.mark.parametrize("name", INSTALLED)
def test_every_command_loads_and_takes_json(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    commands = command.commands.values() if isinstance(command, click.Group) else [command]
    for each in commands:
        assert "--json" in {option for param in each.params for option in param.opts}, each.name
        assert each.help


@pytest.mark.parametrize(
    "command", [("remember",), ("correct", "018f0000-0000-7000-8000-000000000000", "--expected-version", "1")]
)
def test_no_provenance_is_made_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr("eunoe.cli.write_commands.perform", lambda _, fields, __: sent.append(fields))
    written = (*command, "Prefers tea.", "--tenant", "t", "--agent", "a", "--purpose", "p", "--ttl", "P1D")
    code, _, err = call(capsys, *written)
    assert (code, sent) == (2, [])
    assert all(option in err for option in ("--uri", "--event-id", "--provenance"))
    for given, field in (("--uri", "uri"), ("--event", "event_ids"), ("--provenance", "provenance")):
        assert call(capsys, *written, given, "x")[0] == 0
        assert sent.pop()["source"][field] in ("x", ["x"])


@pytest.mark.parametrize("wait", ["nan", "inf", "-1", "0", "1e9", "soon"])
@pytest.mark.parametrize(
    "command",
    [
        ("forget", "--tenant", "t", "--subject", "s"),
        ("search", "x", "--tenant", "t", "--agent", "a", "--purpose", "p"),
        ("ingest", "/dev/null"),
    ],
)
def test_a_wait_that_is_never_over_is_wrong_usage(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...], wait: str
) -> None:
    code, _, err = call(capsys, *command, "--timeout", wait)
    assert (code, "--timeout" in err) == (2, True), err


@pytest.mark.parametrize(
    "command",
    [
        ("search", "x", "--tenant", "t", "--agent", "a", "--purpose", "p"),
        ("forget", "--tenant", "t", "--subject", "s", "--as", "dev-officer"),
        ("policy", "show"),
        ("topics", "apply"),
        ("worker",),
    ],
)
def test_without_a_stack_it_is_said_what_to_start(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: tuple[str, ...]
) -> None:
    for name in [each for each in os.environ if each.startswith("EUNOE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *command, "--json")
    assert (code, json.loads(out)["error"]) == (3, "NoStackHere"), err
    assert all(each in " ".join(err.split()) for each in ("eunoe up", "EUNOE_KAFKA", "EUNOE_REDIS"))
    # Who names a place is believed, and told what else is missing.
    monkeypatch.setenv("EUNOE_KAFKA", "127.0.0.1:1")
    if command[0] == "search":
        code, _, err = call(capsys, *command, "--json")
        assert (code, "EUNOE_PRINCIPAL" in err) == (2, True)


def test_help_answers_at_once_and_loads_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['eunoe', '--help']\nfrom eunoe.cli.main import main\ntry: main()\nfinally: "
    code += "print([m for m in ('aiokafka', 'redis', 'faust', 'rich', 'cryptography') if m in sys.modules])"
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("[]")
    assert all(name in done.stdout for name in THE_ISSUE)
    assert seconds < 2, "the bar is 0.5 s; this much slower is another import, not a busy machine"


@pytest.mark.parametrize(
    "arguments",
    [
        ("frobnicate",),
        ("search",),
        ("search", "x", "--tenant", "t", "--agent", "a"),
        ("search", "x", "--tenant", "t", "--agent", "a", "--purpose", "p", "--limit", "-1"),
        ("search", "x", "--tenant", "t", "--agent", "a", "--purpose", "p", "--as-of", "2026-01-01T00:00:00"),
        ("remember", "x", "--tenant", "t/u", "--agent", "a", "--purpose", "p", "--uri", "u"),
        ("remember", "x", "--tenant", "t", "--agent", "a", "--purpose", "p", "--uri", "u", "--confidence", "nan"),
        ("remember", "x", "--tenant", "t", "--agent", "a", "--purpose", "p", "--uri", "u", "--ttl", "P1Y"),
        ("remember", "  ", "--tenant", "t", "--agent", "a", "--purpose", "p", "--uri", "u"),
        ("forget", "--tenant", "t", "--subject", "s" * 513),
        ("forget", "--tenant", "t", "--subject", "s", "--idempotency-key", "k" * 257),
        ("forget", "--tenant", "t", "--memory", NIL),
        ("promote", NIL, "--tenant", "t", "--expected-version", "1"),
        ("promote", "no-id", "--tenant", "t", "--expected-version", "1"),
        (
            "reject",
            "018f0000-0000-7000-8000-000000000000",
            "--tenant",
            "t",
            "--expected-version",
            "1",
            "--reason",
            "A B",
        ),
        ("forget", "--tenant", "t"),
        ("forget", "--tenant", "t", "--all", "--subject", "s"),
        ("forget", "--tenant", "t", "--all", "--idempotency-key", "k"),
        ("readmit", "--tenant", "t"),
        ("readmit", "--tenant", "t", "--all", "--subject", "s"),
        ("forget", "--tenant", "t", "--subject", "s", "--memory", "m"),
        ("forget", "--tenant", "t", "--memory", "m", "--until", "scanned"),
        ("worker", "--roles", "sweep"),
        ("worker", "--accept-bad", "x"),
        ("ingest", "/no/such/file"),
    ],
)
def test_wrong_usage_is_two_and_one_json_document(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    code, out, err = call(capsys, *arguments, "--json")
    assert code == 2, err
    assert set(json.loads(out)) == {"error", "message"}
    assert "Traceback" not in err
    assert "eunoe: " in err


def test_options_before_the_command_count_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "--json", "forget", "--tenant", "t")
    assert code == 2
    assert "--all alone" in json.loads(out)["message"]


def test_the_words_of_forgetting_claim_no_more_than_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "forget", "--tenant", "t", "--memory", "m", "--until", "scanned", "--json")
    assert (code, "only logical is known" in json.loads(out)["message"]) == (2, True)


def test_nothing_reachable_is_three(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"hmac-sha256:dev-agent-1:{'a' * 43}=\n")
    for name, value in {
        "EUNOE_SECRET_FILE": str(secret),
        "EUNOE_DIRECTORY": str(tmp_path),
        "EUNOE_KAFKA": "127.0.0.1:1",
        "EUNOE_REDIS": "redis://127.0.0.1:1/0",
        "EUNOE_KEK": "a" * 43 + "=",
        "EUNOE_PRINCIPAL": "dev-agent",
    }.items():
        monkeypatch.setenv(name, value)
    code, out, err = call(capsys, "history", "018f0000-0000-7000-8000-000000000000", "--tenant", "t", "--json")
    assert (code, set(json.loads(out))) == (3, {"error", "message"}), err


def test_a_setting_that_is_wrong_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EUNOE_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("EUNOE_KAFKA", "nonsense")
    code, _, err = call(capsys, "outcome", "c", "--tenant", "t")
    assert code == 2
    assert "EUNOE_KAFKA: must be host:port" in err

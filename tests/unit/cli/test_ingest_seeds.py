"""`eunoe ingest memory.yaml`: what is refused before anything is sent."""

import json
from pathlib import Path

import pytest

from eunoe.cli.main import main

SCOPE = ("--agent", "bot", "--purpose", "support", "--ttl", "P30D")
CANARY = "canary-Quirin"


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code, "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("memory.yaml", ("--agent", "bot"), "a start-up file needs --purpose"),
        ("memory.yml", ("--purpose", "support"), "a start-up file needs --agent"),
        ("memory.yml", SCOPE[:4], "a start-up file needs --ttl"),
        ("memory.jsonl", SCOPE, "--agent is for memory.yaml"),
        ("memory.jsonl", ("--ttl", "P1D"), "--ttl is for memory.yaml"),
    ],
)
def test_what_the_file_cannot_say_must_be_said_and_only_then(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, options: tuple[str, ...], said: str
) -> None:
    file = tmp_path / name
    file.write_text("memory: {}")
    code, text = call(capsys, "ingest", str(file), *options)
    assert (code, said in text) == (2, True)


def test_a_wrong_file_is_refused_whole_in_the_words_of_the_contract(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "memory.yaml"
    file.write_text(f"memory:\n  seed_records:\n    - {CANARY}\n")
    code, text = call(capsys, "ingest", str(file), *SCOPE, "--json")
    assert code == 1
    assert CANARY not in text
    assert json.loads(text.splitlines()[0]) == {"error": "BadSeedFile", "message": "Memory record #1 must be a mapping"}

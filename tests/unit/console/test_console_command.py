"""`eunoe console` before it listens: who is let in is settled at the start, or it does not start."""

import json
from pathlib import Path

import pytest

from eunoe.cli.main import main
from eunoe.console.serve import address_of, listening

TOKEN = "a-token-of-enough-length"
SERVED = "eunoe.console.serve.serve"


@pytest.fixture(autouse=True)
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """What would have been served: address, and whether a token is needed."""
    calls: list[tuple[str, bool]] = []

    async def serve(bound: object, access: object, sources: object) -> None:
        calls.append((address_of(bound), access.token is not None))  # type: ignore[arg-type, attr-defined]  # as the real one
        bound.close()  # type: ignore[attr-defined]

    monkeypatch.setattr(SERVED, serve)
    monkeypatch.setenv("EUNOE_KAFKA", "127.0.0.1:1")
    for name in ("EUNOE_CONSOLE_TOKEN", "EUNOE_CONSOLE_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    return calls


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(("console", "--port", "0", *arguments))
    assert isinstance(ended.value.code, int)
    return (ended.value.code, *capsys.readouterr())


def test_on_loopback_it_starts_and_says_where(
    capsys: pytest.CaptureFixture[str], served: list[tuple[str, bool]]
) -> None:
    code, out, _ = call(capsys, "--json")
    document = json.loads(out)
    assert code == 0
    assert document == {"address": served[0][0], "token_needed": False}
    assert document["address"].startswith("http://127.0.0.1:")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7"])
def test_off_loopback_it_needs_a_token(
    capsys: pytest.CaptureFixture[str], served: list[tuple[str, bool]], host: str
) -> None:
    code, out, err = call(capsys, "--host", host)
    assert (code, out, served) == (2, "", [])
    assert "EUNOE_CONSOLE_TOKEN" in err


def test_so_it_does_behind_a_name_that_others_know(
    capsys: pytest.CaptureFixture[str], served: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    named = ("--allow-host", "console.example.org")
    assert (call(capsys, *named)[0], served) == (2, [])
    monkeypatch.setenv("EUNOE_CONSOLE_TOKEN", TOKEN)
    assert call(capsys, *named, "--json")[0] == 0
    assert served[0][1]


def test_off_loopback_it_starts_with_one(
    capsys: pytest.CaptureFixture[str], served: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EUNOE_CONSOLE_TOKEN", TOKEN)
    code, out, err = call(capsys, "--host", "0.0.0.0", "--json")
    assert (code, served[0][1]) == (0, True)
    assert TOKEN not in out + err


def test_a_token_file_is_read(
    capsys: pytest.CaptureFixture[str], served: list[tuple[str, bool]], tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert call(capsys, "--token-file", str(file), "--json")[0] == 0
    assert served[0][1]


@pytest.mark.parametrize("text", ["", "short"])
def test_a_token_that_is_none_is_wrong_usage(
    capsys: pytest.CaptureFixture[str], served: list[tuple[str, bool]], tmp_path: Path, text: str
) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    code, _, err = call(capsys, "--token-file", str(file))
    assert (code, served) == (2, [])
    assert str(file) in err


def test_a_port_that_is_taken_is_a_failure_that_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        code, _, err = call(capsys, "--port", str(port))
    assert code == 1
    assert f"port {port}" in err

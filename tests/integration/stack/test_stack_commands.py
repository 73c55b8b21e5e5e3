"""`eunoe up`, `status`, `topics apply` and `down` as a person or a script sees them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eunoe.runtime.settings import load_settings
from eunoe.stack.found import settings_file
from eunoe.stack.local import LocalStack
from eunoe.stack.ports import free_ports

PROGRAM = """
import click
from eunoe.cli.stack_commands import down, status, topics, up
click.Group(commands=[up, down, status, topics])()
"""

Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Run a command in a folder of its own, with ``--json``; (exit code, the document on stdout)."""

    def command(*arguments: str, **environ: str) -> tuple[int, Any]:
        usual = {name: value for name, value in os.environ.items() if not name.startswith("EUNOE_")}
        cache = {name: os.environ[name] for name in ("EUNOE_CACHE",) if name in os.environ}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments, "--json"],
            cwd=tmp_path,
            env={**usual, **cache, "EUNOE_STACK": "local", **environ},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    yield command
    LocalStack(tmp_path / ".eunoe").kill()


def test_the_stack_outlives_the_command_that_started_it(run: Run, tmp_path: Path) -> None:
    assert run("status")[0] == 3
    code, first = run("up", "--no-workers", EUNOE_PARTITIONS="2", EUNOE_PREFIX="mine-")
    assert code == 0
    assert set(first) == {"kafka", "redis", "provider", "directory"}
    assert (first["provider"], first["directory"]) == ("local", str(tmp_path / ".eunoe"))

    code, shown = run("status")
    assert code == 0
    assert {each["service"]: each["state"] for each in shown["services"]} == {"kafka": "running", "redis": "running"}
    assert run("up", "--no-workers") == (0, first)
    assert run("status") == (0, shown)

    # What `up` found out is what every later command is told.
    settings = load_settings({}, fallback=settings_file(tmp_path / ".eunoe"))
    assert (settings.kafka, settings.redis, settings.prefix) == (first["kafka"], first["redis"], "mine-")

    code, applied = run("topics", "apply")
    assert (code, applied["created"], len(applied["existing"]), applied["partitions"]) == (0, [], 7, 2)
    code, refused = run("topics", "apply", "--partitions", "3")
    assert (code, refused["error"]) == (1, "TopicMismatch")
    assert "mine-memory-events: partitions is 2, wanted 3" in refused["message"]

    assert run("down") == (0, {"stopped": ["kafka", "redis"], "provider": "local"})
    assert run("down") == (0, {"stopped": [], "provider": "local"})
    assert run("status")[0] == 3


def test_what_cannot_be_reached_exits_3_and_wrong_usage_2(run: Run) -> None:
    (port,) = free_ports(1)
    away = {"EUNOE_KAFKA": f"127.0.0.1:{port}", "EUNOE_REDIS": f"redis://127.0.0.1:{port}/0"}
    code, said = run("topics", "apply", **away)
    assert (code, said["error"]) == (3, "TopicsUnavailable")
    code, said = run("up", EUNOE_STACK="podman")
    assert (code, said["error"]) == (2, "UnknownProvider")
    code, said = run("topics", "apply", EUNOE_KAFKA="nonsense")
    assert (code, said["error"]) == (2, "SettingsError")

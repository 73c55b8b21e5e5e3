"""docker-compose.yml as a file, and the provider against a stand-in for ``docker``: no engine is needed."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from eunoe.stack import compose
from eunoe.stack.compose import ComposeFailed, ComposeStack, engine_answers, find_compose_file

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ``docker`` that writes down how it was called and exits as ``exit`` says."""
    program, calls = tmp_path / "docker", tmp_path / "calls"
    (tmp_path / "exit").write_text("0")
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {calls}\necho "no such image" >&2\nread -r code < {tmp_path / "exit"}\nexit "$code"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_the_services_are_there(document: dict[str, Any]) -> None:
    services = document["services"]
    assert set(services) == {"broker", "redis", "topics", "workers", "prometheus", "grafana"}
    for name, service in services.items():
        assert {"image", "build"} & service.keys(), name


def test_what_is_built_has_a_dockerfile_whose_sources_exist(document: dict[str, Any]) -> None:
    for name in ("topics", "workers"):
        build = document["services"][name]["build"]
        dockerfile = ROOT / build["context"] / build["dockerfile"]
        copied = [
            source
            for line in dockerfile.read_text().splitlines()
            if line.startswith("COPY ") and "--from" not in line
            for source in line.split()[1:-1]
        ]
        assert copied
        assert all((ROOT / build["context"] / source).exists() for source in copied)


def test_what_is_mounted_from_here_exists(document: dict[str, Any]) -> None:
    mounts = [mount for service in document["services"].values() for mount in service.get("volumes", ())]
    from_here = [mount.split(":")[0] for mount in mounts if mount.startswith("./")]
    assert from_here
    assert all((ROOT / path).exists() for path in from_here)
    named = {mount.split(":")[0] for mount in mounts if not mount.startswith("./")}
    assert named == set(document["volumes"])


def test_everything_is_published_on_loopback_only(document: dict[str, Any]) -> None:
    published = [port for service in document["services"].values() for port in service.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_published_ports_are_the_ones_the_provider_names(document: dict[str, Any]) -> None:
    services = document["services"]
    assert services["broker"]["ports"] == [f"{compose.KAFKA}:9092"]
    assert f"HOST://{compose.KAFKA}" in services["broker"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert f"redis://{services['redis']['ports'][0].removesuffix(':6379')}/0" == compose.REDIS


def test_every_dependency_is_a_service_and_waits_for_something_it_has(document: dict[str, Any]) -> None:
    services = document["services"]
    for service in services.values():
        depends = service.get("depends_on", {})
        assert set(depends) <= set(services)
        for name, how in depends.items() if isinstance(depends, dict) else ():
            assert how["condition"] != "service_healthy" or "healthcheck" in services[name]


def test_values_of_the_environment_are_texts(document: dict[str, Any]) -> None:
    for service in document["services"].values():
        assert all(isinstance(value, str) for value in service.get("environment", {}).values())


def test_an_engine_is_one_that_answers(docker: Path) -> None:
    assert engine_answers()
    (docker / "exit").write_text("1")
    assert not engine_answers()
    (docker / "docker").unlink()
    assert not engine_answers()


def test_up_starts_broker_and_redis_and_down_stops_them(docker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "kafka_answers", lambda _: True)
    monkeypatch.setattr(compose, "redis_answers", lambda _: True)
    stack = ComposeStack(ROOT / "docker-compose.yml", docker)

    endpoints = stack.up()
    assert (endpoints.kafka, endpoints.provider) == ("127.0.0.1:9092", "compose")
    assert stack.down() == ("kafka", "redis")
    prefix = f"compose --project-name eunoe --file {ROOT / 'docker-compose.yml'}"
    calls = (docker / "calls").read_text().splitlines()
    assert calls == [f"{prefix} up --detach --wait broker redis", f"{prefix} down"]


def test_a_refusal_of_docker_is_told(docker: Path) -> None:
    (docker / "exit").write_text("17")
    with pytest.raises(ComposeFailed, match="no such image"):
        ComposeStack(ROOT / "docker-compose.yml", docker).up()


def test_the_file_is_found_from_anywhere_in_a_clone(tmp_path: Path) -> None:
    assert find_compose_file(tmp_path) == ROOT / "docker-compose.yml"

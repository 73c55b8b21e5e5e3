"""What `up` leaves behind is what the other commands read."""

import stat
from pathlib import Path

import pytest

from eunoe.runtime.settings import load_settings
from eunoe.stack import external, places
from eunoe.stack.errors import NotAnswering
from eunoe.stack.external import ExternalStack, without_credentials
from eunoe.stack.found import forget_stack, remember_settings, remember_stack, remembered_stack, settings_file
from eunoe.stack.ports import free_ports
from eunoe.stack.provider import Endpoints

SECRET_URL = "redis://me:s3cret@127.0.0.1:7/0"


def test_a_stack_is_remembered_until_it_is_forgotten(tmp_path: Path) -> None:
    endpoints = Endpoints(kafka="127.0.0.1:1", redis=SECRET_URL, provider="external", directory=tmp_path)
    assert remembered_stack(tmp_path) is None
    remember_stack(endpoints)
    assert remembered_stack(tmp_path) == endpoints
    forget_stack(tmp_path)
    assert remembered_stack(tmp_path) is None


@pytest.mark.parametrize("torn", ["", "{", "[]", "{}", '{"kafka": "a", "redis": "b", "provider": "other"}'])
def test_a_torn_file_is_no_stack(tmp_path: Path, torn: str) -> None:
    (tmp_path / "stack.json").write_text(torn)
    assert remembered_stack(tmp_path) is None


def test_settings_are_read_back_and_only_by_their_owner(tmp_path: Path) -> None:
    remember_settings(tmp_path, {"kafka": "127.0.0.1:1", "redis": SECRET_URL, "prefix": "a-", "partitions": 3})
    settings = load_settings({}, fallback=settings_file(tmp_path))
    assert (settings.kafka, settings.redis, settings.prefix, settings.partitions) == (
        "127.0.0.1:1",
        SECRET_URL,
        "a-",
        3,
    )
    assert stat.S_IMODE(settings_file(tmp_path).stat().st_mode) == 0o600


def test_directories_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert places.stack_directory({}) == tmp_path / ".eunoe"
    assert places.stack_directory({"EUNOE_DIRECTORY": "other"}) == tmp_path / "other"
    assert places.cache_directory({}) == Path.home() / ".cache" / "eunoe"
    assert places.cache_directory({"XDG_CACHE_HOME": "/c"}) == Path("/c/eunoe")
    assert places.cache_directory({"XDG_CACHE_HOME": "/c", "EUNOE_CACHE": "/mine"}) == Path("/mine")


def test_a_stack_that_does_not_answer_is_told_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "_PATIENCE_SECONDS", 0.1)
    (port,) = free_ports(1)
    redis = f"redis://me:s3cret@127.0.0.1:{port}/0"
    with pytest.raises(NotAnswering, match=f"kafka does not answer at EUNOE_KAFKA=127.0.0.1:{port}"):
        ExternalStack(f"127.0.0.1:{port}", redis, tmp_path).up()
    monkeypatch.setattr(external, "kafka_answers", lambda _: True)
    with pytest.raises(NotAnswering, match=f"redis://127.0.0.1:{port}/0") as refused:
        ExternalStack(f"127.0.0.1:{port}", redis, tmp_path).up()
    assert "s3cret" not in str(refused.value)


def test_credentials_are_left_out_of_a_url() -> None:
    assert without_credentials("redis://a:b@c@host:1/0") == "redis://host:1/0"
    assert without_credentials("redis://host:1/0") == "redis://host:1/0"
    assert without_credentials("unix:///path?db=0&password=secret") == "unix:///path"
    assert without_credentials("redis://a:se?cret@host:1/0") == "redis://…"

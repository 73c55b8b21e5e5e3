"""Each error names the setting, all are told at once, and nothing that is wrong is replaced by a default."""

import base64
from dataclasses import fields
from pathlib import Path

import pytest

from eunoe.runtime.settings import PARSERS, Settings, SettingsError, load_settings

PUBLIC = base64.b64encode(bytes(range(32))).decode()


def test_every_setting_can_be_given() -> None:
    assert set(PARSERS) == {each.name for each in fields(Settings)}


def test_without_anything_given_the_defaults_hold() -> None:
    assert load_settings({}) == Settings()


def test_a_variable_wins_over_the_file_and_the_file_over_what_up_left(tmp_path: Path) -> None:
    left, file = tmp_path / "left.toml", tmp_path / "file.toml"
    left.write_text('kafka = "left:1"\nprefix = "left-"\ngroup = "left"\n')
    file.write_text('kafka = "file:1"\nprefix = "file-"\n')
    settings = load_settings({"EUNOE_KAFKA": "variable:1"}, file, left)
    assert (settings.kafka, settings.prefix, settings.group) == ("variable:1", "file-", "left")


def test_what_up_left_need_not_be_there_but_a_named_file_must(tmp_path: Path) -> None:
    assert load_settings({}, fallback=tmp_path / "absent.toml") == Settings()
    with pytest.raises(SettingsError, match=r"absent\.toml: cannot be read"):
        load_settings({}, config=tmp_path / "absent.toml")


def test_paths_in_a_file_start_from_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('kek_file = "keys/kek"\nsecrets = "/somewhere"\n')
    settings = load_settings({"EUNOE_SECRET_FILE": "mine"}, file)
    assert settings.kek_file == tmp_path / "keys" / "kek"
    assert settings.secrets == Path("/somewhere")
    assert settings.secret_file == Path("mine")


def test_signers_are_read_with_their_keys(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(f'control_signers = ["one={PUBLIC}", "two={PUBLIC}"]\n')
    signers = load_settings({}, file).control_signers
    assert [each.signer for each in signers] == ["one", "two"]
    assert signers[0].public_key == bytes(range(32))


@pytest.mark.parametrize(
    ("variable", "text", "problem"),
    [
        ("EUNOE_KAFKA", "nowhere", "host:port"),
        ("EUNOE_KAFKA", "a:1,b", "host:port"),
        ("EUNOE_REDIS", "localhost:6379", "must be a URL"),
        ("EUNOE_REDIS", "http://localhost", "must be a URL"),
        ("EUNOE_PREFIX", "a/b", "A-Z a-z 0-9"),
        ("EUNOE_PARTITIONS", "0", "from 1 to 4096"),
        ("EUNOE_PARTITIONS", "1e3", "whole number"),
        ("EUNOE_PARTITIONS", "١٢", "whole number"),
        ("EUNOE_PRINCIPAL", "dev agent", "1 to 64"),
        ("EUNOE_CONTROL_SIGNERS", "me=QUJD", "32 bytes"),
        ("EUNOE_CONTROL_SIGNERS", f"me={PUBLIC},me={PUBLIC}", "twice"),
        ("EUNOE_SESSION_TIMEOUT", "10", "not a duration"),
        ("EUNOE_SESSION_TIMEOUT", "PT0S", "longer than nothing"),
        ("EUNOE_HEARTBEAT_INTERVAL", "PT9S", "a third of session_timeout"),
        ("EUNOE_HTTP_PORT", "70000", "from 0 to 65535"),
        ("EUNOE_LANGUAGE", "English", "language code"),
    ],
)
def test_an_error_names_its_setting(variable: str, text: str, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings({variable: text})
    assert [each.setting for each in caught.value.problems] == [variable]
    assert problem in caught.value.problems[0].problem


def test_an_error_in_a_file_names_setting_and_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('kafka = "nowhere"\nkafak = "a:1"\npartitions = true\n')
    with pytest.raises(SettingsError) as caught:
        load_settings({"EUNOE_HTTP_PORT": "x"}, file)
    told = str(caught.value)
    assert len(caught.value.problems) == 4
    assert f"kafka in {file}: " in told
    assert f"kafak in {file}: unknown setting" in told
    assert f"partitions in {file}: " in told
    assert "EUNOE_HTTP_PORT: " in told


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(b"kafka = \n")
    with pytest.raises(SettingsError, match="is not TOML"):
        load_settings({}, file)


def test_a_password_in_the_redis_url_is_not_shown() -> None:
    settings = load_settings({"EUNOE_REDIS": "redis://:hunter2@localhost:6379/0"})
    assert "hunter2" in settings.redis
    assert "hunter2" not in repr(settings)

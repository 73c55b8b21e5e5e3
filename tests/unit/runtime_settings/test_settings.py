"""Each error names the setting, all are told at once, and nothing that is wrong is replaced by a default."""

import base64
import re
from dataclasses import fields
from pathlib import Path
from ssl import SSLContext

import pytest

from eunoe.runtime.brokers import connecting
from eunoe.runtime.settings import PARSERS, Settings, SettingsError, anchored, load_settings
from eunoe.stack.development import remembered

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


def test_a_process_in_another_folder_is_told_whole_paths() -> None:
    given = {"EUNOE_KEK_FILE": "new.kek", "EUNOE_KAFKA": "somewhere:9092", "EUNOE_SECRETS": "/etc/eunoe"}
    assert anchored(given) == given | {"EUNOE_KEK_FILE": str(Path.cwd() / "new.kek")}
    several = anchored({"EUNOE_KAFKA_LOG_DIRS": "one, /two"})
    assert several == {"EUNOE_KAFKA_LOG_DIRS": f"{Path.cwd() / 'one'},/two"}


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


SASL = {
    "EUNOE_KAFKA_SECURITY_PROTOCOL": "sasl_ssl",
    "EUNOE_KAFKA_SASL_MECHANISM": "SCRAM-SHA-256",
    "EUNOE_KAFKA_USERNAME": "eunoe-decider",
}


def test_a_login_is_what_every_client_of_kafka_is_made_with() -> None:
    settings = load_settings({"EUNOE_KAFKA": "a:1,b:2", "EUNOE_KAFKA_PASSWORD": "hunter2", **SASL})
    given = connecting(settings.brokers)
    assert isinstance(given.pop("ssl_context"), SSLContext)
    assert given == {
        "bootstrap_servers": "a:1,b:2",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "eunoe-decider",
        "sasl_plain_password": "hunter2",
    }


def test_a_password_of_kafka_is_not_shown() -> None:
    settings = load_settings({"EUNOE_KAFKA_PASSWORD": "hunter2", **SASL})
    shown = f"{settings!r} {settings.brokers!r} {settings.brokers} {remembered(settings)}"
    assert "hunter2" not in shown
    assert "eunoe-decider" in shown


def test_a_password_may_lie_in_a_file_beside_the_settings(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    file = tmp_path / "settings.toml"
    file.write_text('kafka_password_file = "password"\n')
    assert load_settings(SASL, file).kafka_password == "hunter2"


@pytest.mark.parametrize(
    ("environ", "setting", "problem"),
    [
        (SASL, "EUNOE_KAFKA_PASSWORD", "SASL_SSL asks for it"),
        ({"EUNOE_KAFKA_PASSWORD": "hunter2"}, "EUNOE_KAFKA_PASSWORD", "asks for none"),
        ({"EUNOE_KAFKA_SECURITY_PROTOCOL": "TLS"}, "EUNOE_KAFKA_SECURITY_PROTOCOL", "SASL_PLAINTEXT, SASL_SSL"),
        ({"EUNOE_KAFKA_SASL_MECHANISM": "GSSAPI"}, "EUNOE_KAFKA_SASL_MECHANISM", "SCRAM-SHA-512"),
        ({"EUNOE_KAFKA_PASSWORD": "hun\nter2"}, "EUNOE_KAFKA_PASSWORD", "one line"),
        ({"EUNOE_KAFKA_CA": "/nowhere/ca.pem"}, "EUNOE_KAFKA_CA", "not TLS"),
        (
            {"EUNOE_KAFKA_SECURITY_PROTOCOL": "SSL", "EUNOE_KAFKA_CA": "/nowhere/ca.pem"},
            "EUNOE_KAFKA_CA",
            "/nowhere/ca.pem is no file",
        ),
        (
            {**SASL, "EUNOE_KAFKA_PASSWORD_FILE": "/nowhere/password"},
            "EUNOE_KAFKA_PASSWORD_FILE",
            "/nowhere/password cannot be read",
        ),
        (
            {**SASL, "EUNOE_KAFKA_PASSWORD_FILE": "/dev/null", "EUNOE_KAFKA_PASSWORD": "hunter2"},
            "EUNOE_KAFKA_PASSWORD_FILE",
            "one of them is enough",
        ),
        ({**SASL, "EUNOE_KAFKA_PASSWORD_FILE": "/dev/null"}, "EUNOE_KAFKA_PASSWORD_FILE", "must hold one line"),
    ],
)
def test_a_login_that_cannot_work_is_said_at_the_start(environ: dict[str, str], setting: str, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ)
    assert (setting, True) in {(each.setting, problem in each.problem) for each in caught.value.problems}
    assert "hunter2" not in str(caught.value)
    assert "ter2" not in str(caught.value)


def sources_with(pattern: str) -> set[str]:
    """Outside the test kit, which starts brokers of its own that ask nobody."""
    root = Path(__file__).resolve().parents[3]
    return {
        str(file.relative_to(root))
        for folder in ("schemas", "runtime", "processors", "readmodels", "producers", "apps")
        for file in (root / folder).rglob("*.py")
        if re.search(pattern, file.read_text()) and not file.is_relative_to(root / "apps" / "eunoe" / "testing")
    }


def test_no_module_makes_a_client_of_kafka_without_its_login() -> None:
    assert sources_with("bootstrap_servers") == {"runtime/eunoe/runtime/brokers.py"}
    # The text alone says where, not as whom: these show it, or have a broker of their own that asks nobody.
    assert sources_with(r"settings\.kafka\b") == {
        "apps/eunoe/bench/faust_agent.py",
        "apps/eunoe/stack/development.py",
        "apps/eunoe/worker/app.py",
    }

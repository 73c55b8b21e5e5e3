"""How a process is configured: one frozen value, made once at the top and passed down.

Each setting may come from the variable ``EUNOE_<NAME>``, from the file given with ``--config`` (TOML, the same names in
lower case) or from the file that `eunoe up` wrote, in this order. Everything wrong is reported at once, by setting.
Keys and secrets are never settings: settings say in which file or variable they are. Passwords of Kafka and Redis
are, and no message or page shows them.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from eunoe.runtime import setting_values as read
from eunoe.runtime.brokers import Brokers, Login, SaslMechanism, SecurityProtocol, objections
from eunoe.runtime.errors import CallerFault
from eunoe.runtime.setting_values import ControlSigner
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.topics import USUAL_CLEANING, KeysCleaning, TopicNames, TopicSpec, specs_with

ENVIRONMENT_PREFIX: Final = "EUNOE_"
_LEAST_STUCK_MS: Final = 30_000


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """``setting`` as it was given: ``EUNOE_KAFKA``, or ``kafka in FILE``."""

    setting: str
    problem: str

    def __str__(self) -> str:
        return f"{self.setting}: {self.problem}"


@dataclass(eq=False)
class SettingsError(CallerFault):
    """Everything that is wrong with the settings."""

    problems: tuple[SettingProblem, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Durations are milliseconds. What each setting means stands beside it."""

    # where
    kafka: str = "127.0.0.1:9092"
    """Servers; `brokers` is what clients are made with."""
    kafka_security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    kafka_sasl_mechanism: SaslMechanism = SaslMechanism.SCRAM_SHA_512
    kafka_username: str | None = None
    kafka_password: str | None = field(default=None, repr=False)
    kafka_password_file: Path | None = None
    """Holds the password instead, in one line. Read once, at the start."""
    kafka_ca: Path | None = None
    """Certificates (PEM) that may sign the broker's; without it, those of the system."""
    kafka_certificate: Path | None = None
    """The client's own, with ``kafka_certificate_key``, where the broker asks for one."""
    kafka_certificate_key: Path | None = None
    redis: str = field(default="redis://127.0.0.1:6379/0", repr=False)
    """A single server or any node of a cluster: ``rediss://user:password@host:6379/0?ssl_ca_certs=FILE``. Never
    printed."""
    prefix: str = ""
    """Of topic names; the installation's Redis key carries it too."""
    partitions: int = 16
    """Only `eunoe topics apply` uses it, on creation. Afterwards the log says how many there are."""
    group: str = "eunoe"
    """What consumer groups and transactional ids start with."""

    # how soon a destroyed key is gone from Kafka's files (see `KeysCleaning`); only `eunoe topics apply` uses them
    keys_segment: int = USUAL_CLEANING.segment
    keys_compaction_lag: int = USUAL_CLEANING.lag
    keys_tombstones: int = USUAL_CLEANING.tombstones
    keys_file_delay: int = USUAL_CLEANING.file_delay

    # keys and secrets: where they are, never what they are
    kek_file: Path | None = None
    """The key-encryption key; without it, the variable EUNOE_KEK holds it."""
    kek_other_file: Path | None = None
    """While it is rotated, the other one: the new one, and after the switch of the two names the old one. Without it,
    the variable EUNOE_KEK_OTHER, where it is set."""
    secrets: Path | None = None
    """The folder in which a policy's ``file:NAME`` is looked up, to check MACs."""
    principal: PrincipalName | None = None
    """Who calls."""
    secret_file: Path | None = None
    """The caller's own secrets; without it, ``<secrets>/<principal>.secret``."""
    control_signers: tuple[ControlSigner, ...] = ()
    control_key: Path | None = None
    """The private key that `eunoe policy apply` signs with."""
    attest_key: Path | None = None
    """The private key that signs erasure receipts. It is not the shredder's, and no other process needs it."""
    export_key: Path | None = None
    """The private key that signs what is exported: the installation's word for it, on the machine that exports."""

    # proving erasures
    erasure_ledger: Path | None = None
    """A file outside the cluster that lists closed generations; all workers of an installation share it."""
    kafka_log_dirs: tuple[Path, ...] = ()
    """The brokers' log directories, as far as this machine can read them: where segment files are scanned."""
    key_cache_age: int = 10_000
    """How long a client may hold an opened key: after a person is forgotten, what readers' memory may still hold."""

    # lanes
    decide_batch: int = 500
    """Commands in one transaction."""
    project_batch: int = 500
    """Events fetched at once; a Redis call takes far fewer (DESIGN §4)."""
    session_timeout: int = 10_000
    heartbeat_interval: int = 3_000
    request_timeout: int = 40_000
    delivery_timeout: int = 30_000
    """How long a producer tries to hand a record to Kafka before it says that the broker is away."""
    stuck_after: int = 45_000
    """How long a partition with records waiting may stand still before the worker says that it is stuck."""
    max_read_lag: int = 60_000
    """A reader whose read model is further behind fails closed."""
    searches_at_once: int = 256
    """Of one client; one more is answered ``busy`` at once."""

    # a worker's web view
    http_host: str = "127.0.0.1"
    http_port: int = 6066

    language: str = "en"
    """How Latin text without another hint is stemmed."""

    @property
    def brokers(self) -> Brokers:
        """Where Kafka is, and as whom to log in."""
        return Brokers(
            self.kafka,
            Login(
                protocol=self.kafka_security_protocol,
                mechanism=self.kafka_sasl_mechanism,
                username=self.kafka_username,
                password=self.kafka_password,
                authority=self.kafka_ca,
                certificate=self.kafka_certificate,
                key=self.kafka_certificate_key,
            ),
        )

    @property
    def topics(self) -> TopicNames:
        return TopicNames(prefix=self.prefix)

    @property
    def topic_specs(self) -> tuple[TopicSpec, ...]:
        """What the topics must look like on the cluster."""
        return specs_with(
            KeysCleaning(
                segment=self.keys_segment,
                lag=self.keys_compaction_lag,
                tombstones=self.keys_tombstones,
                file_delay=self.keys_file_delay,
            )
        )


PARSERS: Final[Mapping[str, Callable[[str], Any]]] = MappingProxyType(
    {
        "kafka": read.servers,
        "kafka_security_protocol": read.one_of(SecurityProtocol),
        "kafka_sasl_mechanism": read.one_of(SaslMechanism),
        "kafka_username": read.line,
        "kafka_password": read.line,
        "kafka_password_file": read.path,
        "kafka_ca": read.path,
        "kafka_certificate": read.path,
        "kafka_certificate_key": read.path,
        "redis": read.redis,
        "prefix": read.prefix,
        "partitions": read.count(1, 4096),
        "group": read.name,
        "keys_segment": read.duration,
        "keys_compaction_lag": read.duration,
        "keys_tombstones": read.duration,
        "keys_file_delay": read.duration,
        "kek_file": read.path,
        "kek_other_file": read.path,
        "secrets": read.path,
        "principal": read.name,
        "secret_file": read.path,
        "control_signers": read.signers,
        "control_key": read.path,
        "attest_key": read.path,
        "export_key": read.path,
        "erasure_ledger": read.path,
        "kafka_log_dirs": read.paths,
        "key_cache_age": read.duration,
        "decide_batch": read.count(1, 10_000),
        "project_batch": read.count(1, 10_000),
        "session_timeout": read.duration,
        "heartbeat_interval": read.duration,
        "request_timeout": read.duration,
        "delivery_timeout": read.duration,
        "stuck_after": read.duration,
        "max_read_lag": read.duration,
        "searches_at_once": read.count(1, 100_000),
        "http_host": str,
        "http_port": read.count(0, 65_535),
        "language": read.language,
    }
)
"""How the text of each setting is read: one entry per field of `Settings`."""

LOGIN_SETTINGS: Final = tuple(name for name in PARSERS if name.startswith("kafka_") and name != "kafka_log_dirs")
"""How to log in to Kafka."""

_PATHS: Final = tuple(name for name, parse in PARSERS.items() if parse in (read.path, read.paths))

Given = dict[str, tuple[str, str, Path | None]]
"""By setting: where it was given, its text, and the folder that its relative paths start from."""


def anchored(environ: Mapping[str, str]) -> Mapping[str, str]:
    """``environ`` for a process that runs in another folder: relative paths mean what they mean in this one."""
    named = {variable: environ[variable] for name in _PATHS if environ.get(variable := _variable(name))}
    whole = {variable: ",".join(str(each.absolute()) for each in read.paths(text)) for variable, text in named.items()}
    return {**environ, **whole}


def load_settings(environ: Mapping[str, str], config: Path | None = None, fallback: Path | None = None) -> Settings:
    """The settings of this process. ``fallback`` is a file that need not exist. Raises `SettingsError`.

    Relative paths in a file are relative to that file's folder.
    """
    problems: list[SettingProblem] = []
    given: Given = {}
    if fallback is not None and fallback.is_file():
        given |= _from_file(fallback, problems)
    if config is not None:
        given |= _from_file(config, problems)
    for name in PARSERS:
        variable = _variable(name)
        if environ.get(variable):
            given[name] = (variable, environ[variable], None)
    values = {name: _value(name, *given[name], problems) for name in given}
    _read_password(given, values, problems)
    if not problems:
        settings = Settings(**values)
        problems += _together(settings)
    if problems:
        raise SettingsError(tuple(problems))
    return settings


def _from_file(path: Path, problems: list[SettingProblem]) -> Given:
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        problems.append(SettingProblem(str(path), f"cannot be read: {error.strerror}"))
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(SettingProblem(str(path), f"is not TOML: {error}"))
        return {}
    found: Given = {}
    for name, value in content.items():
        where = f"{name} in {path}"
        if name not in PARSERS:
            problems.append(SettingProblem(where, f"unknown setting; known are {', '.join(sorted(PARSERS))}"))
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            found[name] = (where, ",".join(value), path.parent)
        elif isinstance(value, str | int) and not isinstance(value, bool):
            found[name] = (where, str(value), path.parent)
        else:
            problems.append(SettingProblem(where, "must be a text, a whole number or a list of texts"))
    return found


def _value(name: str, where: str, text: str, folder: Path | None, problems: list[SettingProblem]) -> Any:
    try:
        value = PARSERS[name](text)
    except ValueError as error:
        problems.append(SettingProblem(where, str(error)))
        return None
    if folder is None or name not in _PATHS:
        return value
    return folder / value if isinstance(value, Path) else tuple(folder / each for each in value)


def _read_password(given: Given, values: dict[str, Any], problems: list[SettingProblem]) -> None:
    """The password out of its file, where there is one."""
    path = values.get("kafka_password_file")
    if path is None:
        return
    where = given["kafka_password_file"][0]
    if "kafka_password" in values:
        problems.append(SettingProblem(where, "is given beside kafka_password; one of them is enough"))
        return
    try:
        values["kafka_password"] = read.line(path.read_text("utf-8").rstrip("\r\n"))
    except OSError as error:
        problems.append(SettingProblem(where, f"{path} cannot be read: {error.strerror}"))
    except ValueError:  # also bytes that are no UTF-8; what the file holds is nobody's business
        problems.append(SettingProblem(where, f"{path} must hold one line, the password"))


def _together(settings: Settings) -> list[SettingProblem]:
    """What two settings say together."""
    problems = []
    if settings.heartbeat_interval * 3 > settings.session_timeout:
        problems.append(SettingProblem("EUNOE_HEARTBEAT_INTERVAL", "must be at most a third of session_timeout"))
    if settings.stuck_after <= _LEAST_STUCK_MS:
        what = f"must be longer than PT{_LEAST_STUCK_MS // 1_000}S: a killed broker takes up to 21 s to be usable again"
        problems.append(SettingProblem("EUNOE_STUCK_AFTER", what))
    problems += [SettingProblem(_variable(name), what) for name, what in objections(settings.brokers.login)]
    return problems


def _variable(name: str) -> str:
    return ENVIRONMENT_PREFIX + name.upper()

"""Where Kafka is and as whom to log in: what every client of Kafka that eunoe makes is made with.

A test sees to it that no other module names aiokafka's settings for it, so that no client is left without its login.
"""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias

from aiokafka.conn import create_conn
from aiokafka.errors import IllegalSaslStateError, KafkaError, SaslAuthenticationFailed, UnsupportedSaslMechanismError
from aiokafka.helpers import create_ssl_context

from eunoe.runtime.errors import LoginRefused


class SecurityProtocol(StrEnum):
    """Kafka's names."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def password(self) -> bool:
        """Whether the broker asks for a name and a password."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)

    @property
    def encrypted(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)


class SaslMechanism(StrEnum):
    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """``username`` and ``password`` are set where ``protocol`` asks for them: `objections`.

    ``authority``: certificates (PEM) that may sign the broker's, None: the system's. ``certificate`` with its ``key``:
    the client's own.
    """

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    mechanism: SaslMechanism = SaslMechanism.SCRAM_SHA_512
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


def objections(login: Login) -> Iterator[tuple[str, str]]:
    """By setting, what the protocol needs and is not there, or is there and would not be used."""
    protocol = login.protocol
    for name, given in (("kafka_username", login.username), ("kafka_password", login.password)):
        if protocol.password and given is None:
            yield name, f"is not set, and {protocol} asks for it"
        if not protocol.password and given is not None:
            yield name, f"is set, but kafka_security_protocol is {protocol}, which asks for none"
    files = {"kafka_ca": login.authority, "kafka_certificate": login.certificate, "kafka_certificate_key": login.key}
    for name, path in files.items():
        if path is not None and not protocol.encrypted:
            yield name, f"is set, but kafka_security_protocol is {protocol}, which is not TLS"
        elif path is not None and not path.is_file():
            yield name, f"{path} is no file"
    if (login.certificate is None) != (login.key is None):
        yield "kafka_certificate", "and kafka_certificate_key belong together; one of them is not set"


_REFUSALS: Final = (SaslAuthenticationFailed, UnsupportedSaslMechanismError, IllegalSaslStateError, ssl.SSLError)
_ANONYMOUS: Final = Login()


@dataclass(frozen=True, slots=True)
class Brokers:
    """As text it is ``servers``, so that a message that names it shows no password."""

    servers: str
    login: Login = _ANONYMOUS

    def __str__(self) -> str:
        return self.servers


Bootstrap: TypeAlias = str | Brokers
"""A text is a list of servers that ask nobody for a password."""


def connecting(bootstrap: Bootstrap) -> dict[str, Any]:
    """What aiokafka's clients take to get there. Raises ``OSError`` where a certificate cannot be read."""
    if isinstance(bootstrap, str) or bootstrap.login.protocol is SecurityProtocol.PLAINTEXT:
        return {"bootstrap_servers": str(bootstrap)}
    login = bootstrap.login
    given: dict[str, Any] = {"bootstrap_servers": bootstrap.servers, "security_protocol": login.protocol.value}
    if login.protocol.password:
        given["sasl_mechanism"] = login.mechanism.value
        given["sasl_plain_username"] = login.username
        given["sasl_plain_password"] = login.password
    if login.protocol.encrypted:
        given["ssl_context"] = create_ssl_context(
            cafile=_text(login.authority), certfile=_text(login.certificate), keyfile=_text(login.key)
        )
    return given


async def check_login(bootstrap: Bootstrap) -> None:
    """To be asked where no client could connect, for aiokafka only logs why. Raises `LoginRefused` if that is why."""
    if isinstance(bootstrap, str) or bootstrap.login.protocol is SecurityProtocol.PLAINTEXT:
        return
    given = connecting(bootstrap)
    for server in given.pop("bootstrap_servers").split(","):
        host, _, port = server.rpartition(":")
        try:
            connection = await create_conn(host.strip("[]"), int(port), **given)
        except _REFUSALS as error:
            raise LoginRefused(bootstrap.servers, bootstrap.login.username, type(error).__name__) from error
        except (OSError, KafkaError, TimeoutError):
            continue
        connection.close()


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)

"""What stands between eunoe and an encrypted Kafka and Redis: certificates, users with SCRAM passwords, and TLS before
a Redis that has none (that of the local stack is built without)."""

import asyncio
import datetime
import hashlib
import ipaddress
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    CompactArray,
    CompactBytes,
    CompactString,
    Int8,
    Int16,
    Int32,
    Schema,
    TaggedFields,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_SCRAM_SHA_512: Final = 2
_ITERATIONS: Final = 4_096
_TEXT: Final = CompactString("utf-8")
_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Certificates:
    """``authority`` (PEM) signed what lies in ``server`` (PEM: key, then certificate), which is for 127.0.0.1."""

    authority: Path
    server: Path


def certificates(folder: Path) -> Certificates:
    """Made now, valid for a day."""
    signer, name = ec.generate_private_key(ec.SECP256R1()), _name("an authority of the tests")
    root = _certificate(name, name, signer.public_key(), signer, x509.BasicConstraints(ca=True, path_length=0))
    key = ec.generate_private_key(ec.SECP256R1())
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    server = _certificate(_name("a server of the tests"), name, key.public_key(), signer, here)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    made = Certificates(folder / "authority.pem", folder / "server.pem")
    made.authority.write_bytes(root.public_bytes(serialization.Encoding.PEM))
    made.server.write_bytes(private + server.public_bytes(serialization.Encoding.PEM))
    return made


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePrivateKey,
    extension: x509.BasicConstraints | x509.SubjectAlternativeName,
) -> x509.Certificate:
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        .sign(signer, hashes.SHA256())
    )


class _UsersAltered(Response):  # type: ignore[misc]  # aiokafka is untyped
    API_KEY = 51
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "results",
            CompactArray(("user", _TEXT), ("error_code", Int16), ("error_message", _TEXT), ("tags", TaggedFields)),
        ),
        ("tags", TaggedFields),
    )


class _AlterUsers_v0(RequestStruct):  # type: ignore[misc]  # as above
    FLEXIBLE_VERSION = True
    API_KEY = 51
    API_VERSION = 0
    RESPONSE_TYPE = _UsersAltered
    SCHEMA = Schema(
        ("deletions", CompactArray(("name", _TEXT), ("mechanism", Int8), ("tags", TaggedFields))),
        (
            "upsertions",
            CompactArray(
                ("name", _TEXT),
                ("mechanism", Int8),
                ("iterations", Int32),
                ("salt", CompactBytes),
                ("salted_password", CompactBytes),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class _AlterUsers(Request[_AlterUsers_v0]):  # type: ignore[misc]  # as above
    """Kafka's AlterUserScramCredentials, which aiokafka 0.14 does not have."""

    API_KEY = 51

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given

    def build(self, request_struct_class: type[_AlterUsers_v0]) -> _AlterUsers_v0:
        return request_struct_class([], [_upserted(*each) for each in self._given.items()], {})


def _upserted(name: str, password: str) -> tuple[Any, ...]:
    salt = os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _ITERATIONS)
    return (name, _SCRAM_SHA_512, _ITERATIONS, salt, salted, {})


async def scram_users(kafka: str, given: Mapping[str, str]) -> None:
    """Users by name, with their passwords, for SCRAM-SHA-512. ``kafka``: where the administrator may do so."""
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    try:
        answer: Any = await admin._send_to_controller(_AlterUsers(given))
    finally:
        await admin.close()
    assert {(name, code) for name, code, *_ in answer.results} == {(name, 0) for name in given}


@asynccontextmanager
async def encrypted(host: str, port: int, made: Certificates) -> AsyncIterator[int]:
    """The port of something that speaks TLS, and hands on to ``host:port`` what it is told, for the block."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made.server)

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, port)
        ways = [asyncio.create_task(_carry(reader, back)), asyncio.create_task(_carry(there, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in ways:
                each.cancel()
            for end in (writer, back):
                end.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0, ssl=context)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(_BYTES):
        target.write(data)
        await target.drain()

"""What the text of each kind of setting may be. A parser raises ``ValueError`` saying what it must be."""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from eunoe.schemas.durations import BadDuration, duration_millis
from eunoe.schemas.ids import SecretId, is_name

_SERVER: Final = re.compile(r"(?:\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+):\d{1,5}")
_TOPIC_PREFIX: Final = re.compile(r"[A-Za-z0-9._-]{0,64}")
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")
_ED25519_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class ControlSigner:
    """Who may sign ``memory-control``: the root of trust. ``public_key``: Ed25519, 32 bytes."""

    signer: SecretId
    public_key: bytes


def servers(text: str) -> str:
    servers = [each.strip() for each in text.split(",")]
    if not all(_SERVER.fullmatch(each) for each in servers):
        raise ValueError("must be host:port, several separated by commas")
    return ",".join(servers)


def redis(text: str) -> str:
    try:
        parts = urlsplit(text)
        valid = parts.scheme in {"redis", "rediss", "unix"} and bool(parts.hostname or parts.path)
    except ValueError:
        valid = False
    if not valid:
        raise ValueError("must be a URL such as redis://host:6379/0, rediss://… or unix:///path")
    return text


def prefix(text: str) -> str:
    if not _TOPIC_PREFIX.fullmatch(text):
        raise ValueError("must be at most 64 of A-Z a-z 0-9 . _ -")
    return text


def name(text: str) -> str:
    if not is_name(text):
        raise ValueError("must be 1 to 64 of A-Z a-z 0-9 . _ -")
    return text


def one_of(names: type[StrEnum]) -> Callable[[str], StrEnum]:
    def parse(text: str) -> StrEnum:
        try:
            return names(text.upper())
        except ValueError:
            raise ValueError(f"must be one of {', '.join(names)}") from None

    return parse


def line(text: str) -> str:
    """A name or password. What was given is not in the error."""
    if not text or not text.isprintable():
        raise ValueError("must be one line of text")
    return text


def language(text: str) -> str:
    if not _LANGUAGE.fullmatch(text):
        raise ValueError("must be a language code such as en or ru")
    return text


def path(text: str) -> Path:
    return Path(text).expanduser()


def paths(text: str) -> tuple[Path, ...]:
    """Several, apart by commas."""
    return tuple(path(each.strip()) for each in text.split(",") if each.strip())


def duration(text: str) -> int:
    try:
        millis = duration_millis(text)
    except BadDuration as error:
        raise ValueError(f"is {error}") from None
    if millis < 1:
        raise ValueError("must be longer than nothing")
    return millis


def count(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return parse


def signers(text: str) -> tuple[ControlSigner, ...]:
    signers = []
    for each in filter(None, (part.strip() for part in text.split(","))):
        name, separator, key = each.partition("=")
        try:
            public_key = base64.b64decode(key, validate=True)
        except binascii.Error:
            public_key = b""
        if not separator or not is_name(name) or len(public_key) != _ED25519_BYTES:
            raise ValueError("must be NAME=KEY, KEY an Ed25519 public key (32 bytes) in base64; several by commas")
        signers.append(ControlSigner(SecretId(name), public_key))
    if len({each.signer for each in signers}) != len(signers):
        raise ValueError("names a signer twice")
    return tuple(signers)

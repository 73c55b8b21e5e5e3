"""Sealed bytes: AES-256-GCM over padded plaintext, bound to where they belong.

Layout: version byte ``0x01`` | nonce (12 bytes) | ciphertext | tag (16 bytes). The version is authenticated too.

Padding (ISO/IEC 7816-4) lies inside the encryption: ``0x80``, then zeros up to the next multiple of 64 bytes, at
least one byte in all. So the sealed length tells only which bucket of 64 a body falls into, and the plaintext may
hold any bytes.

Limits (NIST SP 800-38D §8.3): with random 96-bit nonces one key seals at most 2^32 bodies. A data key serves one
subject for one month of expiry, and a KEK or tenant key seals one key per call: all stay far below.
"""

import os
from typing import Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from eunoe.crypto.errors import SealBroken
from eunoe.schemas.canonical import canonical
from eunoe.schemas.ids import KeyId, LogId, MemoryId, Pseudonym, TenantId

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
PAD_BLOCK: Final = 64
OVERHEAD: Final = 1 + NONCE_BYTES + TAG_BYTES
"""Bytes that sealing adds to the padded plaintext."""

_VERSION: Final = b"\x01"
_BODY_AT: Final = 1 + NONCE_BYTES
_MARK: Final = b"\x80"
_PADS: Final = tuple(_MARK + bytes(PAD_BLOCK - 1 - n) for n in range(PAD_BLOCK))


class Aead(Protocol):
    """What sealing needs of a key: ``cryptography``'s AESGCM, or anything of its shape."""

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None, /) -> bytes: ...
    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None, /) -> bytes: ...


def new_key() -> bytes:
    """32 fresh random bytes."""
    return os.urandom(KEY_BYTES)


def new_nonce() -> bytes:
    """12 fresh random bytes; never the same for two seals under one key."""
    return os.urandom(NONCE_BYTES)


def aead(key: bytes) -> Aead:
    """AES-256-GCM under ``key`` (32 bytes)."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(key)}")
    return AESGCM(key)


def seal(key: Aead, plaintext: bytes, aad: bytes, nonce: bytes) -> bytes:
    """``plaintext`` padded and encrypted under ``key``, bound to ``aad``. ``nonce``: 12 bytes, never used before."""
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
    padded = plaintext + _PADS[len(plaintext) % PAD_BLOCK]
    return _VERSION + nonce + key.encrypt(nonce, padded, _VERSION + aad)


def open_sealed(key: Aead, sealed: bytes, aad: bytes) -> bytes:
    """The plaintext of ``sealed``, or :class:`SealBroken` (which holds nothing of it)."""
    if len(sealed) < OVERHEAD + PAD_BLOCK:
        raise SealBroken("length")
    if sealed[:1] != _VERSION:
        raise SealBroken("version")
    try:
        padded = key.decrypt(sealed[1:_BODY_AT], sealed[_BODY_AT:], _VERSION + aad)
    except InvalidTag:
        raise SealBroken("authentication") from None
    plaintext = padded.rstrip(b"\x00")
    if plaintext[-1:] != _MARK or len(padded) - len(plaintext) >= PAD_BLOCK:
        raise SealBroken("padding")
    return plaintext[:-1]


def sealed_size(plaintext_bytes: int) -> int:
    """How many bytes the seal of so many plaintext bytes has."""
    return (plaintext_bytes // PAD_BLOCK + 1) * PAD_BLOCK + OVERHEAD


def body_aad(  # exactly the fields of DESIGN §5, each a type of its own
    log_id: LogId,
    tenant: TenantId,
    incarnation: int,
    subject: Pseudonym,
    memory_id: MemoryId,
    key_id: KeyId,
    body_version: int,
) -> bytes:
    """What a record's body is bound to: it cannot be moved, yet moves unchanged from command to event."""
    return canonical("eunoe/body-aad/1", log_id, tenant, incarnation, subject, memory_id, key_id, body_version)

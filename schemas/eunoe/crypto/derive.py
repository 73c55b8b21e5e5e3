"""Keys from keys, and keyed images of texts: the few primitives that the key classes are made of."""

import hashlib
import hmac
import unicodedata
from typing import Final, NoReturn

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from eunoe.crypto.errors import TextRefused
from eunoe.schemas.canonical import canonical

DIGEST_BYTES: Final = 16
"""Keyed digests are HMAC-SHA256 cut to 128 bits (NIST SP 800-107 §5.1): half the bytes in Redis for each record."""
TOKEN_BYTES: Final = 8


class Secretive:
    """Base of what holds key bytes: never pickled or copied. (No dataclass, for a repr must show none of them.)"""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} holds key bytes and is not serialised")


def derive(key: bytes, label: str) -> bytes:
    """A 32-byte subkey of ``key``: HKDF-Expand (RFC 5869 §2.3), whose one block is all that is needed.

    Extract is left out: every key here is 32 uniformly random bytes (RFC 5869 §3.3).
    """
    return hmac.digest(key, canonical(label) + b"\x01", "sha256")


def keyed(key: bytes) -> HMAC:
    """HMAC-SHA256 that has read its key. Kept and copied, for the key set-up is two thirds of a short HMAC's time."""
    return HMAC(key, SHA256())


def mac(state: HMAC, content: bytes) -> bytes:
    """HMAC-SHA256 of ``content``, 32 bytes; ``state`` stays as it was."""
    copy = state.copy()
    copy.update(content)
    return copy.finalize()


def digest(state: HMAC, content: bytes) -> bytes:
    """HMAC-SHA256 of ``content``, cut to 16 bytes."""
    return mac(state, content)[:DIGEST_BYTES]


def exact(field: str, text: str) -> bytes:
    """``text`` in UTF-8. Raises ``TextRefused`` (naming ``field``) for an empty one or a lone surrogate."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError:  # its own message would carry the text along
        encoded = None
    if encoded is None:
        raise TextRefused(field, "holds a lone surrogate, which is no text")
    if not encoded:
        raise TextRefused(field, "is empty")
    return encoded


def normal(field: str, text: str) -> bytes:
    """``text`` in NFC and UTF-8: one name typed on two keyboards is one name. Case and spaces count."""
    if not text.isascii():
        exact(field, text)  # so that a lone surrogate is refused before the normaliser sees it
        text = unicodedata.normalize("NFC", text)
    return exact(field, text)


def blinding(key: bytes, scope: bytes) -> hashlib.blake2b:
    """A keyed BLAKE2b that has read ``scope`` (length first); copy it, feed one term, take 8 bytes."""
    return hashlib.blake2b(len(scope).to_bytes(4) + scope, key=key, digest_size=TOKEN_BYTES)

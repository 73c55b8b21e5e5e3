"""Who says so: MACs and signatures of principals, behind one shape.

A service authenticates its commands with ``hmac-sha256``; what a person answers for (review, erasure, policy, switches)
carries an ``ed25519`` signature, which others can check without being able to make it. Where secrets lie and how they
are named in a policy is in :mod:`eunoe.crypto.secrets`.
"""

import base64
import hashlib
import hmac
import os
from enum import StrEnum
from typing import Final, Protocol, assert_never, final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from eunoe.crypto.derive import Secretive, keyed, mac
from eunoe.schemas.ids import SecretId

SECRET_BYTES: Final = 32
"""An Ed25519 seed has exactly so many bytes, an HMAC secret at least so many."""


class Algorithm(StrEnum):
    """How a principal proves that it is the author."""

    HMAC_SHA256 = "hmac-sha256"
    ED25519 = "ed25519"


class Signer(Protocol):
    """Makes the proof: 32 bytes (HMAC) or 64 (Ed25519). ``message`` is canonical bytes with a label of its own."""

    @property
    def secret_id(self) -> SecretId: ...
    @property
    def algorithm(self) -> Algorithm: ...
    def sign(self, message: bytes, /) -> bytes: ...


class Verifier(Protocol):
    """Checks it; never raises on a wrong, short or long proof. Compares in constant time."""

    @property
    def secret_id(self) -> SecretId: ...
    @property
    def algorithm(self) -> Algorithm: ...
    def verify(self, message: bytes, proof: bytes, /) -> bool: ...


@final
class HmacSecret(Secretive):
    """A shared secret: signer and verifier in one."""

    __slots__ = ("_state", "secret_id")

    algorithm: Final = Algorithm.HMAC_SHA256

    def __init__(self, secret_id: SecretId, secret: bytes) -> None:
        if len(secret) < SECRET_BYTES:
            raise ValueError(f"an HMAC secret has at least {SECRET_BYTES} bytes, not {len(secret)}")
        self.secret_id = secret_id
        self._state = keyed(secret)

    def __repr__(self) -> str:
        return f"HmacSecret({self.secret_id})"

    def sign(self, message: bytes, /) -> bytes:
        return mac(self._state, message)

    def verify(self, message: bytes, proof: bytes, /) -> bool:
        return hmac.compare_digest(mac(self._state, message), proof)

    def verifier(self) -> "HmacSecret":
        """Itself: who can check an HMAC can make one."""
        return self


@final
class Ed25519Verifier:
    """A public key. ``secret_id`` defaults to an image of the key, :func:`public_key_id`."""

    __slots__ = ("_key", "_raw", "secret_id")

    algorithm: Final = Algorithm.ED25519

    def __init__(self, public: bytes, secret_id: SecretId | None = None) -> None:
        self._key = Ed25519PublicKey.from_public_bytes(public)
        self._raw = public
        self.secret_id = secret_id or public_key_id(public)

    def __repr__(self) -> str:
        return f"Ed25519Verifier({self.secret_id}, {self.reference})"

    @property
    def public(self) -> bytes:
        """The 32 bytes of the public key."""
        return self._raw

    @property
    def reference(self) -> str:
        """The key as a policy names it."""
        return f"ed25519:{base64.b64encode(self._raw).decode()}"

    def verify(self, message: bytes, proof: bytes, /) -> bool:
        try:
            self._key.verify(proof, message)
        except InvalidSignature:
            return False
        return True


@final
class Ed25519Signer(Secretive):
    """A private key, from its 32-byte seed."""

    __slots__ = ("_key", "secret_id")

    algorithm: Final = Algorithm.ED25519

    def __init__(self, secret_id: SecretId | None, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.secret_id = secret_id or public_key_id(self._key.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"Ed25519Signer({self.secret_id})"

    def sign(self, message: bytes, /) -> bytes:
        return self._key.sign(message)

    def verifier(self) -> Ed25519Verifier:
        """What others check with, under the same id."""
        return Ed25519Verifier(self._key.public_key().public_bytes_raw(), self.secret_id)


Secret = HmacSecret | Ed25519Signer


def public_key_id(public: bytes) -> SecretId:
    """``ed-`` and 16 hex digits: the id of a public key that was given none."""
    return SecretId(f"ed-{hashlib.sha256(public).hexdigest()[:16]}")


def secret_of(algorithm: Algorithm, secret_id: SecretId, content: bytes) -> Secret:
    """The secret of these bytes. Raises ValueError where their number does not fit; never quotes them."""
    match algorithm:
        case Algorithm.HMAC_SHA256:
            return HmacSecret(secret_id, content)
        case Algorithm.ED25519:
            if len(content) != SECRET_BYTES:
                raise ValueError(f"an Ed25519 seed has {SECRET_BYTES} bytes, not {len(content)}")
            return Ed25519Signer(secret_id, content)
    assert_never(algorithm)


def new_secret_bytes() -> bytes:
    """32 fresh random bytes, fit for either algorithm."""
    return os.urandom(SECRET_BYTES)

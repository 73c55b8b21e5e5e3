"""Key-encryption keys: the one secret an installation keeps outside its log, and where it comes from.

A KEK wraps tenant keys and dead-letter day keys. Its id is a one-way image of the key, so two machines can compare
ids without showing keys, and a wrapped key names the KEK that opens it. Providers: a file, an environment variable.
"""

import base64
import binascii
import hmac
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol, final

from eunoe.crypto.cipher import KEY_BYTES, aead, new_key, new_nonce, open_sealed, seal
from eunoe.crypto.derive import Secretive, derive
from eunoe.crypto.errors import KekUnusable, SealBroken, WrongKek

KEK_VARIABLE: Final = "EUNOE_KEK"
OTHER_VARIABLE: Final = "EUNOE_KEK_OTHER"

_ID_BYTES: Final = 8
_PREFIX: Final = "kek-"
_FIELD: Final = "kek"


class KeyEncryptionKey(Protocol):
    """What wraps and unwraps the keys at the top. Both calls are synchronous and rare: once per tenant and process.

    ``wrap`` puts the KEK's id before the sealed bytes. ``unwrap`` raises ``WrongKek`` where that id is another one,
    and ``SealBroken`` where the bytes or the ``aad`` were changed. ``kek_id`` is the one that wraps now; ``opens`` says
    whether ``unwrap`` has the key for what another one wrapped.
    """

    @property
    def kek_id(self) -> str: ...
    def wrap(self, plain: bytes, aad: bytes) -> bytes: ...
    def unwrap(self, wrapped: bytes, aad: bytes) -> bytes: ...
    def opens(self, kek_id: str) -> bool: ...


@final
class LocalKek(Secretive):
    """A KEK held in this process: 32 bytes, from which wrapping key and id are derived (neither gives the other)."""

    __slots__ = ("_aead", "_tag", "kek_id")

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a KEK has {KEY_BYTES} bytes, not {len(key)}")
        self._aead = aead(derive(key, "eunoe/kek/wrap/1"))
        self._tag = derive(key, "eunoe/kek/id/1")[:_ID_BYTES]
        self.kek_id: str = _PREFIX + self._tag.hex()

    def __repr__(self) -> str:
        return f"LocalKek({self.kek_id})"

    def wrap(self, plain: bytes, aad: bytes) -> bytes:
        return self._tag + seal(self._aead, plain, aad, new_nonce())

    def unwrap(self, wrapped: bytes, aad: bytes) -> bytes:
        if not hmac.compare_digest(wrapped[:_ID_BYTES], self._tag):
            raise WrongKek(kek_id_of(wrapped), self.kek_id)
        return open_sealed(self._aead, wrapped[_ID_BYTES:], aad)

    def opens(self, kek_id: str) -> bool:
        return kek_id == self.kek_id


def kek_id_of(wrapped: bytes) -> str:
    """The id of the KEK that wrapped these bytes."""
    if len(wrapped) <= _ID_BYTES:
        raise SealBroken("length")
    return _PREFIX + wrapped[:_ID_BYTES].hex()


def is_kek_id(text: str) -> bool:
    """Whether ``text`` has the form of a KEK's id."""
    return text.startswith(_PREFIX) and len(text) == len(_PREFIX) + 2 * _ID_BYTES


def create_key_file(path: Path) -> LocalKek:
    """Makes a fresh KEK in a new file (mode 0600, complete or absent); an existing one is never overwritten."""
    key = new_key()
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, 0o600)
            file.write(base64.b64encode(key) + b"\n")
            file.flush()
            os.fsync(handle)
        # A link fails where the name is taken, which a rename would silently replace.
        os.link(draft, path)
    except FileExistsError:
        raise KekUnusable(str(path), "exists already; a KEK is never overwritten") from None
    except OSError as error:
        raise KekUnusable(str(path), f"cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    return LocalKek(key)


def read_key_file(path: Path) -> LocalKek:
    """The KEK in ``path``: one line of base64, or JSON ``{"kek": "<base64>"}``; refused when others could read it."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise KekUnusable(str(path), f"mode {mode:04o} lets others read it; run: chmod 600 {path}")
            content = file.read(4096)
    except OSError as error:
        raise KekUnusable(str(path), f"cannot be read: {error.strerror}") from None
    return _parse(content, str(path))


def read_key_variable(environ: Mapping[str, str], name: str = KEK_VARIABLE) -> LocalKek:
    """The KEK in the environment variable ``name``, in the same forms as a key file."""
    value = environ.get(name)
    if not value:
        raise KekUnusable(f"environment variable {name}", "is not set")
    return _parse(value.encode("utf-8", "replace"), f"environment variable {name}")


def _parse(content: bytes, source: str) -> LocalKek:
    text = content.strip()
    if text.startswith(b"{"):
        text = _from_json(text, source)
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != KEY_BYTES:
        raise KekUnusable(source, f'must hold {KEY_BYTES} bytes in base64, on one line or as {{"{_FIELD}": …}}')
    return LocalKek(key)


def _from_json(text: bytes, source: str) -> bytes:
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    value = document.get(_FIELD) if isinstance(document, dict) else None
    if not isinstance(value, str):
        raise KekUnusable(source, f'is not a JSON object with a text field "{_FIELD}"')
    return value.encode("utf-8", "replace")

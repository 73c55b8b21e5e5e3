"""Encrypting what is handed out to whoever it is for, in the age format (https://age-encryption.org/v1).

A recipient makes a key pair with ``age-keygen`` and gives away the public line; ``age -d`` or `eunoe export open` opens
the file. What is inside stays signed.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from eunoe.runtime.errors import CallerFault

if TYPE_CHECKING:
    from pyrage import x25519


class BadKeyFile(CallerFault):
    """The file holds no usable key, or none that opens the export. Says which file, never what is in it."""


def encrypted(content: bytes, keys: Path) -> bytes:
    """``content`` for everyone whose public key (``age1…``, one a line, ``#`` for remarks) is in the file ``keys``."""
    import pyrage

    recipients = []
    for line in _lines(keys):
        try:
            recipients.append(pyrage.x25519.Recipient.from_str(line))
        except pyrage.RecipientError:
            raise BadKeyFile(f"{keys} holds a line that is no age public key (age1…)") from None
    if not recipients:
        raise BadKeyFile(f"{keys} holds no age public key (age1…)")
    return bytes(pyrage.encrypt(content, recipients))


def decrypted(content: bytes, identity: Path) -> bytes:
    """The content, with the private key (``AGE-SECRET-KEY-1…``) in the file ``identity``."""
    import pyrage

    identities: list[x25519.Identity] = []
    for line in _lines(identity):
        try:
            identities.append(pyrage.x25519.Identity.from_str(line))
        except pyrage.IdentityError:
            raise BadKeyFile(f"{identity} holds a line that is no age private key") from None
    try:
        return bytes(pyrage.decrypt(content, identities))
    except pyrage.DecryptError:
        raise BadKeyFile(f"no key in {identity} opens this, or it is no age file, or it was changed") from None


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadKeyFile(f"{path} cannot be read ({type(error).__name__})") from None
    return [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]

"""Ed25519 public keys as a policy writes them: base64."""

import base64
import binascii
from typing import Final

BYTES: Final = 32


def public_key(text: str) -> bytes | None:
    """The key itself; None where the text is none."""
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if len(found) == BYTES else None

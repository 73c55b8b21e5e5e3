"""The key-encryption key that the settings point at."""

import os
from collections.abc import Mapping

from eunoe.crypto.kek import KeyEncryptionKey, read_key_file, read_key_variable
from eunoe.runtime.settings import Settings


def kek_of(settings: Settings, environ: Mapping[str, str] = os.environ) -> KeyEncryptionKey:
    """From the file ``kek_file``, else from the variable EUNOE_KEK. Raises ``KekUnusable`` naming either."""
    return read_key_variable(environ) if settings.kek_file is None else read_key_file(settings.kek_file)

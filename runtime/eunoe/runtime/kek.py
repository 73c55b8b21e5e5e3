"""The key-encryption keys that the settings point at."""

import logging
import os
from collections.abc import Mapping

from eunoe.crypto.kek import OTHER_VARIABLE, LocalKek, read_key_file, read_key_variable
from eunoe.crypto.kek_ring import KekRing
from eunoe.runtime.settings import Settings

log = logging.getLogger(__name__)


def kek_of(settings: Settings, environ: Mapping[str, str] = os.environ) -> KekRing:
    """From the file ``kek_file``, else from the variable EUNOE_KEK; and the other one, where there is one.

    Raises ``KekUnusable`` naming the file or variable.
    """
    first = read_key_variable(environ) if settings.kek_file is None else read_key_file(settings.kek_file)
    other = _other(settings, environ)
    return KekRing((first,) if other is None else (first, other))


def _other(settings: Settings, environ: Mapping[str, str]) -> LocalKek | None:
    """A file that is not there (any more) is held no more: what that means, ``memory-control`` says."""
    path = settings.kek_other_file
    if path is not None and not path.exists():
        log.warning("kek_other_file names %s, and no file is there: that key is not held", path)
        return None
    if path is not None:
        return read_key_file(path)
    return read_key_variable(environ, OTHER_VARIABLE) if environ.get(OTHER_VARIABLE) else None

"""Destroying a key-encryption key where it is kept, and who says that it is gone.

A key file and a variable have no provider that could attest anything: what is removed here is removed here, and that
there is no copy elsewhere is the operator's word. A key service would say so itself (*provider attests*).
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from eunoe.crypto.errors import KekUnusable
from eunoe.crypto.kek import KEK_VARIABLE, OTHER_VARIABLE, read_key_file, read_key_variable
from eunoe.operations.rotation_errors import RotationRefused
from eunoe.runtime.settings import Settings

OPERATOR_ATTESTS: Final = "operator attests"
PROVIDER_ATTESTS: Final = "provider attests"


@dataclass(frozen=True, slots=True)
class Destroyed:
    """``evidence``: who says so. ``what`` names no path and no host, for it goes into receipts."""

    evidence: str
    what: str


def destroy_kek(settings: Settings, kek_id: str) -> Destroyed:
    """Removes the key file that holds this KEK, if one does here. Repeating is harmless.

    Raises `RotationRefused` where ``kek_file`` or a variable of this process still names it: it would be given to the
    next process that starts.
    """
    if settings.kek_file is not None and _in_file(settings.kek_file) == kek_id:
        raise RotationRefused(f"kek_file still names the retired key {kek_id}: it must name the new one first")
    for name in (KEK_VARIABLE, OTHER_VARIABLE):
        if os.environ.get(name) and read_key_variable(os.environ, name).kek_id == kek_id:
            raise RotationRefused(f"the variable {name} still holds the retired key {kek_id}: unset it first")
    other = settings.kek_other_file
    if other is not None and _is_there(other, kek_id):
        _remove(other)
        return Destroyed(OPERATOR_ATTESTS, "the key file was overwritten and removed on the operator's machine")
    return Destroyed(OPERATOR_ATTESTS, "no key file with it is on the operator's machine")


def _is_there(path: Path, kek_id: str) -> bool:
    """Also where an earlier call was killed after it had given the file its other name."""
    return _in_file(path) == kek_id or (not path.exists() and _going(path).exists())


def _going(path: Path) -> Path:
    return path.with_name(f"{path.name}.going")


def _in_file(path: Path) -> str | None:
    try:
        return read_key_file(path).kek_id
    except KekUnusable:
        if path.exists():
            raise
        return None


def _remove(path: Path) -> None:
    """Overwritten first: a file system may keep a removed file's blocks (and may keep the overwritten ones).

    Under another name before that: nobody who is given the path finds half a key. Raises `RotationRefused`.
    """
    going = _going(path)
    try:
        if path.exists():
            path.rename(going)
        with going.open("r+b") as file:
            size = os.fstat(file.fileno()).st_size
            file.write(os.urandom(size))
            file.flush()
            os.fsync(file.fileno())
        going.unlink()
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise RotationRefused(f"{error.filename or path} cannot be removed: {error.strerror}") from error

"""A file system of a few hundred megabytes for the broker's data, which can be made full and roomy again.

It is a tmpfs in a mount namespace of this process: nobody else sees it, and it is gone with the last process that was
started from here, however that ends. Full means that its limit is set to what is used, so filling it costs nothing.
Linux only, and only with the right to mount; elsewhere the fault is left out, and the report says so.
"""

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ROOM: Final = 2 << 30
_CLONE_NEWNS: Final = 0x0002_0000
_MS_REMOUNT: Final = 0x20
_MS_REC: Final = 0x4000
_MS_PRIVATE: Final = 0x4_0000


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """``path`` is where it is mounted."""

    path: Path

    def fill(self) -> int:
        """From now on it takes no block more; how many bytes are used."""
        found = os.statvfs(self.path)
        used = (found.f_blocks - found.f_bfree) * found.f_frsize
        # One page for what is written between looking and saying.
        _mount("tmpfs", self.path, _MS_REMOUNT, f"size={used + found.f_frsize}")
        return used

    def make_room(self) -> None:
        _mount("tmpfs", self.path, _MS_REMOUNT, f"size={_ROOM}")


def small_disk(path: Path) -> SmallDisk | None:
    """Mounted on ``path``, for this process and those that it starts from now on; None where that is not allowed.

    To be called before there are threads: a thread that is there already stays outside.
    """
    if not sys.platform.startswith("linux"):
        return None
    path.mkdir(parents=True, exist_ok=True)
    try:
        if _libc().unshare(_CLONE_NEWNS) != 0:
            return None
        # Or whatever is mounted here would be so outside, too.
        _mount(None, Path("/"), _MS_REC | _MS_PRIVATE, None)
        _mount("tmpfs", path, 0, f"size={_ROOM}")
    except OSError:
        return None
    return SmallDisk(path)


def _mount(kind: str | None, path: Path, flags: int, options: str | None) -> None:
    """As mount(2). Raises OSError."""
    name = None if kind is None else kind.encode()
    data = None if options is None else options.encode()
    if _libc().mount(name, os.fsencode(path), name, ctypes.c_ulong(flags), data) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(path))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)

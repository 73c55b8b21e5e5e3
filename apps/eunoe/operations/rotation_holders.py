"""Waiting for the processes that hold key-encryption keys: each has to say that it does what the next step needs."""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from eunoe.operations.rotation_errors import HoldersMissing
from eunoe.runtime.holding import Holder, holders, strike_off
from eunoe.schemas.control import KEK
from eunoe.worker.foundation import Foundation

CALL: Final = "rotate"
"""What kind of process a call of `eunoe keys rotate` is, in the list of holders."""
_LOOK_S: Final = 0.3
Telling = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldersWait:
    """``patience``: seconds until it gives up and names who is missing."""

    foundation: Foundation
    patience: float
    telling: Telling

    async def strike_off(self, gone: Sequence[str]) -> None:
        """Take those off the lists. They are dead, says an operator."""
        await strike_off(self.foundation.redis, self.foundation.installation.log_id, tuple(gone))

    async def _strike_off_killed(self, found: Sequence[Holder]) -> Sequence[Holder]:
        """Without earlier calls that ended without a word: dead, or about to stop, for the lease is the caller's.

        One on this machine is known to be dead at once, another one by its silence.
        """
        base = self.foundation
        calls = [each for each in found if each.holder.startswith(f"{CALL}-")]
        killed = tuple(each.holder for each in calls if each.silent or _has_died_here(each))
        await strike_off(base.redis, base.installation.log_id, killed)
        return [each for each in found if each.holder not in killed]

    async def obeyed(self, wraps: str) -> Sequence[Holder]:
        """Once each has read the last step and wraps with this KEK. As `acknowledged`."""
        offset = self.foundation.control.state.in_force(KEK)
        return await self.acknowledged(
            lambda each: None if each.control >= offset and each.wraps == wraps else "has not read the last step"
        )

    async def acknowledged(self, lacks: Callable[[Holder], str | None]) -> Sequence[Holder]:
        """Every holder, once none lacks anything. Tells once of each that it waits for.

        Raises `HoldersMissing` after the patience.
        """
        base, told = self.foundation, set[str]()
        deadline = asyncio.get_running_loop().time() + self.patience
        while True:
            found = await self._strike_off_killed(await holders(base.redis, base.installation.log_id))
            missing = [(each.named, why) for each in found if (why := _missing(each, lacks(each)))]
            if not missing:
                return found
            if asyncio.get_running_loop().time() > deadline:
                raise HoldersMissing([f"{name} {why}" for name, why in missing])
            for name, why in missing:
                if name not in told:
                    self.telling(f"waiting for a process: {name} {why}")
                    told.add(name)
            await asyncio.sleep(_LOOK_S)


def _has_died_here(holder: Holder) -> bool:
    if holder.host != socket.gethostname():
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # somebody else's, and alive
    return False


def _missing(holder: Holder, lacks: str | None) -> str | None:
    silent = f"is silent for {holder.silent_ms // 1_000} s" if holder.silent else None
    return " and ".join(each for each in (lacks, silent) if each) or None


def lacks(holder: Holder, wanted: tuple[str, ...]) -> str | None:
    missing = [each for each in wanted if each not in holder.held]
    return f"does not hold {', '.join(missing)}" if missing else None


def still_holds(holder: Holder, retired: str) -> str | None:
    return f"still holds {retired}" if retired in holder.held else None


def starts_with_another(holder: Holder, wraps: str) -> str | None:
    return None if holder.first == wraps else f"will not start again with {wraps}: its kek_file must name it now"

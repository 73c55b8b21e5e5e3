"""What has to be done on the log and in Redis before a key-encryption key may go, and waiting until it is.

Whether it is done is looked up anew each time, so a rotation that was killed goes on by calling it again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from eunoe.operations.keys_in_use import KeysInUse, index_keys, reading_keys
from eunoe.operations.rebuilding import Wishes, rebuilding
from eunoe.operations.rotation_errors import RotationWaits
from eunoe.operations.rotation_holders import CALL, Telling
from eunoe.readmodels import keys as keys_model
from eunoe.readmodels.rebuild.places import Places
from eunoe.readmodels.recall.keys import MODEL as RECALL
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.worker.foundation import Foundation

_LOOK_S: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationWork:
    """``patience``: seconds until it gives up, and says what did not come."""

    foundation: Foundation
    patience: float
    telling: Telling

    async def nothing_behind(self, wraps: str) -> KeysInUse:
        """What the log holds, once nothing of it is under another KEK and every `keys` model has folded it."""
        found: list[KeysInUse] = []
        async with reading_keys(self.foundation) as look:

            async def done() -> str | None:
                found[:] = [await look()]
                left = found[0].behind(wraps)
                return f"{left} keys to be wrapped anew (by a worker with the role shred)" if left else None

            await self._until(done)
        ends = {each.partition: each.end for each in found[0].partitions}

        async def folded() -> str | None:
            for partition, end in ends.items():
                prefix = Prefix(self.foundation.installation.log_id, partition, keys_model.NAME)
                at = min((await GenerationStore(self.foundation.redis).filled(prefix)).values())
                if at < end:
                    return f"the read model keys is at {at} of {end} in partition {partition}"
            return None

        await self._until(folded)
        return found[0]

    async def renew_indexes(self, wraps: str) -> None:
        """A generation of `recall` under fresh index keys serves, and every other one is removed."""
        base = self.foundation
        found = await index_keys(base.redis, base.installation)
        if set(found) <= {wraps}:
            return
        places = Places(redis=base.redis, installation=base.installation, model=RECALL)
        async with rebuilding(base.settings, RECALL, lambda each: self.telling(f"recall: {each.phase}"), CALL) as at:
            for role in ("kept", "building"):
                if any(getattr(each, role) is not None for each in (await places.generations()).values()):
                    await at.remove(role)
            for each in {number for found_ in (await places.generations()).values() for number in found_.frozen}:
                await at.remove_frozen(each)
            await at.rebuild(Wishes())
            await at.remove("kept")
        left = await index_keys(base.redis, base.installation)
        if not set(left) <= {wraps}:
            raise RotationWaits(f"index keys of recall are still under {', '.join(sorted(set(left) - {wraps}))}")

    async def _until(self, look: Callable[[], Awaitable[str | None]]) -> None:
        deadline, said = asyncio.get_running_loop().time() + self.patience, ""
        while (problem := await look()) is not None:
            if asyncio.get_running_loop().time() > deadline:
                raise RotationWaits(problem)
            if problem != said:
                self.telling(problem)
                said = problem
            await asyncio.sleep(_LOOK_S)

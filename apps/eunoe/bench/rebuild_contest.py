"""Running a contender of `rebuild_process` and hearing from it."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

_PROCESS: Final = "eunoe.bench.rebuild_process"
_ENDING_S: Final = 5.0


@dataclass(eq=False)
class ContenderFailed(RuntimeError):
    """``problem``: the last lines of what it said."""

    what: str
    problem: str

    def __str__(self) -> str:
        return f"{self.what} ended early: {self.problem}"


@dataclass(slots=True)
class Contest:
    """One contender at work."""

    what: str
    process: asyncio.subprocess.Process
    heard: "asyncio.Task[bytes]"

    async def until(self, at: str) -> Mapping[str, Any]:
        """What it says when it is there. Raises `ContenderFailed` where it ends before."""
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            said: Mapping[str, Any] = json.loads(line)
            if said["at"] == at:
                return said
        raise ContenderFailed(self.what, (await self.heard).decode(errors="replace")[-2_000:])

    async def end(self) -> None:
        """Returns when it has ended by itself. Raises `ContenderFailed`."""
        if await self.process.wait():
            raise ContenderFailed(self.what, (await self.heard).decode(errors="replace")[-2_000:])


@asynccontextmanager
async def contending(environ: Mapping[str, str], task: Mapping[str, Any]) -> AsyncIterator[Contest]:
    """A process that works at ``task`` within the block, and is gone afterwards. The task goes through a pipe."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", _PROCESS),
        env=dict(environ),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    heard = asyncio.create_task(process.stderr.read())
    try:
        process.stdin.write(json.dumps(task).encode())
        process.stdin.close()
        yield Contest(f"{task['what']} of {task['model']}", process, heard)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await asyncio.wait_for(heard, _ENDING_S)

"""The workers: which there are, and somebody who starts again what ended by itself, as a process supervisor does."""

import asyncio
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from eunoe.testing.platform import Platform, WorkerProcess
from eunoe.worker.ending import END_S

_LOOK_S: Final = 0.5
_READY_S: Final = 150.0
"""On a busy machine a group of several members took over a minute to settle (seen)."""
STOP_BUDGET_S: Final = END_S + 2.0
"""From SIGTERM to the end of a worker (S10, S20), also while the broker is away; and until that is noticed here."""
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
SURVIVOR: Final = "survivor"
ATTESTS: Final = "shredder"

CREW: Final[Mapping[str, str]] = MappingProxyType(
    {
        SURVIVOR: "decide,project,shred",
        "decider": "decide",
        "projector": "project",
        ATTESTS: "shred,attest",
    }
)
"""Name and roles. The survivor is never killed: what leaks, leaks there."""


@dataclass(slots=True)
class Post:
    """One place in the crew. ``down``: a fault has it, and nobody starts it again meanwhile."""

    name: str
    roles: str
    worker: WorkerProcess | None = None
    down: bool = False


@dataclass(slots=True)
class Crew:
    """``ended``: (name, exit code) of those that ended by themselves. ``late``: stops that took over the budget."""

    platform: Platform
    posts: dict[str, Post] = field(default_factory=dict)
    ended: list[tuple[str, int | None]] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    logs: list[WorkerProcess] = field(default_factory=list)

    def add(self, name: str, roles: str, environ: Mapping[str, str] = NOTHING) -> Post:
        post = self.posts[name] = Post(name, roles)
        self.start(post, environ)
        return post

    def start(self, post: Post, environ: Mapping[str, str] = NOTHING) -> None:
        post.worker = self.platform.start_worker(post.roles, environ=environ)
        self.logs.append(post.worker)
        post.down = False

    def kill(self, post: Post) -> None:
        post.down = True
        if post.worker is not None:
            post.worker.resume()
            post.worker.kill()

    async def stop(self, post: Post) -> tuple[float, int | None]:
        """SIGTERM; seconds until it was gone, and its exit code. None: it had to be killed after the budget."""
        post.down = True
        began, worker = time.monotonic(), post.worker
        assert worker is not None
        try:
            code: int | None = await asyncio.to_thread(worker.stop, STOP_BUDGET_S)
        except subprocess.TimeoutExpired:
            self.late.append(f"{post.name}, {worker.log.name}")
            worker.abort()
            code = None
        return time.monotonic() - began, code

    async def leave(self, posts: Iterable[Post]) -> None:
        """SIGTERM to all of them at once; they are no part of the crew any more."""
        leaving = list(posts)
        await asyncio.gather(*(self.stop(post) for post in leaving))
        for post in leaving:
            del self.posts[post.name]

    def remove(self, name: str) -> None:
        self.kill(self.posts[name])
        del self.posts[name]

    def of_role(self, role: str) -> list[Post]:
        """Those that a fault may have: not the survivor, and not one that another fault has."""
        return [
            post
            for post in self.posts.values()
            if role in post.roles.split(",") and not post.down and post.name != SURVIVOR
        ]

    async def supervise(self) -> None:
        """Until cancelled."""
        while True:
            for post in self.posts.values():
                if not post.down and post.worker is not None and not post.worker.alive:
                    self.ended.append((post.name, post.worker.code))
                    self.start(post)
            await asyncio.sleep(_LOOK_S)

    def running(self) -> Iterator[tuple[Post, WorkerProcess]]:
        for post in self.posts.values():
            if post.worker is not None and post.worker.alive:
                yield post, post.worker

    async def assemble(self) -> list[str]:
        """Start the survivor, and when it is ready the others: a group that all join at one moment settles late. As
        `ready`."""
        for name, roles in CREW.items():
            self.add(name, roles)
            if name == SURVIVOR and (unready := await self.ready()):
                return unready
        return await self.ready()

    async def ready(self, seconds: float = _READY_S) -> list[str]:
        """Waits until every worker is ready; the names of those that are not by then, each with what it says."""
        deadline = time.monotonic() + seconds
        while True:
            unready = [post for post in self.posts.values() if not await self._ready(post)]
            if not unready or time.monotonic() > deadline:
                return [f"{post.name}: {self._problems(post)}" for post in unready]
            await asyncio.sleep(_LOOK_S)

    async def one_ready(self, post: Post, seconds: float) -> bool:
        """Whether it was, by then."""
        deadline = time.monotonic() + seconds
        while not (ready := await self._ready(post)) and time.monotonic() < deadline:  # noqa: ASYNC110 - another process
            await asyncio.sleep(_LOOK_S)
        return ready

    async def _ready(self, post: Post) -> bool:
        return post.worker is not None and await asyncio.to_thread(post.worker.answers, "readyz")

    def _problems(self, post: Post) -> str:
        return "does not run" if post.worker is None else "; ".join(post.worker.problems()) or "does not answer"

    def end(self) -> None:
        """Kill all."""
        for post in self.posts.values():
            self.kill(post)

"""The producers as processes, an officer who has people forgotten meanwhile, and what their journals say."""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from eunoe.client.memory import Memory
from eunoe.crypto.errors import CryptoWorldError
from eunoe.producers.errors import KeyRefused
from eunoe.runtime.errors import WorldFault
from eunoe.schemas.ids import PrincipalName
from eunoe.testing.chaos.checker import Violation
from eunoe.testing.chaos.producer import TENANTS
from eunoe.testing.platform import Platform

_STOP_S: Final = 90.0
GO_ON: Final = "producers go on"
_AGAIN_S: Final = 60.0
_START_S: Final = 60.0
_LEAVES_EVERY_S: Final = 20.0


@dataclass(slots=True)
class Journals:
    """What all producers say. ``sent`` includes what was never confirmed."""

    texts: list[str] = field(default_factory=list)
    sent: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def read(self, path: Path) -> None:
        for line in path.read_text().splitlines():
            noted: Mapping[str, Any] = json.loads(line)
            if "text" in noted:
                self.texts.append(noted["text"])
            elif "sent" in noted:
                self.sent.add(noted["sent"])
            elif "written" in noted:
                self.written.add(noted["written"])
            elif "counts" in noted:
                self.counts.update(noted["counts"])


@dataclass(slots=True)
class Producers:
    """``folder`` holds journals and logs; the journals are in no place that is searched for plaintext."""

    platform: Platform
    folder: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, count: int, seed: int, rate: float) -> None:
        """``rate``: commands a second of each."""
        self.folder.mkdir()
        for number in range(count):
            name = f"producer-{number}"
            with (self.platform.directory / f"{name}.log").open("wb") as log:
                self.running[name] = subprocess.Popen(
                    [
                        *(sys.executable, "-m", "eunoe.testing.chaos.producer"),
                        *(name, str(seed), str(rate), str(self._journal(name))),
                    ],
                    env=self.platform.environ,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )

    def started(self) -> bool:
        return all(self._journal(name).exists() and self._journal(name).stat().st_size for name in self.running)

    async def wait_started(self) -> None:
        """Raises TimeoutError."""
        async with asyncio.timeout(_START_S):
            while not self.started():  # noqa: ASYNC110 - it happens in other processes
                await asyncio.sleep(0.1)

    async def still_write(self) -> list[Violation]:
        """Once no fault is left, each gets a record written again; those that do not within a minute."""
        before = {name: self._written(name) for name in self.running}
        deadline = time.monotonic() + _AGAIN_S
        while silent := [name for name, count in before.items() if self._written(name) == count]:
            if time.monotonic() > deadline:
                return [Violation(check=GO_ON, where=each, what="wrote nothing any more") for each in silent]
            await asyncio.sleep(0.2)
        return []

    def _written(self, name: str) -> int:
        return self._journal(name).read_text().count('"written"')

    async def stop(self) -> list[Violation]:
        """SIGTERM; returns when each has ended, with those that did not as they should."""
        for process in self.running.values():
            process.terminate()
        found = []
        deadline = time.monotonic() + _STOP_S
        for name, process in self.running.items():
            try:
                code: int | None = await asyncio.to_thread(process.wait, max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                code = None
            if code != 0:
                said = "did not end" if code is None else f"ended with code {code}"
                found.append(Violation(check=GO_ON, where=name, what=f"{said}; see {name}.log"))
        self.end()
        return found

    def end(self) -> None:
        for process in self.running.values():
            process.kill()
            process.wait()

    def journals(self) -> Journals:
        found = Journals()
        for name in self.running:
            found.read(self._journal(name))
        return found

    def _journal(self, name: str) -> Path:
        return self.folder / f"{name}.jsonl"


@dataclass(slots=True)
class Officer:
    """Has somebody forgotten every now and then, whatever the world is like. ``forgotten``: confirmed by an outcome."""

    platform: Platform
    forgotten: list[str] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)

    async def run(self) -> None:
        """Until cancelled."""
        settings = replace(self.platform.settings, principal=PrincipalName("dev-officer"))
        async with Memory.connect(settings) as memory:
            while True:
                await asyncio.sleep(_LEAVES_EVERY_S)
                name = f"leaver-{len(self.forgotten)}"
                try:
                    outcome = await memory.forget_subject(name, tenant=TENANTS[0])
                except (WorldFault, CryptoWorldError, KeyRefused, TimeoutError) as fault:
                    self.failed[type(fault).__name__] += 1
                    continue
                if outcome.refused:
                    self.failed[str(outcome.reason)] += 1
                else:
                    self.forgotten.append(name)


@asynccontextmanager
async def forgetting(officer: Officer) -> AsyncIterator[None]:
    """The officer at work for the block."""
    task = asyncio.create_task(officer.run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

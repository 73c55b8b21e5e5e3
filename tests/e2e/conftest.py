"""An installation with running services, a client for each development principal, and the command line."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from eunoe.client.memory import Memory
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.topics import TopicNames
from eunoe.testing.platform import Platform, install
from eunoe.worker.embedded import running_services


@dataclass(frozen=True, slots=True)
class People:
    """The development policy's principals, each with a client of its own."""

    platform: Platform
    agent: Memory
    reviewer: Memory
    officer: Memory


@dataclass(frozen=True, slots=True)
class Program:
    """`eunoe` as another program calls it."""

    platform: Platform

    async def __call__(self, *arguments: str, code: int = 0) -> str:
        """What it prints, once it ended with ``code``."""
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "eunoe.cli.main", *arguments],
            env=self.platform.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout

    async def json(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(await self(*arguments, "--json", code=code))
        return document


@pytest.fixture
async def people(
    kafka_bootstrap: str, redis_url: str, topic_names: TopicNames, tmp_path: Path
) -> AsyncIterator[People]:
    platform = await install(kafka_bootstrap, redis_url, topic_names, tmp_path)
    async with AsyncExitStack() as closing:
        await closing.enter_async_context(running_services(platform.settings))
        clients = [
            await closing.enter_async_context(
                Memory.connect(replace(platform.settings, principal=PrincipalName(f"dev-{name}")))
            )
            for name in ("agent", "reviewer", "officer")
        ]
        yield People(platform, *clients)

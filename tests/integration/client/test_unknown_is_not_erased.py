"""What is not known is never taken for erased, nor for nothing (S32): each way that needs a key says what is wrong."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from eunoe.client.lines import line_of
from eunoe.client.memory import Memory
from eunoe.crypto.errors import KeySourceUnavailable, KeyUnknown, WrongKek
from eunoe.crypto.hierarchy import KeyKind
from eunoe.crypto.kek import create_key_file
from eunoe.readmodels.keys import stored
from eunoe.readmodels.recall.errors import KeyStillUnknown
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import PrincipalName, TenantId
from eunoe.schemas.keys import KeyRecord
from eunoe.testing.waiting import until
from eunoe.worker.embedded import running_services
from eunoe.worker.roles import Role
from shred_log import SCOPE, WHERE

ACME = TenantId("acme")


@dataclass(frozen=True, slots=True)
class Written:
    """One record in use and one that waits for a person."""

    used: str
    waits: str


@dataclass(frozen=True, slots=True)
class Clients:
    """With what they have opened gone, each time they are asked."""

    officer: Memory
    reviewer: Memory

    def forget_keys(self) -> None:
        for each in (self.officer, self.reviewer):
            each.keyring.clear()
            each.reading.reader.asker._indexes.clear()


Way = Callable[[Clients, Written], Awaitable[Any]]
OPENING: dict[str, Way] = {
    "search": lambda by, _: by.officer.search("green", **SCOPE),
    "why": lambda by, at: by.officer.why(at.used, "green", **SCOPE),
    "inspect": lambda by, _: by.officer.inspect(tenant="acme"),
    "review": lambda by, at: by.reviewer.review(at.waits, "acme"),
    "export of a person": lambda by, _: by.officer.export_subject("anna", tenant="acme", identity_checked="passport"),
    "export of a tenant": lambda by, _: by.officer.export_tenant(tenant="acme", identity_checked="contract"),
}
"""They open what is written."""
NAMING: dict[str, Way] = {
    "reviews of a person": lambda by, _: by.reviewer.reviews("acme", subject="anna"),
    "decisions of a conversation": lambda by, _: by.officer.decisions("acme", session_id="s-1"),
}
"""They need the tenant's key to know whom they are asked for."""
WRITING: dict[str, Way] = {
    "remember": lambda by, _: by.officer.remember("Prefers white tea.", subject="anna", timeout=3.0, **WHERE),
    "forget": lambda by, _: by.officer.forget_subject("anna", tenant="acme", timeout=3.0),
}
TRACES: dict[str, Way] = {"traces": lambda by, _: by.officer.traces("acme")}
LINE = WHERE | {"subject": "anna"}
ALL = OPENING | NAMING | WRITING | TRACES


@asynccontextmanager
async def clients(settings: Settings) -> AsyncIterator[Clients]:
    people = [replace(settings, principal=PrincipalName(name)) for name in ("dev-officer", "dev-reviewer")]
    async with Memory.connect(people[0]) as officer, Memory.connect(people[1]) as reviewer:
        yield Clients(officer, reviewer)


async def asked(by: Clients, at: Written, ways: Mapping[str, Way]) -> dict[str, BaseException | None]:
    """What each way raises; None: it answers."""
    found: dict[str, BaseException | None] = {}
    for name, way in ways.items():
        by.forget_keys()
        try:
            await way(by, at)
            found[name] = None
        except Exception as error:  # noqa: BLE001  # told by its type below
            found[name] = error
    return found


async def written(memory: Memory) -> Written:
    used = await memory.remember("Prefers green tea.", subject="anna", session_id="s-1", **WHERE)
    source = {"kind": "third_party", "uri": "mail://1"}
    waits = await memory.remember("Prefers black tea.", subject="anna", **(WHERE | {"source": source}))
    assert (used.kind, waits.kind) == ("MemoryAccepted", "MemoryQuarantined")
    assert (await memory.search("green", after=waits.token, **SCOPE)).records
    assert used.memory_id is not None
    assert waits.memory_id is not None
    return Written(used.memory_id, waits.memory_id)


async def test_a_decider_with_another_kek_decides_nothing_and_the_next_one_does(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    create_key_file(tmp_path / "another")
    async with Memory.connect(settings) as memory:
        async with running_services(settings) as running:
            await running.ready()
            await written(memory)
        async with running_services(replace(settings, kek_file=tmp_path / "another"), frozenset({Role.DECIDE})):
            sent = await memory.send(line_of({"op": "remember", "statement": "Prefers mint tea.", **LINE}))

            async def told() -> bool:
                return "wrapped under KEK" in caplog.text

            await until(told)
            assert await memory.outcome("acme", sent.command_id) is None
        async with running_services(settings) as running:
            await running.ready()
            outcome = await sent.outcome(30.0)
        assert (outcome.kind, outcome.reason) == ("MemoryAccepted", None)


async def traced(by: Clients) -> bool:
    """Whether a trace is there, with what was asked."""
    return any(each.query is not None for each in (await by.officer.traces("acme")).traces)


def prefix_of(installation: Installation) -> Prefix:
    return Prefix(installation.log_id, installation.partition_of(ACME), "keys")


async def lose_data_keys(redis: Redis, installation: Installation) -> None:
    """As if `keys` had folded a topic that lost some of its records."""
    prefix = prefix_of(installation)
    lost = 0
    for key in [each async for each in redis.scan_iter(f"{prefix}*", count=1_000)]:
        found = await redis.get(key) if await redis.type(key) == b"string" else None
        record = stored(None if found is None else bytes(found))  # type: ignore[arg-type]  # in bytes, as asked for
        if isinstance(record, KeyRecord) and record.kind == KeyKind.DATA:
            lost += await redis.delete(key)
    assert lost > 0


async def lose_all_keys(redis: Redis, installation: Installation) -> None:
    prefix = prefix_of(installation)
    kept = {prefix.watermark.encode(), prefix.generations.encode()}
    for key in [each async for each in redis.scan_iter(f"{prefix}*", count=1_000)]:
        if key not in kept:
            await redis.delete(key)


async def begin_anew(redis: Redis, installation: Installation) -> None:
    """As if Redis had been emptied, and `keys` were only beginning to be filled again."""
    position: Any = redis.hset(prefix_of(installation).watermark, "position", 0)
    await position


def but(found: dict[str, BaseException | None], *expected: type[BaseException] | None) -> dict[str, str]:
    """Those that raised, or answered, otherwise."""
    kinds = tuple(type(None) if each is None else each for each in expected)
    return {name: repr(error) for name, error in found.items() if not isinstance(error, kinds)}


async def test_each_way_says_what_is_wrong(settings: Settings, redis_client: Redis, tmp_path: Path) -> None:
    create_key_file(tmp_path / "another")
    async with clients(settings) as by:
        installation = by.officer.installation
        async with running_services(settings) as running:
            await running.ready()
            async with Memory.connect(settings) as agent:
                at = await written(agent)
                await until(partial(traced, by))
            answering = {name: way for name, way in ALL.items() if name != "forget"}
            assert but(await asked(by, at, answering), None) == {}, "the control: each answers"
            async with clients(replace(settings, kek_file=tmp_path / "another")) as blind:
                assert but(await asked(blind, at, ALL), WrongKek) == {}
            assert but(await asked(by, at, answering), None) == {}, "and nobody else is disturbed"
            await lose_data_keys(redis_client, installation)
            assert but(await asked(by, at, OPENING), KeyStillUnknown) == {}
            assert but(await asked(by, at, NAMING), None) == {}, "the control: the tenant's key is there"
        await begin_anew(redis_client, installation)
        assert but(await asked(by, at, ALL), KeySourceUnavailable) == {}
    await lose_all_keys(redis_client, installation)
    async with clients(settings) as by:
        reading = {name: OPENING[name] for name in ("search", "why", "inspect", "review")} | NAMING
        assert but(await asked(by, at, reading), KeyUnknown, KeyStillUnknown) == {}
        found = await by.officer.traces("acme")
        assert found.unopened == len([each for each in found.traces if each.trace.sealed]) > 0, "told apart from erased"

"""Switches are set by who may operate, say who and why, and hold in every running process within two seconds."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from eunoe.client.memory import Memory
from eunoe.client.switching import SwitchInForce, SwitchRefused, SwitchSubject, read_switches, set_switch
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.runtime.settings import Settings, SettingsError
from eunoe.schemas.ids import PrincipalName, TenantId
from eunoe.schemas.outcomes import OutcomeStatus
from eunoe.schemas.topics import TopicNames
from eunoe.schemas.values import Writing
from eunoe.testing.platform import WorkerProcess, install
from eunoe.testing.waiting import until

ACME: Final = SwitchSubject(tenant=TenantId("acme"))
EVERYTHING: Final = SwitchSubject()
FOLLOWED_S: Final = 2.0
WHERE: Final[dict[str, Any]] = {
    "tenant": "acme",
    "agent": "support-bot",
    "purposes": ["support"],
    "subject": "customer-17",
    "source": {"kind": "user_explicit", "uri": "crm://tickets/4711"},
    "ttl": "P30D",
}
ASK: Final = {"tenant": "acme", "agent": "support-bot", "purpose": "support"}


def as_(settings: Settings, name: str) -> Settings:
    return replace(settings, principal=PrincipalName(name))


async def turn(settings: Settings, subject: SwitchSubject = ACME, **change: Any) -> SwitchInForce:
    """As the one who may."""
    wanted: dict[str, Any] = {"reads": None, "writes": None, "reason": "a drill", **change}
    return await set_switch(as_(settings, "dev-officer"), subject, **wanted)


async def test_what_is_set_says_who_why_and_when_and_the_other_direction_stays(settings: Settings) -> None:
    assert await read_switches(settings) == ()
    first = await turn(settings, writes=Writing.OBSERVE, reason="trying the new extractor")
    second = await turn(settings, reads=False)
    await turn(settings, EVERYTHING, reads=True)
    await turn(settings, SwitchSubject(tenant=TenantId("acme"), purpose="sales"), writes=Writing.OFF)
    found = await read_switches(settings)
    assert [each.subject.of for each in found] == ["*", "acme", "acme/sales"]
    assert found[1] == second
    assert (second.switch.reads, second.writes) == (False, Writing.OBSERVE)
    assert (first.by, first.signer, first.reason) == ("dev-officer", "dev-control-1", "trying the new extractor")
    assert first.offset < second.offset
    assert 0 <= second.made_at - first.made_at < 60_000


@pytest.mark.parametrize(
    ("principal", "subject", "reason", "refused"),
    [
        ("dev-agent", ACME, "why", "not_allowed"),
        ("dev-reviewer", EVERYTHING, "why", "not_allowed"),
        ("nobody", ACME, "why", "not_authenticated"),
        ("dev-officer", ACME, " ", "no_reason"),
    ],
)
async def test_who_may_not_operate_or_says_no_reason_changes_nothing(
    settings: Settings, principal: str, subject: SwitchSubject, reason: str, refused: str
) -> None:
    assert settings.secrets is not None
    (settings.secrets / "nobody.secret").write_bytes((settings.secrets / "dev-officer.secret").read_bytes())
    with pytest.raises(SwitchRefused) as caught:
        await set_switch(as_(settings, principal), subject, reads=False, writes=None, reason=reason)
    assert caught.value.reason == refused
    assert await read_switches(settings) == ()
    assert await turn(settings, subject, reads=False)
    assert len(await read_switches(settings)) == 1, "the control: the same by who may"


async def test_without_the_control_key_or_a_name_nothing_is_written(settings: Settings) -> None:
    for bare in (replace(settings, control_key=None), replace(settings, principal=None)):
        with pytest.raises(SettingsError):
            await set_switch(bare, ACME, reads=False, writes=None, reason="why")
    assert await read_switches(settings) == ()


@pytest.mark.usefixtures("services")
async def test_a_switch_of_one_purpose_leaves_the_others_alone(memory: Memory, settings: Settings) -> None:
    await turn(settings, SwitchSubject(tenant=TenantId("acme"), purpose="support"), reads=False, writes=Writing.OFF)
    await until(lambda: is_refused(memory, "reads_off"), FOLLOWED_S)
    assert (await memory.remember("Prefers tea.", **WHERE)).reason == "writes_off"
    other = await memory.remember("Prefers tea.", **(WHERE | {"purposes": ["sales"]}))
    assert other.status is OutcomeStatus.ACCEPTED
    found = await memory.search("tea", after=other.token, **(ASK | {"purpose": "sales"}))
    assert len(found.records) == 1


async def test_a_worker_process_and_a_running_client_follow_within_two_seconds(
    kafka_bootstrap: str, redis_url: str, topic_names: TopicNames, tmp_path: Path
) -> None:
    platform = await install(kafka_bootstrap, redis_url, topic_names, tmp_path)
    settings = as_(platform.settings, "dev-agent")
    with platform.start_worker() as worker:
        await until(lambda: asyncio.to_thread(worker.answers, "readyz"), 60)
        async with Memory.connect(settings) as memory:
            assert (await memory.remember("Prefers tea.", **WHERE)).status is OutcomeStatus.ACCEPTED
            assert not await is_refused(memory, "reads_off")
            for writes, reads in ((Writing.OFF, False), (Writing.OBSERVE, True), (Writing.ON, False)):
                offset = (await turn(settings, reads=reads, writes=writes)).offset
                began = time.monotonic()
                await asyncio.gather(
                    until(has_read(worker, offset), FOLLOWED_S),
                    until(differs(memory, reads), FOLLOWED_S),
                )
                print(f"followed after {time.monotonic() - began:.3f} s")
                probe = await memory.remember(f"Drinks {writes} with {reads}.", **WHERE)
                assert EXPECTED[writes] == (probe.status, probe.reason)


EXPECTED: Final = {
    Writing.OFF: (OutcomeStatus.REJECTED, "writes_off"),
    Writing.OBSERVE: (OutcomeStatus.OBSERVED, None),
    Writing.ON: (OutcomeStatus.ACCEPTED, None),
}


def has_read(worker: WorkerProcess, offset: int) -> Callable[[], Awaitable[bool]]:
    """Whether the worker has read ``memory-control`` to ``offset``; its lanes judge by what it has read."""

    def passed() -> bool:
        found = re.search(r"^eunoe_control_offset(?:\{[^}]*\})? ([0-9.]+)$", worker.page("metrics"), re.MULTILINE)
        assert found is not None
        return float(found[1]) >= offset

    return lambda: asyncio.to_thread(passed)


def differs(memory: Memory, reads: bool) -> Callable[[], Awaitable[bool]]:
    async def follows() -> bool:
        return await is_refused(memory, "reads_off") is not reads

    return follows


async def is_refused(memory: Memory, reason: str) -> bool:
    try:
        await memory.search("tea", **ASK)
    except ReadRefused as refused:
        return refused.reason == reason
    return False

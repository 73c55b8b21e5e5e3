"""A policy tried on the log: what it would have decided, with nothing written and nothing forgotten opened."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.client.memory import Memory
from eunoe.client.simulating import may_simulate
from eunoe.client.switching import SwitchSubject, set_switch
from eunoe.runtime.control import following_control
from eunoe.runtime.settings import Settings
from eunoe.schemas.control import POLICY
from eunoe.schemas.events import Reason
from eunoe.schemas.ids import CommandId, MemoryId, Millis, TenantId, new_id
from eunoe.schemas.outcomes import Outcome, OutcomeStatus
from eunoe.schemas.policy_file import read_policy
from eunoe.schemas.topics import SPECS
from eunoe.schemas.values import Writing
from eunoe.testing.waiting import until
from eunoe.worker.embedded import RunningServices, running_services
from eunoe.worker.roles import Role
from eunoe.worker.simulated_report import Change, Decision, Simulation
from eunoe.worker.simulation import opened_simulator
from integration.client.test_switching import as_, is_refused

WHERE: Final[dict[str, Any]] = {
    "tenant": "acme",
    "agent": "support-bot",
    "purposes": ["support"],
    "subject": "customer-17",
    "source": {"kind": "user_explicit", "uri": "crm://tickets/4711"},
    "ttl": "P30D",
}
TOOL: Final = {"source": {"kind": "tool", "uri": "crm://tickets/4712"}}
MAIL: Final = {"source": {"kind": "third_party", "uri": "mail://1"}}
TRUSTED_TOOL: Final = '[sources.tool]\ntrust = "asserted"'


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[RunningServices]:
    """Without the shredder, which keeps ``memory-keys`` moving by itself after somebody was forgotten."""
    async with running_services(settings, frozenset({Role.DECIDE, Role.PROJECT})) as running:
        await running.ready()
        yield running


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What was written: everything but ``tool`` is decided alike under both policies of these tests."""

    plain: Outcome
    tool: Outcome
    corrected: Outcome
    waiting: Outcome
    retracted: Outcome
    forgotten: Outcome


async def live(memory: Memory, settings: Settings) -> Past:
    """A past with one of everything: accepted, corrected, repeated, refused, waiting, forgotten."""
    plain = await memory.remember("Prefers delivery after six.", **WHERE, idempotency_key="one")
    again = await memory.remember("Prefers delivery after six.", **WHERE, idempotency_key="one")
    assert again.status is OutcomeStatus.DUPLICATE
    tool = await memory.remember("Pays by invoice.", **(WHERE | TOOL))
    corrected = await memory.correct(str(plain.memory_id), "Prefers delivery before nine.", expected_version=1, **WHERE)
    stale = await memory.correct(str(plain.memory_id), "On Sundays.", expected_version=1, **WHERE)
    waiting = await memory.remember("Reads the newsletter.", **(WHERE | MAIL))
    wrong = await memory.remember("Lives abroad.", **WHERE)
    retracted = await memory.retract(str(wrong.memory_id), tenant="acme", expected_version=1)
    assert retracted.status is OutcomeStatus.DONE
    gone = await memory.remember("Has a dog.", **(WHERE | {"subject": "customer-18"}))
    async with Memory.connect(as_(settings, "dev-officer")) as officer:
        forgotten = await officer.forget_subject("customer-18", tenant="acme")
    assert (stale.status, waiting.status, gone.status, forgotten.records) == (
        OutcomeStatus.REJECTED,
        OutcomeStatus.QUARANTINED,
        OutcomeStatus.ACCEPTED,
        1,
    )
    return Past(plain=plain, tool=tool, corrected=corrected, waiting=waiting, retracted=wrong, forgotten=gone)


async def policy_text(settings: Settings, memory: Memory) -> str:
    async with following_control(settings.kafka, memory.installation, settings.control_signers) as follower:
        return follower.state.adopted[POLICY].record.body.decode()


async def simulated(settings: Settings, text: str, since: int | None = None, tenant: str | None = None) -> Simulation:
    policy = read_policy(text.encode())
    officer, of = as_(settings, "dev-officer"), None if tenant is None else TenantId(tenant)
    async with opened_simulator(officer, policy, may_simulate, of) as simulator:
        return await simulator.run(None if since is None else Millis(since))


async def ends(settings: Settings) -> Mapping[TopicPartition, int]:
    """Where every partition of every topic ends."""
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka)
    await consumer.start()
    try:
        names = [settings.topics.name(topic) for topic in SPECS]
        metadata = await consumer._client.fetch_all_metadata()
        places = [TopicPartition(name, each) for name in names for each in metadata.partitions_for_topic(name) or ()]
        found: Mapping[TopicPartition, int] = await consumer.end_offsets(places)
        assert len(found) > len(names)
        return found
    finally:
        await consumer.stop()


async def redis_keys(memory: Memory) -> set[bytes]:
    redis = memory.reading.reader.redis
    return {key async for key in redis.scan_iter(match=f"eunoe:{memory.installation.log_id}:*", count=1_000)}


Stored = tuple[Mapping[TopicPartition, int], set[bytes]]


async def settled(settings: Settings, memory: Memory) -> Stored:
    """What is stored, once the broker has written the last commit's markers and the read models have folded it."""
    seen: list[Stored] = []

    async def still() -> bool:
        seen.append((await ends(settings), await redis_keys(memory)))
        return len(seen) > 5 and all(each == seen[-1] for each in seen[-5:])

    await until(still)
    return seen[-1]


async def test_a_stricter_policy_turns_accepted_into_quarantined_and_nothing_is_written(
    memory: Memory, settings: Settings
) -> None:
    past = await live(memory, settings)
    text = await policy_text(settings, memory)
    assert TRUSTED_TOOL in text
    before = await settled(settings, memory)
    same = await simulated(settings, text)
    strict = await simulated(settings, text.replace(TRUSTED_TOOL, '[sources.tool]\ntrust = "untrusted"'))
    assert (await ends(settings), await redis_keys(memory)) == before

    assert (same.changes, same.then, same.now) == ([], same.now, same.then), "the control: nothing else differs"
    assert same.now["quarantined"] == 1
    (change,) = strict.changes
    assert (change.memory_id, change.command) == (past.tool.memory_id, "RememberMemory")
    assert (change.then.outcome, change.then.reasons) == ("accepted", ())
    assert (change.now.outcome, change.now.reasons) == ("quarantined", (Reason.UNTRUSTED_SOURCE,))
    assert strict.now["accepted"] == strict.then["accepted"] - 1
    assert strict.reasons_now["quarantined", "untrusted_source"] == 2
    assert strict.reasons_then["quarantined", "untrusted_source"] == 1

    written = await memory.remember("Sees the end offsets move.", **WHERE)
    assert written.status is OutcomeStatus.ACCEPTED
    assert await ends(settings) != before[0], "the control: a write would have been seen"


async def test_what_was_forgotten_since_is_counted_and_not_judged(memory: Memory, settings: Settings) -> None:
    past = await live(memory, settings)
    text = await policy_text(settings, memory)
    # Under this one no draft would be accepted at all, so every draft that is judged is a change.
    found = await simulated(settings, text.replace("statement_chars = 4000", "statement_chars = 2"))
    changed = {each.memory_id for each in found.changes if each.then.outcome in ("accepted", "quarantined")}
    assert changed == {each.memory_id for each in (past.plain, past.tool, past.corrected, past.waiting, past.retracted)}
    assert past.forgotten.memory_id not in {each.memory_id for each in found.changes}
    assert (found.forgotten, found.unreadable) == (1, 0)


async def test_what_the_policy_would_have_refused_is_not_there_for_what_came_later(
    memory: Memory, settings: Settings
) -> None:
    past = await live(memory, settings)
    found = await simulated(settings, (await policy_text(settings, memory)).replace("[kinds.fact]", "[kinds.other]", 1))
    (correction,) = [each for each in found.changes if each.memory_id == past.corrected.memory_id]
    assert correction.now == Decision(outcome="rejected", reasons=("unknown_kind",), field="kind")
    assert found.now["accepted"] == 0


async def test_since_starts_there_on_the_state_that_the_log_had(memory: Memory, settings: Settings) -> None:
    past = await live(memory, settings)
    text = await policy_text(settings, memory)
    everything = await simulated(settings, text)
    found = await simulated(settings, text, since=past.corrected.decided_at)
    assert found.changes == [], "the correction finds what it corrects, which was written before"
    assert 0 < found.judged < everything.judged
    assert (found.then["duplicate"], everything.then["duplicate"]) == (0, 1)


async def test_of_one_tenant_only_its_own_commands_are_judged(memory: Memory, settings: Settings) -> None:
    await live(memory, settings)
    other = await memory.remember("Prefers tea.", **(WHERE | {"tenant": "beta"} | TOOL))
    text = (await policy_text(settings, memory)).replace(TRUSTED_TOOL, '[sources.tool]\ntrust = "untrusted"')
    found = await simulated(settings, text, tenant="beta")
    assert [each.memory_id for each in found.changes] == [other.memory_id]
    assert (found.then["accepted"], len((await simulated(settings, text)).changes)) == (1, 2)


async def test_a_body_whose_key_is_gone_is_counted_as_unreadable(memory: Memory, settings: Settings) -> None:
    await live(memory, settings)
    text = await policy_text(settings, memory)
    assert (await simulated(settings, text)).unreadable == 0
    redis = memory.reading.reader.redis
    keys = [each for each in await redis_keys(memory) if b":keys:" in each and b":key:" in each]
    assert keys
    await redis.delete(*keys)
    found = await simulated(settings, text)
    assert (found.unreadable, found.forgotten) == (7, 1)
    assert found.changes == [], "what refers to such a record, here a retraction, finds it as the log has it"
    assert found.now["done"] == found.then["done"] > 0


async def test_who_has_no_place_in_the_policy_sent_dead_letters(memory: Memory, settings: Settings) -> None:
    past = await live(memory, settings)
    text = (await policy_text(settings, memory)).replace('id = "dev-agent-1"', 'id = "dev-agent-2"')
    found = await simulated(settings, text)
    assert len(found.missing) == 1
    changed: dict[MemoryId | None, Decision] = {each.memory_id: each.now for each in found.changes}
    assert changed[past.tool.memory_id] == Decision(outcome="dead_letter", reasons=("unauthenticated",))


async def test_switches_are_taken_as_the_log_shows_them(memory: Memory, settings: Settings) -> None:
    acme = SwitchSubject(tenant=TenantId("acme"))
    officer = as_(settings, "dev-officer")
    await memory.remember("Prefers tea.", **WHERE)
    await set_switch(officer, acme, reads=False, writes=Writing.OBSERVE, reason="a drill")
    await until(lambda: is_refused(memory, "reads_off"))
    assert (await memory.remember("Takes sugar.", **(WHERE | TOOL))).status is OutcomeStatus.OBSERVED
    await set_switch(officer, acme, reads=True, writes=Writing.OFF, reason="a drill")

    async def off() -> bool:
        return (await memory.remember("Takes milk.", **(WHERE | TOOL))).reason == "writes_off"

    await until(off)
    text = await policy_text(settings, memory)
    assert (await simulated(settings, text)).changes == []
    found = await simulated(settings, text.replace(TRUSTED_TOOL, '[sources.tool]\ntrust = "untrusted"'))
    observed = {(each.then.outcome, each.now.outcome, *each.now.reasons) for each in found.changes}
    assert observed == {("observed_accepted", "observed_quarantined", "untrusted_source")}


@pytest.mark.parametrize("as_json", [True, False])
def test_the_command_shows_it(
    as_json: bool, tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from eunoe.cli import policy_simulation
    from eunoe.cli.main import main
    from unit.policy.test_policy_file import DEVELOPMENT

    file = tmp_path / "policy.toml"
    file.write_text(DEVELOPMENT)
    found = Simulation(forgotten=2)
    accepted = Decision(outcome="accepted", trust="asserted")
    waits = Decision(outcome="quarantined", reasons=("untrusted_source",), trust="untrusted")
    found.count(accepted, waits)
    memory_id = MemoryId(new_id())
    at, command_id = Millis(0), CommandId(new_id())
    acme, kind = TenantId("acme"), "RememberMemory"
    found.changes.append(
        Change(tenant=acme, memory_id=memory_id, command=kind, command_id=command_id, at=at, then=accepted, now=waits)
    )

    async def simulation(*_: object) -> Simulation:
        return found

    monkeypatch.setattr(policy_simulation, "_simulate", simulation)
    with pytest.raises(SystemExit) as ended:
        main(["policy", "simulate", str(file), *(["--json"] if as_json else [])])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    if as_json:
        document = json.loads(out)
        assert (document["then"], document["now"]) == ({"accepted": 1}, {"quarantined": 1})
        assert document["reasons"]["now"] == {"quarantined": {"untrusted_source": 1}}
        assert document["skipped"] == {"forgotten": 2, "unreadable": 0}
    else:
        assert "untrusted_source" in out
        assert "2 forgotten since" in out
        assert memory_id in out, "whole, whatever the width"

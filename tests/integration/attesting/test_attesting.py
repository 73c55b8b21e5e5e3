"""An erasure is proved in stages, each receipt signed, chained and checked anew; a restored log is refused."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.client.memory import Memory
from eunoe.client.receipts import receipts_of, receipts_until
from eunoe.crypto.receipts import BadReceipt, receipt_document, verified_statement
from eunoe.operations.forgetting_again import ForgottenAgain, NotForgottenAgain, forget_again
from eunoe.processors.attesting.erasure_ledger import RESTORING, Closing, ErasureLedger
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.runtime.principals import control_signer
from eunoe.runtime.settings import Settings, SettingsError
from eunoe.schemas.ids import EventId, Offset, Partition, PrincipalName, Pseudonym, TenantId, new_id
from eunoe.schemas.receipts import BY_ITSELF, FIRST, WORDING, Stage, receipt_hash
from eunoe.schemas.topics import Topic
from eunoe.worker.embedded import RunningServices, running_services
from eunoe.worker.older_log import OlderLog, RestoreUnfinished
from eunoe.worker.roles import ALL, Role

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
WRITE: dict[str, Any] = {
    "tenant": "acme",
    "agent": "bot",
    "purposes": ["support"],
    "source": {"kind": "user_explicit", "uri": "crm://1"},
    "ttl": "P30D",
}
SCOPE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purpose": "support"}


async def remember(memory: Memory, subject: str, text: str, **more: Any) -> None:
    outcome = await memory.remember(
        text,
        tenant="acme",
        agent="bot",
        purposes=["support"],
        subject=subject,
        source={"kind": "user_explicit", "uri": "crm://1"},
        ttl="P30D",
        **more,
    )
    assert not outcome.refused, outcome


def public_key(settings: Settings) -> bytes:
    assert settings.attest_key is not None
    return control_signer(settings.attest_key).verifier().public


async def test_a_forgotten_person_is_proved_gone_and_the_others_are_not(
    settings: Settings, services: RunningServices, memory: Memory, officer: Memory
) -> None:
    for subject in ("tobias", "maren"):
        await remember(memory, subject, f"{subject} likes kittiwakes.")
    await remember(memory, "maren", "Maren and Tobias share a flat.", about=["tobias"])
    outcome = await officer.forget_subject("tobias", tenant="acme")
    found = await receipts_until(settings, memory.installation, ACME, [outcome.command_id], Stage.SCANNED, 60)

    assert [receipt_document(each)["statement"]["stage"] for each in found] == ["logical", "compacted", "scanned"]
    previous = FIRST
    for number, record in enumerate(found, start=1):
        statement = verified_statement(receipt_document(record), public_key(settings))
        assert statement["claim"] == WORDING, statement
        assert (record.sequence, statement["previous"]) == (number, previous)
        previous = receipt_hash(record)
        text = record.body.decode()
        assert "tobias" not in text
        assert "kittiwake" not in text
    compacted, scanned = (receipt_document(each)["statement"]["checks"] for each in found[1:])
    # Root and month's key of Tobias, and the key of the record that is about both.
    assert compacted[0]["keys"] == 3
    assert compacted[1]["passed"]
    checks = {each["check"].split(":")[0]: each for each in scanned}
    assert checks["the same scan found keys of the generation before they were destroyed"]["found_before"] >= 1
    assert checks["the same scan found a live control key"]["passed"]
    assert any("Redis's own files" in each["check"] and each["passed"] for each in scanned)
    (still,) = (await memory.search("kittiwakes", **SCOPE)).records
    assert still.statement == "maren likes kittiwakes."

    entries = ErasureLedger(settings.erasure_ledger).entries() if settings.erasure_ledger else ()
    assert len(entries) == 1


async def test_two_erasures_make_one_chain_and_a_restart_proves_nothing_twice(
    settings: Settings, services: RunningServices, memory: Memory, officer: Memory
) -> None:
    for subject in ("one", "two"):
        await remember(memory, subject, "Something.")
    first = await officer.forget_subject("one", tenant="acme")
    await receipts_until(settings, memory.installation, ACME, [first.command_id], Stage.LOGICAL, 30)
    async with running_services(settings, frozenset({Role.ATTEST})):
        second = await officer.forget_subject("two", tenant="acme")
        for each in (first, second):
            await receipts_until(settings, memory.installation, ACME, [each.command_id], Stage.SCANNED, 60)
    found = await receipts_of(settings, memory.installation, ACME)
    assert [each.sequence for each in found] == [1, 2, 3, 4, 5, 6]
    previous = FIRST
    stages = set()
    for record in found:
        statement = receipt_document(record)["statement"]
        assert statement["previous"] == previous
        previous = receipt_hash(record)
        stages.add((statement["request"], statement["stage"]))
    assert len(stages) == 6


async def test_those_who_wait_together_are_proved_together_each_with_receipts_of_their_own(settings: Settings) -> None:
    """One transaction, so one marker on the topic beside its receipts, for as many as wait for a stage."""
    people, stages = 12, len(BY_ITSELF)
    async with (
        running_services(settings, ALL - {Role.ATTEST}) as running,
        Memory.connect(settings) as memory,
        Memory.connect(replace(settings, principal=PrincipalName("dev-officer"))) as officer,
    ):
        await running.ready()
        for number in range(people):
            await remember(memory, f"person-{number}", "Something.")
        requests = [
            (await officer.forget_subject(f"person-{number}", tenant="acme")).command_id for number in range(people)
        ]
        async with running_services(settings, frozenset({Role.ATTEST})):
            for each in requests:
                await receipts_until(settings, memory.installation, ACME, [each], Stage.SCANNED, 60)
    found = await receipts_of(settings, memory.installation, ACME)
    statements = [verified_statement(receipt_document(each), public_key(settings)) for each in found]
    assert {(each["request"], each["stage"]) for each in statements} == {
        (request, stage.value) for request in requests for stage in BY_ITSELF
    }
    assert [each["sequence"] for each in statements] == list(range(1, people * stages + 1))
    assert [each["previous"] for each in statements] == [FIRST, *map(receipt_hash, found[:-1])]
    markers = await end_of(settings, Topic.RECEIPTS) - len(found)
    assert stages <= markers <= 2 * stages, "at most one more round for what came while the first was made"
    assert settings.erasure_ledger is not None
    entries = ErasureLedger(settings.erasure_ledger).entries()
    entered = {each.closing.offset: each.number for each in entries if each.closing is not None}
    assert sorted(entered.values()) == list(range(1, people + 1))
    logical = [each for each in statements if each["stage"] == Stage.LOGICAL]
    assert [entered[each["closed_at_offset"]] for each in logical] == [each["checks"][0]["entry"] for each in logical]


async def end_of(settings: Settings, topic: Topic) -> int:
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka)
    await consumer.start()
    try:
        place = TopicPartition(settings.topics.name(topic), 0)
        return int((await consumer.end_offsets([place]))[place])
    finally:
        await consumer.stop()


async def test_without_log_directories_a_receipt_says_that_nothing_was_scanned(settings: Settings) -> None:
    blind = replace(settings, kafka_log_dirs=())
    async with (
        running_services(blind) as running,
        Memory.connect(blind) as memory,
        Memory.connect(replace(blind, principal="dev-officer")) as officer,  # type: ignore[arg-type]
    ):
        await running.ready()
        await remember(memory, "tobias", "Something.")
        outcome = await officer.forget_subject("tobias", tenant="acme")
        found = await receipts_until(blind, memory.installation, ACME, [outcome.command_id], Stage.SCANNED, 60)
    last = receipt_document(found[-1])["statement"]
    assert (last["stage"], last["claim"]) == ("scanned", "not proved at this stage")
    assert [each["passed"] for each in last["checks"]] == [False, True]
    assert "not scanned" in last["checks"][0]["check"]


async def test_what_was_changed_since_is_no_receipt(
    settings: Settings, services: RunningServices, memory: Memory, officer: Memory
) -> None:
    await remember(memory, "tobias", "Something.")
    outcome = await officer.forget_subject("tobias", tenant="acme")
    (record, *_) = await receipts_until(settings, memory.installation, ACME, [outcome.command_id], Stage.LOGICAL, 60)
    document = receipt_document(record)
    assert verified_statement(document, public_key(settings))["stage"] == "logical"
    statement = document["statement"]
    for changed in (
        {**document, "statement": {**statement, "claim": "deleted for ever"}},
        {**document, "sequence": 2, "statement": {**statement, "sequence": 2}},
        {**document, "more": "things"},
    ):
        with pytest.raises(BadReceipt):
            verified_statement(changed, public_key(settings))
    with pytest.raises(BadReceipt, match="signature"):
        verified_statement(document, b"\x01" * 32)


async def test_a_log_from_before_a_forgetting_is_refused(
    settings: Settings, services: RunningServices, memory: Memory
) -> None:
    assert settings.erasure_ledger is not None
    log_id = memory.installation.log_id
    ledger = ErasureLedger(settings.erasure_ledger)
    async with running_services(settings, frozenset({Role.PROJECT})):
        pass
    await asyncio.to_thread(ledger.append, log_id, closing_that_is_lost(Pseudonym("0" * 32)))
    with pytest.raises(OlderLog, match="restored from before"):
        async with running_services(settings, frozenset({Role.PROJECT})):
            pass


def closing_that_is_lost(subject: Pseudonym | None, tenant: TenantId = ACME, generation: int = 1) -> Closing:
    """What the ledger says of an event that the restored log does not have."""
    return Closing(
        partition=Partition(0),
        offset=Offset(40_000),
        event_id=EventId(new_id()),
        tenant=tenant,
        subject=subject,
        generation=generation,
    )


async def test_who_was_forgotten_after_the_backup_is_forgotten_again_before_anything_is_served(
    settings: Settings,
) -> None:
    assert settings.erasure_ledger is not None
    ledger = ErasureLedger(settings.erasure_ledger)
    officer = replace(settings, principal=PrincipalName("dev-officer"))
    async with running_services(settings) as services, Memory.connect(settings) as memory:
        await services.ready()
        for subject in ("tobias", "maren"):
            await remember(memory, subject, f"{subject} likes kittiwakes.")
        assert not (await memory.remember("All like kittiwakes.", **(WRITE | {"tenant": GLOBEX}))).refused
        keys = await memory.keyring.tenant(ACME)
        log_id = memory.installation.log_id
    assert await forget_again(officer, empty_redis=False) == ForgottenAgain()
    for pseudonym in (keys.pseudonym("tobias"), keys.pseudonym("nobody")):
        ledger.append(log_id, closing_that_is_lost(pseudonym))
    for incarnation in (1, 2):  # the second of which this log has never seen
        ledger.append(log_id, closing_that_is_lost(None, GLOBEX, incarnation))
    with pytest.raises(OlderLog, match="--forget-again"):
        async with running_services(settings):
            pass
    # Killed after it had begun: nothing is served before it has come to its end.
    ledger.mark(log_id, RESTORING)
    with pytest.raises(RestoreUnfinished):
        async with running_services(settings):
            pass
    with pytest.raises(NotForgottenAgain, match="only asked for"):
        await forget_again(settings, empty_redis=False)
    with pytest.raises(RestoreUnfinished):
        async with running_services(settings):
            pass
    done = await forget_again(officer, empty_redis=False)
    assert done == ForgottenAgain(missing=3, forgotten=2, settled=1), "of nobody nothing was left the first time"
    async with running_services(settings) as services, Memory.connect(settings) as memory:
        await services.ready()
        (left,) = (await memory.search("kittiwakes", **SCOPE)).records
        assert left.statement == "maren likes kittiwakes."
        again = await memory.remember("Back.", subject="tobias", **WRITE)
        assert again.reason == "subject_closed"
        with pytest.raises(ReadRefused, match="tenant_forgotten"):
            await memory.search("kittiwakes", **(SCOPE | {"tenant": GLOBEX}))
    assert await forget_again(officer, empty_redis=False) == ForgottenAgain()


async def test_the_role_says_what_it_needs(settings: Settings) -> None:
    with pytest.raises(SettingsError, match=r"EUNOE_ATTEST_KEY.*\nEUNOE_ERASURE_LEDGER"):
        async with running_services(replace(settings, attest_key=None, erasure_ledger=None)):
            pass

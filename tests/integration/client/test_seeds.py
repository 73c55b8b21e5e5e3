"""A start-up file on a real worker: its records are judged like any others, and once."""

from dataclasses import replace
from typing import Any

from eunoe.client.contract import memory_record
from eunoe.client.ingesting import ingest
from eunoe.client.memory import Memory
from eunoe.client.rendering import render
from eunoe.client.seed_file import SeedScope, read_seeds, seed_lines, seed_memory_id
from eunoe.runtime.settings import Settings
from eunoe.schemas.contract.review import QuarantineState, WriteTrustBoundary
from eunoe.schemas.ids import PrincipalName, TenantId
from eunoe.schemas.outcomes import OutcomeStatus
from eunoe.testing.waiting import until

FILE = """\
memory:
  seed_records:
    - {tenant_id: acme, memory_class: profile, kind: language_preference, content: Prefers concise English answers.,
       source: trusted_profile, confidence: 0.95, provenance: user_confirmed_preference}
    - {tenant_id: acme, memory_class: long_term, kind: validated_fact, content: Tickets use the support queue.,
       source: trusted_service, confidence: 0.92, provenance: validated_service_rule}
    - {tenant_id: acme, memory_class: short_term, kind: working_note, content: The last run used one tool.,
       source: session_state}
    - {tenant_id: acme, memory_class: long_term, kind: note, content: Somebody said tea., source: a web page}
    - {tenant_id: acme, memory_class: forever, kind: note, content: No class of ours., source: session_state}
"""
SCOPE = SeedScope(agent="bot", purposes=("support",), ttl="P30D")
AS: dict[str, Any] = {"agent": "bot", "purpose": "support"}


async def test_a_start_up_file_is_ingested_once_however_often_it_is_read(memory: Memory) -> None:
    report = await ingest(memory, seed_lines(FILE.encode(), SCOPE))
    assert (report.accepted, report.quarantined, report.duplicate) == (3, 1, 0)
    assert [(each.line, each.problem) for each in report.failed] == [
        (5, "class: must be one of short_term, long_term, profile")
    ]

    again = await ingest(memory, seed_lines(FILE.encode(), SCOPE))
    assert (again.accepted, again.quarantined, again.duplicate) == (0, 0, 4)
    changed = await ingest(memory, seed_lines(FILE.replace("concise", "long").encode(), SCOPE))
    assert (changed.accepted, changed.duplicate, dict(changed.rejected)) == (0, 3, {"idempotency_mismatch": 1})

    async def found() -> bool:
        result = await memory.search("English answers queue tool tea", tenant="acme", agent="bot", purpose="support")
        return {each.external_id: (each.kind, each.version) for each in result.records} == {
            "mem-001": ("preference", 1),
            "mem-002": ("fact", 1),
            "mem-003": ("note", 1),
        }

    await until(found, 10)


async def test_what_a_review_released_says_so_and_is_shown_for_what_it_is(memory: Memory, settings: Settings) -> None:
    await ingest(memory, seed_lines(FILE.encode(), SCOPE))
    waiting = seed_memory_id(read_seeds(FILE.encode())[3], SCOPE.agent)
    async with Memory.connect(replace(settings, principal=PrincipalName("dev-reviewer"))) as reviewer:
        outcome = await reviewer.promote(waiting, tenant="acme", expected_version=1)
    assert outcome.status is OutcomeStatus.DONE
    result = await memory.search("tea tickets", tenant="acme", agent="bot", purpose="support", after=outcome.token)

    async def told() -> bool:
        entries = (await memory.history("acme", waiting, **AS)).entries
        return [each.kind for each in entries] == ["MemoryQuarantined", "MemoryPromoted"]

    await until(told, 10)
    documents = {
        each.external_id: memory_record(each, TenantId("acme"), await memory.history("acme", each.memory_id, **AS))
        for each in result.records
    }
    assert {name: (each.write_trust_boundary, each.quarantine_state) for name, each in documents.items()} == {
        "mem-002": (WriteTrustBoundary.TRUSTED_WRITE, QuarantineState.NONE),
        "mem-004": (WriteTrustBoundary.UNTRUSTED_WRITE, QuarantineState.RELEASED),
    }
    block = render(result)
    assert "Somebody said tea." in block
    assert '"labels": ["reviewed"' in block

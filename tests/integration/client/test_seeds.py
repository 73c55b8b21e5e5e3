"""A start-up file on a real worker: its records are judged like any others, and once."""

from eunoe.client.ingesting import ingest
from eunoe.client.memory import Memory
from eunoe.client.seed_file import SeedScope, seed_lines
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

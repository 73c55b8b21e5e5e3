"""A client that had written about a person before notices that they were forgotten and readmitted meanwhile."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from eunoe.client.ingesting import ingest
from eunoe.client.memory import Memory
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import PrincipalName
from eunoe.worker.embedded import RunningServices

SOURCE = {"kind": "user_explicit", "uri": "crm://1"}
WHERE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purposes": ["support"], "source": SOURCE, "ttl": "P30D"}
SCOPE = {"tenant": "acme", "agent": "bot", "purpose": "support"}
LINE = (
    b'{"op": "remember", "tenant": "acme", "agent": "bot", "purposes": ["support"], "subject": "anna",'
    b' "statement": "Prefers milk.", "source": {"kind": "user_explicit", "uri": "crm://1"}, "ttl": "P30D"}'
)


@pytest.fixture
async def officer(settings: Settings, services: RunningServices) -> AsyncIterator[Memory]:
    async with Memory.connect(replace(settings, principal=PrincipalName("dev-officer"))) as memory:
        yield memory


async def test_an_old_client_writes_about_a_readmitted_person(memory: Memory, officer: Memory) -> None:
    first = await memory.remember("Prefers tea.", subject="anna", **WHERE)
    assert not first.refused
    assert not (await officer.forget_subject("anna", tenant="acme")).refused
    # Nobody is readmitted yet: the client asks again, and the answer stays no.
    closed = await memory.remember("Prefers coffee.", subject="anna", **WHERE)
    assert (closed.reason, closed.field) == ("subject_closed", "subject")
    assert not (await officer.readmit("anna", tenant="acme")).refused
    again = await memory.remember("Prefers water.", subject="anna", idempotency_key="k-1", **WHERE)
    assert not again.refused, again.reason
    repeated = await memory.remember("Prefers water.", subject="anna", idempotency_key="k-1", **WHERE)
    assert repeated.first_command_id == again.command_id
    found = await memory.search("prefers", **SCOPE, after=again.token)
    assert [each.statement for each in found.records] == ["Prefers water."]


async def test_a_file_ingested_by_an_old_client_after_readmission(memory: Memory, officer: Memory) -> None:
    assert not (await memory.remember("Prefers tea.", subject="anna", **WHERE)).refused
    assert not (await officer.forget_subject("anna", tenant="acme")).refused
    assert not (await officer.readmit("anna", tenant="acme")).refused
    report = await ingest(memory, [LINE, LINE.replace(b"milk", b"juice")])
    assert (report.accepted, dict(report.rejected)) == (2, {})

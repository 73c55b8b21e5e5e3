"""A tenant moves to another installation as it was; the forgotten do not come back, and what was altered waits."""

import asyncio
import json
import subprocess
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from e2e.conftest import People
from eunoe.client.lines import line_of
from eunoe.client.memory import Memory
from eunoe.readmodels.review_items import Quarantined
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.outcomes import Outcome
from eunoe.schemas.topics import TopicNames
from eunoe.testing.platform import Platform, install
from eunoe.worker.embedded import running_services

SOURCE: Final = {"kind": "user_explicit", "uri": "crm://1"}
WHERE: Final[dict[str, Any]] = {"tenant": "acme", "agent": "bot", "purposes": ["support"], "ttl": "P30D"}
SCOPE: Final = {"tenant": "acme", "agent": "bot", "purpose": "support"}
CHECKED: Final = "the move was ordered by the owner, M. Huber"
WHO: Final = ("imported_by", "imported_at", "position")


async def _written(memory: Memory, reviewer: Memory) -> dict[str, str]:
    """Memory ids by what each is an example of."""
    ids: dict[str, str] = {}

    async def say(name: str, statement: str, subject: str | None = "anna", **more: Any) -> Outcome:
        fields = {"source": SOURCE, "statement": statement, "subject": subject} | WHERE | more
        outcome = await memory.perform(line_of({"op": "remember", **fields}))
        assert outcome.memory_id is not None, outcome
        ids[name] = outcome.memory_id
        return outcome

    mail = SOURCE | {"kind": "third_party"}
    await say("old", "Prefers tea.", key="drink")
    await say("now", "Prefers milk tea.", supersedes=ids["old"], expected_version=1, key="drink")
    await say("waits", "Has moved to Graz.", source=mail)
    await say("both", "Anna plays chess with Boris.", about=["boris"])
    await say("boris", "Prefers rum.", "boris", confidence=0.75, visibility="shared")
    await say("house", "The shop closes at six.", None)
    await say("back", "Has a dog.")
    await say("let in", "Likes jazz.", source=mail)
    await say("kept out", "Likes noise.", source=mail)
    await say("gone", "Is allergic to nuts.")
    await say("sum", "Plays for a drink.", derived_from=[{"memory_id": ids["boris"], "version": 1}])
    done = (
        await memory.retract(ids["back"], tenant="acme", expected_version=1),
        await reviewer.promote(ids["let in"], tenant="acme", expected_version=1),
        await reviewer.reject(ids["kept out"], tenant="acme", expected_version=1, reason="noise"),
    )
    assert not any(each.refused for each in done), done
    return ids


async def _program(platform: Platform, *arguments: str, code: int = 0) -> dict[str, Any]:
    """What the command prints as JSON, once it ended with ``code``."""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "eunoe.cli.main", *arguments, "--json", "--as", "dev-officer"],
        env=platform.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


async def _seen(memory: Memory, ids: dict[str, str], **more: Any) -> dict[str, Any]:
    """All that its read models say of the records, but who brought them in and where they lie."""
    held = await memory.inspect(tenant="acme", agent="bot", purpose="support", **more)
    seen: dict[str, Any] = {"held": {each.record.memory_id: each.record for each in held.records}}
    for memory_id in ids.values():
        entries = (await memory.history("acme", memory_id)).entries
        plain = [msgspec.to_builtins(each) for each in entries]
        for entry in plain:
            for name in (*WHO, "subjects", "by_lineage"):
                entry.pop(name, None)
        seen[memory_id] = plain
    return seen


async def _waiting(reviewer: Memory, tenant: str) -> list[Quarantined]:
    return [each for each in (await reviewer.reviews(tenant)).items if isinstance(each, Quarantined)]


async def test_a_tenant_moves_as_it_was_and_nothing_that_was_forgotten_or_altered_comes_with_it(
    people: People, topic_names: TopicNames, tmp_path: Path
) -> None:
    ids = await _written(people.agent, people.reviewer)
    await people.officer.forget_memory(ids.pop("gone"), tenant="acme")
    file, settings = tmp_path / "acme.jsonl", people.platform.settings
    counts = (
        await _program(people.platform, "export", "--tenant", "acme", "--identity-checked", CHECKED, "--out", str(file))
    )["counts"]
    assert (counts["records"], counts["left out (forgotten)"]) == (10, 1)
    first = await people.officer.export_tenant(tenant="acme", identity_checked=CHECKED)
    there = await install(settings.kafka, settings.redis, TopicNames(prefix=f"{topic_names.prefix}b-"), tmp_path)
    async with AsyncExitStack() as closing:
        await closing.enter_async_context(running_services(there.settings))
        agent, reviewer, officer = [
            await closing.enter_async_context(
                Memory.connect(replace(there.settings, principal=PrincipalName(f"dev-{name}")))
            )
            for name in ("agent", "reviewer", "officer")
        ]
        report = await _program(there, "import", str(file))
        assert (report["complete"], report["restored"]) == (True, 13)
        second = await officer.export_tenant(tenant="acme", identity_checked=CHECKED)
        assert second.head["statement"]["digest"] == first.head["statement"]["digest"]
        after = (await agent.remember("Is new here.", source=SOURCE, **WHERE)).token
        ours, theirs = await _seen(people.reviewer, ids), await _seen(reviewer, ids, after=after)
        (new,) = set(theirs["held"]) - set(ours["held"])
        del theirs["held"][new]
        assert theirs == ours
        assert [each.memory_id for each in await _waiting(reviewer, "acme")] == [ids["waits"]]
        (found,) = (await agent.search("milk", subject="anna", **SCOPE)).records
        assert (found.statement, found.version, found.memory_id) == ("Prefers milk tea.", 1, ids["now"])
        again = await officer.import_file(file.read_bytes(), tenant="acme")
        assert (again.complete, again.restored, again.already_here) == (True, 0, 13)

        await officer.forget_memory(ids["house"], tenant="acme")
        gone = await officer.forget_subject("anna", tenant="acme")
        back = await officer.import_file(file.read_bytes())
        assert (back.restored, back.quarantined, set(back.refused)) == (0, 0, {"erased"})
        assert set(back.refused_records) == {ids[each] for each in ids if each != "boris"}
        records = (await agent.search("tea chess dog shop jazz", after=gone.token, **SCOPE)).records
        assert [each.statement for each in records if each.memory_id in ids.values()] == []

        altered = await officer.import_file(file.read_bytes().replace(b'"acme"', b'"other"'))
        assert (altered.restored, altered.quarantined, altered.complete) == (0, 7, False)
        waiting = await _waiting(reviewer, "other")
        assert [(each.reasons[0], each.trust.value) for each in waiting] == [("unproven_import", "untrusted")] * 7

"""`eunoe search` with its filters, `why`, `inspect-memory` and `traces`, as a program calls them."""

import asyncio
import json
import sys
from typing import Any

from e2e.conftest import People
from eunoe.client.memory import Memory
from eunoe.schemas.ids import MemoryId

SCOPE = ("--tenant", "acme", "--agent", "bot", "--purpose", "support")
WHERE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purposes": ["support"], "ttl": "P30D"}


class Program:
    def __init__(self, people: People) -> None:
        self._environ = people.platform.environ

    async def text(self, *arguments: str, by: str = "dev-agent") -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "eunoe.cli.main", *arguments, "--as", by),
            env=self._environ,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert b"Traceback" not in err, err
        return process.returncode or 0, out.decode()

    async def __call__(self, *arguments: str, by: str = "dev-agent") -> tuple[int, dict[str, Any]]:
        code, out = await self.text(*arguments, "--json", by=by)
        return code, json.loads(out)


async def remember(memory: Memory, statement: str, **over: Any) -> tuple[MemoryId, str]:
    source = {"kind": "user_explicit", "uri": "crm://1"}
    outcome = await memory.remember(statement, **({"source": source} | WHERE | over))
    assert outcome.memory_id is not None, outcome
    return outcome.memory_id, outcome.token


async def test_a_search_takes_every_filter_and_says_what_it_left_out(people: People) -> None:
    eunoe = Program(people)
    tea, _ = await remember(people.agent, "Prefers tea.", subject="anna")
    await remember(people.agent, "Prefers tea at night.", surfaces=["mail"])
    _, token = await remember(people.agent, "Prefers tea at noon.", kind="note", **{"class": "short_term"})
    after = ("--after", token)
    code, found = await eunoe("search", "tea", *SCOPE, *after)
    assert (code, len(found["records"]), found["excluded"]) == (0, 2, {"surface": 1})
    assert (found["traced"], found["policy_version"], found["control_offset"]) == (True, 1, 0)
    code, found = await eunoe("search", "tea", *SCOPE, "--surface", "mail", "--session-id", "s-1")
    assert (code, len(found["records"]), found["session_id"]) == (0, 3, "s-1")
    code, found = await eunoe("search", "tea", *SCOPE, "--class", "long_term", "--min-trust", "medium")
    assert [each["memory_id"] for each in found["records"]] == [tea]
    assert found["records"][0]["reasons"][0] == "term"
    assert found["excluded"] == {"class": 1, "surface": 1}
    code, found = await eunoe("search", "tea", *SCOPE, "--min-trust", "verified", "--require-provenance")
    assert (found["records"], found["excluded"]) == ([], {"trust": 3})
    _, found = await eunoe("search", "tea", *SCOPE, "--max-age", "PT0S")
    assert (found["records"], found["excluded"]["too_old"]) == ([], 3)
    for wrong in (("--min-trust", "very"), ("--class", "none"), ("--max-age", "P1Y"), ("--session-id", "a b")):
        assert (await eunoe("search", "tea", *SCOPE, *wrong))[0] == 2


async def test_why_inspect_and_traces_answer_for_a_record(people: People) -> None:
    eunoe = Program(people)
    old, _ = await remember(people.agent, "Delivery at noon.", key="delivery.window", subject="anna")
    new, token = await remember(people.agent, "Delivery at night.", key="delivery.window", subject="anna")
    waiting, token = await remember(people.agent, "Delivery!", source={"kind": "third_party", "uri": "mail://1"})
    _, found = await eunoe("search", "delivery", *SCOPE, "--after", token)
    assert {each["memory_id"]: each["conflicts"] for each in found["records"]} == {old: [new], new: [old]}
    code, shown = await eunoe.text("search", "delivery", *SCOPE)
    assert "in conflict with" in shown
    assert "confirmed" in shown

    code, why = await eunoe("why", old, "--query", "delivery", *SCOPE)
    assert (code, why["selected"], why["because"], why["rank"], why["ranked"]) == (0, True, "selected", 2, 2)
    assert why["terms"][0]["name"].startswith("term:")
    assert why["conflicts"] == [new]
    code, why = await eunoe("why", old, "--query", "delivery", *SCOPE, "--min-trust", "high")
    assert (code, why["selected"], why["because"]) == (1, False, "trust")
    outside = [await eunoe("why", each, "--query", "delivery", *SCOPE[:-1], "billing") for each in (old, waiting)]
    assert [(code, why["because"], why["terms"]) for code, why in outside] == [(1, "not_found", [])] * 2

    code, held = await eunoe("inspect-memory", *SCOPE, "--subject", "anna", "--class", "long_term")
    assert (code, [each["memory_id"] for each in held["records"]]) == (0, [new, old])
    first = held["records"][1]
    assert (first["version"], first["source_uri"], first["trust"], first["confirmation"], first["status"]) == (
        *(2, "crm://1", "asserted", "confirmed"),
        "active",
    )
    assert (await eunoe("inspect-memory", *SCOPE, "--status", "quarantined"))[0] == 1
    assert (await eunoe("inspect-memory", "--tenant", "acme"))[0] == 2
    code, held = await eunoe("inspect-memory", "--tenant", "acme", "--status", "quarantined", by="dev-reviewer")
    assert [each["memory_id"] for each in held["records"]] == [waiting]

    code, kept = await eunoe("traces", "--tenant", "acme", "--memory", old)
    assert (code, [each["query"] for each in kept["traces"]]) == (0, ["delivery", "delivery"])
    assert kept["traces"][0]["trace_id"] == found["trace_id"]
    code, kept = await eunoe("traces", "--tenant", "acme", "--trace-id", found["trace_id"], by="dev-reviewer")
    assert [(each["query"], len(each["delivered"])) for each in kept["traces"]] == [(None, 2)]
    code, kept = await eunoe("traces", "--tenant", "acme", "--kind", "inspected", by="dev-officer")
    assert len(kept["traces"]) == 6
    assert "sealed" not in kept["traces"][0]


async def test_what_a_record_carries_is_read_back_and_a_rollback_lists_who_was_given_it(people: People) -> None:
    eunoe = Program(people)
    code, made = await eunoe(
        *("remember", "Prefers tea.", *SCOPE, "--uri", "crm://1", "--ttl", "P30D", "--event-id", "e-1"),
        *("--future-use", "serving", "--staleness", "tastes change", "--scope", "drinks"),
        *("--conflict-policy", "require_review_on_conflict"),
    )
    assert (code, made["status"]) == (0, "accepted"), made
    code, held = await eunoe("inspect-memory", *SCOPE, "--after", made["token"])
    (record,) = held["records"]
    assert (record["answers"]["future_use"], record["answers"]["staleness"]) == ("serving", "tastes change")
    assert (record["conflict_policy"], record["scope"]) == ("require_review_on_conflict", "drinks")
    assert (record["policy_version"], record["source_uri"], record["evidence"]) == (1, "crm://1", [])
    assert record["rollback_ref"] == f"{made['memory_id']}@1"

    _, found = await eunoe("search", "tea", *SCOPE)
    _, other = await eunoe("search", "coffee", *SCOPE)
    code, moved = await eunoe("rollback", f"{made['memory_id']}@7", "--tenant", "acme", by="dev-reviewer")
    assert (code, moved["outcome"]["reason"]) == (1, "version_conflict")
    code, back = await eunoe("rollback", record["rollback_ref"], "--tenant", "acme", by="dev-reviewer")
    assert (code, back["outcome"]["kind"]) == (0, "MemoryRetracted")
    assert [each["trace_id"] for each in back["traces"]] == [found["trace_id"]] != [other["trace_id"]]
    assert (
        "No read that you may see"
        not in (await eunoe.text("rollback", record["rollback_ref"], "--tenant", "acme", by="dev-reviewer"))[1]
    )

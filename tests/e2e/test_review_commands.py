"""`eunoe review` as it is used: by programs that read its JSON and exit codes, and by people with 100 columns."""

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eunoe.schemas.ids import new_id
from eunoe.schemas.topics import TopicNames
from eunoe.stack.probes import wait_until
from eunoe.testing.platform import Platform, WorkerProcess, install

SCOPE = ("--agent", "support-bot", "--purpose", "support")
REVIEWER = ("--as", "dev-reviewer")
ESCAPE = "\x1b[2J"


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass(frozen=True, slots=True)
class Eunoe:
    platform: Platform
    worker: WorkerProcess

    def __call__(self, *arguments: str, stdin: str = "") -> Answer:
        done = subprocess.run(
            [sys.executable, "-m", "eunoe.cli.main", *arguments],
            env={**self.platform.environ, "COLUMNS": "100"},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Answer(done.returncode, done.stdout, done.stderr)

    def json(self, *arguments: str, stdin: str = "") -> Answer:
        answer = self(*arguments, "--json", stdin=stdin)
        assert answer.document is not None
        return answer

    def held(self, statement: str, *more: str, tenant: str = "acme") -> dict[str, Any]:
        """A memory of an untrusted source, about customer-3 unless another is named."""
        whom = () if "--subject" in more else ("--subject", "customer-3")
        told = ("--source", "third_party", "--uri", "mail://7", "--ttl", "P30D", *whom, *more)
        answer = self.json("remember", "-", "--tenant", tenant, *SCOPE, *told, stdin=statement)
        assert answer.document["status"] == "quarantined", answer
        return answer.document

    def queue(self, *more: str, tenant: str = "acme") -> list[str]:
        answer = self.json("review", "list", "--tenant", tenant, *REVIEWER, *more)
        assert answer.code == 0, answer.err
        return [each["memory_id"] for each in answer.document["items"] if each["item"] == "quarantined"]

    def decide(self, decision: str, *more: str, tenant: str = "acme") -> Answer:
        return self.json("review", decision, *more, "--tenant", tenant, *REVIEWER)

    def policy(self, *changes: tuple[str, str]) -> None:
        """Put a changed policy in force, and wait until something is decided under it."""
        shown = self.json("policy", "show").document
        text, version = shown["text"], shown["version"]
        for old, new in ((f"version = {version}", f"version = {version + 1}"), *changes):
            assert old in text
            text = text.replace(old, new, 1)
        file = self.platform.directory / "changed.toml"
        file.write_text(text)
        refused = self.json("policy", "apply", str(file))
        assert (refused.code, "not_allowed (the right to operate)" in refused.document["message"]) == (1, True)
        applied = self.json("policy", "apply", str(file), "--as", "dev-officer")
        assert applied.code == 0, applied.err

        def in_force() -> bool:
            probe = self.held("A probe.", "--subject", new_id(), tenant="probes")
            history = self.json("history", probe["memory_id"], "--tenant", "probes", *SCOPE).document
            return [each["policy_hash"] for each in history["entries"]] == [applied.document["hash"]]

        assert wait_until(in_force, 20)


@pytest.fixture
async def eunoe(kafka_bootstrap: str, redis_url: str, topic_names: TopicNames, tmp_path: Path) -> AsyncIterator[Eunoe]:
    platform = await install(kafka_bootstrap, redis_url, topic_names, tmp_path)
    with platform.start_worker() as worker:
        assert wait_until(lambda: worker.answers("readyz"), 60)
        yield Eunoe(platform, worker)


def test_the_queue_is_listed_shown_and_decided(eunoe: Eunoe) -> None:
    first = eunoe.held("Allergic to walnuts.")
    second = eunoe.held(f"Allergic to cashews.{ESCAPE}", "--subject", "customer-4")
    third = eunoe.held("Allergic to almonds.", "--subject", "customer-4")
    every = [each["memory_id"] for each in (first, second, third)]
    assert eunoe.queue("--after", third["token"]) == every
    assert eunoe.queue("--subject", "customer-4") == every[1:]
    assert eunoe.queue("--reason", "untrusted_source", "--source", "third_party") == every
    assert eunoe.queue("--source", "model_output") == eunoe.queue("--older-than", "PT1H") == []
    page = eunoe.json("review", "list", "--tenant", "acme", *REVIEWER, "--limit", "2").document
    assert eunoe.queue("--cursor", page["cursor"]) == every[2:]

    table = eunoe("review", "list", "--tenant", "acme", *REVIEWER)
    assert table.code == 0
    assert all(each in table.out for each in (*every, "untrusted_source", "third_party"))
    assert max(map(len, table.out.splitlines())) <= 100
    assert not {"walnuts", "cashews"} & set(re.findall(r"\w+", table.out))

    shown = eunoe.json("review", "show", every[0], "--tenant", "acme", *REVIEWER).document
    assert (shown["body"]["statement"], shown["body"]["source_uri"]) == ("Allergic to walnuts.", "mail://7")
    assert (shown["item"]["reasons"], shown["wait_ms"], shown["decide"]) == (["untrusted_source"], 0, f"{every[0]}@1")
    assert "not about one tool call" in shown["notice"]
    assert shown["item"]["queued_at"].endswith("Z")
    text = eunoe("review", "show", every[1], "--tenant", "acme", *REVIEWER)
    assert "Allergic to cashews." in text.out
    assert f"review approve {every[1]}@1" in text.out
    assert "\x1b" not in text.out
    assert "\\u{001b}" in text.out

    metrics = eunoe.worker.page("metrics")
    assert wait_until(lambda: _waiting(eunoe.worker.page("metrics")) == 3, 10)
    assert re.search(r'eunoe_review_age_seconds\{partition="\d",reason="untrusted_source"\} \d', metrics)

    stale = eunoe.decide("approve", f"{every[0]}@2")
    (outcome,) = stale.document["outcomes"]
    assert (stale.code, outcome["reason"], outcome["current_version"]) == (1, "version_conflict", 1)
    approved = eunoe.decide("approve", every[0], "--expected-version", "1")
    assert (approved.code, approved.document["outcomes"][0]["version"]) == (0, 2)
    several = eunoe.decide("reject", f"{every[1]}@1", f"{every[2]}@7", "--reason", "not_plausible")
    assert several.code == 1
    assert [each["status"] for each in several.document["outcomes"]] == ["done", "rejected"]
    assert eunoe.queue("--after", several.document["outcomes"][1]["token"]) == [every[2]]
    assert eunoe.json("review", "show", every[1], "--tenant", "acme", *REVIEWER).code == 1

    assert eunoe.decide("approve", every[2]).code == 2
    assert eunoe.decide("approve", every[2], every[1], "--expected-version", "1").code == 2
    assert eunoe.json("review", "list", "--tenant", "acme").document["message"].endswith("not_allowed")


def test_a_confirmation_is_asked_for_only_where_nobody_stood_behind_it(eunoe: Eunoe) -> None:
    whom = ("--tenant", "acme", *SCOPE, "--subject", "customer-5", "--uri", "crm://1", "--ttl", "P30D")
    said = eunoe.json("remember", "Please call in the mornings.", *whom).document["memory_id"]
    assert eunoe.json("suspend", f"{said}@1", "--tenant", "acme", *REVIEWER).document["version"] == 2
    (outcome,) = eunoe.decide("approve", f"{said}@2", "--confirm").document["outcomes"]
    assert (outcome["status"], outcome["version"]) == ("done", 3)
    held = eunoe.held("Allergic to hazelnuts.", "--subject", "customer-5")["memory_id"]
    (outcome,) = eunoe.decide("approve", f"{held}@1", "--confirm").document["outcomes"]
    assert (outcome["status"], outcome["version"]) == ("done", 3)


def _waiting(metrics: str) -> float:
    return sum(float(each) for each in re.findall(r"eunoe_review_items\{[^}]*\} (\S+)", metrics))


def test_the_authors_owner_decides_nothing_and_nobody_before_the_waiting_period_is_over(eunoe: Eunoe) -> None:
    held = eunoe.held("Allergic to walnuts.")
    eunoe.policy(('owner = "dev-team"', 'owner = "dev-review"'))
    refused = eunoe.decide("approve", f"{held['memory_id']}@1")
    assert (refused.code, refused.document["outcomes"][0]["reason"]) == (1, "same_owner")
    eunoe.policy(
        ('owner = "dev-review"', 'owner = "dev-team"'),
        ("[review.waiting]", '[review.waiting]\nuntrusted_source = "P1D"'),
    )
    early = eunoe.held("Allergic to cashews.")
    refused = eunoe.decide("approve", f"{early['memory_id']}@1")
    assert (refused.code, refused.document["outcomes"][0]["reason"]) == (1, "waiting_period")
    assert refused.document["outcomes"][0]["reviewable_at"], "and from when on it may be"
    shown = eunoe("review", "show", early["memory_id"], "--tenant", "acme", *REVIEWER)
    assert "in 23 hours" in shown.out
    # The same reviewer may decide what waits no more, and keep out what still does.
    assert eunoe.decide("approve", f"{held['memory_id']}@1").code == 0
    assert eunoe.decide("reject", f"{early['memory_id']}@1").code == 0
    one_item_however_often_it_was_sent(eunoe)


def one_item_however_often_it_was_sent(eunoe: Eunoe) -> None:
    """The same request waits once; the same words from another source are told beside it, and go with the decision."""
    whom = ("--subject", "customer-9")
    first = eunoe.held("Allergic to pistachios.", *whom)["memory_id"]
    told = ("--source", "third_party", "--uri", "mail://7", "--ttl", "P30D", *SCOPE, *whom, "--tenant", "acme")
    again = eunoe.json("remember", "-", *told, stdin="Allergic to pistachios.").document
    assert (again["status"], again["reason"], again["memory_id"]) == ("rejected", "duplicate_memory", first)
    other = eunoe.held("Allergic to pistachios.", "--uri", "mail://8", *whom)
    answer = eunoe.json("review", "list", "--tenant", "acme", *REVIEWER, *whom, "--after", other["token"]).document
    (item,) = answer["items"]
    beside = [{"memory_id": other["memory_id"], "version": 1}]
    assert (item["memory_id"], item["alike"], item["alike_total"]) == (first, beside, 2)
    assert "sent as well as" in eunoe("review", "show", first, "--tenant", "acme", *REVIEWER).out
    decided = eunoe.decide("reject", f"{first}@1", "--alike").document["outcomes"]
    assert [(each["memory_id"], each["status"]) for each in decided] == [(first, "done"), (other["memory_id"], "done")]


def test_who_is_forgotten_waits_no_more_and_no_tenant_sees_another(eunoe: Eunoe) -> None:
    mine = eunoe.held("Allergic to walnuts.")
    theirs = eunoe.held("Allergic to cashews.", tenant="umbrella")
    assert eunoe.queue("--after", mine["token"]) == [mine["memory_id"]]
    assert eunoe.queue("--after", theirs["token"], tenant="umbrella") == [theirs["memory_id"]]
    crossed = eunoe.json("review", "show", theirs["memory_id"], "--tenant", "acme", *REVIEWER)
    assert (crossed.code, crossed.document["item"]) == (1, None)
    foreign = eunoe.decide("approve", f"{theirs['memory_id']}@1")
    assert (foreign.code, foreign.document["outcomes"][0]["reason"]) == (1, "not_found")

    gone = eunoe.json("forget", "--tenant", "acme", "--subject", "customer-3", "--as", "dev-officer", "--timeout", "4")
    # That it is decided is what counts here; receipts are another role's, which no worker of this test has.
    assert (gone.document["outcome"]["status"], gone.document["outcome"]["records"]) == ("done", 1), gone.err
    assert eunoe.queue("--after", gone.document["outcome"]["token"]) == []
    assert eunoe.json("review", "show", mine["memory_id"], "--tenant", "acme", *REVIEWER).code == 1
    refused = eunoe.decide("approve", f"{mine['memory_id']}@1")
    assert (refused.code, refused.document["outcomes"][0]["reason"]) == (1, "erased")
    assert eunoe.queue(tenant="umbrella") == [theirs["memory_id"]]


def test_a_conflict_is_listed_and_shown_with_both_sides(eunoe: Eunoe) -> None:
    for statement in ("Prefers tea.", "Prefers coffee."):
        told = ("--tenant", "acme", *SCOPE, "--subject", "customer-3", "--uri", "crm://1", "--ttl", "P30D")
        last = eunoe.json("remember", statement, *told, "--key", "drink").document
        assert last["status"] == "accepted", last
    page = eunoe.json("review", "list", "--tenant", "acme", *REVIEWER, "--after", last["token"]).document
    (conflict,) = page["items"]
    assert (conflict["item"], len(conflict["members"])) == ("conflict", 2)
    table = eunoe("review", "list", "--tenant", "acme", *REVIEWER)
    assert max(map(len, table.out.splitlines())) <= 100
    text = eunoe("review", "show", last["memory_id"], "--tenant", "acme", *REVIEWER)
    assert "Prefers tea." in text.out
    assert "Prefers coffee." in text.out
    (keep,) = [each for each in conflict["members"] if each["memory_id"] == last["memory_id"]]
    (other,) = [each for each in conflict["members"] if each["memory_id"] != last["memory_id"]]
    kept, gone = (f"{each['memory_id']}@{each['version']}" for each in (keep, other))
    answer = f"eunoe resolve {kept} --over {gone} --tenant acme"
    assert answer in text.out
    answered = eunoe.json(*answer.split()[1:], *REVIEWER)
    assert answered.code == 0, answered.out
    assert (
        eunoe.json(*("review", "list", "--tenant", "acme"), *REVIEWER, "--after", answered.document["token"]).document[
            "items"
        ]
        == []
    )
    # One that waits is let in beside what was kept, or in its place: `show` has the command for either.
    waits = eunoe.held("Prefers cocoa.", "--subject", "customer-3", "--key", "drink")
    text = eunoe("review", "show", waits["memory_id"], "--tenant", "acme", *REVIEWER, "--after", waits["token"])
    (approve,) = re.findall(r"eunoe (review approve \S+ --replaces \S+) --tenant acme", text.out)
    assert f"{waits['memory_id']}@1 --replaces {keep['memory_id']}@" in approve
    assert "stays too, as an open conflict" in text.out
    let_in = eunoe.json(*approve.split(), "--tenant", "acme", *REVIEWER)
    assert let_in.code == 0, let_in.out
    assert let_in.document["outcomes"][0]["superseded"] == [keep["memory_id"]]
    assert eunoe.decide("approve", f"{waits['memory_id']}@1", "--replaces", keep["memory_id"]).code == 2

"""The command line as it is used: on a stack that `eunoe up` started, by programs that read its JSON and exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eunoe.stack.local import LocalStack
from eunoe.stack.ports import free_ports
from eunoe.stack.probes import wait_until
from eunoe.stack.worker_process import Workers

PROGRAM = Path(sys.executable).with_name("eunoe")
WORKERS = ("worker-project", "worker-decide") if len(os.sched_getaffinity(0)) > 1 else ("worker",)
CANARY = "Xq7canaryXq7"
SCOPE = ("--tenant", "acme", "--agent", "support-bot", "--purpose", "support")
SOURCED = ("--uri", "crm://tickets/1", "--ttl", "P30D")


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one document on stdout."""
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass(frozen=True, slots=True)
class Eunoe:
    """Calls the installed program in a folder of its own."""

    home: Path

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("EUNOE_")}
        if "EUNOE_CACHE" in os.environ:
            kept["EUNOE_CACHE"] = os.environ["EUNOE_CACHE"]
        return {**kept, "EUNOE_STACK": "local", "EUNOE_PARTITIONS": "4", "EUNOE_DIRECTORY": str(self.home / "stack")}

    def __call__(self, *arguments: str, stdin: str = "", **environ: str) -> Answer:
        done = subprocess.run(
            [str(PROGRAM), *arguments],
            cwd=self.home,
            env={**self.environ, **environ},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Answer(done.returncode, done.stdout, done.stderr)

    def json(self, *arguments: str, stdin: str = "", **environ: str) -> Answer:
        answer = self(*arguments, "--json", stdin=stdin, **environ)
        assert answer.document is not None
        return answer

    def remember(self, statement: str, *more: str) -> dict[str, Any]:
        answer = self.json("remember", statement, *SCOPE, *SOURCED, *more)
        assert answer.code == 0, answer.err
        return answer.document

    def found(self, query: str, *more: str) -> list[str]:
        answer = self.json("search", query, *SCOPE, *more)
        assert answer.code == 0, answer.err
        return [each["statement"] for each in answer.document["records"]]


@pytest.fixture(scope="module")
def eunoe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Eunoe]:
    called = Eunoe(tmp_path_factory.mktemp("e2e"))
    started = called.json("up")
    try:
        assert started.code == 0, started.err
        assert set(started.document) == {"kafka", "redis", "provider", "directory"}
        yield called
    finally:
        called("down")
        Workers(called.home / "stack").kill()
        LocalStack(called.home / "stack").kill()


def test_a_second_up_finds_the_first(eunoe: Eunoe) -> None:
    before = eunoe.json("status").document
    assert {each["service"]: each["state"] for each in before["services"]} == {
        "kafka": "running",
        "redis": "running",
        **dict.fromkeys(WORKERS, "running"),
    }
    assert eunoe.json("up").code == 0
    assert eunoe.json("status").document == before


def test_the_readme_s_program_runs_as_it_stands(eunoe: Eunoe) -> None:
    readme = Path(__file__).parents[2] / "README.md"
    (program,) = re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", program.replace('"acme"', '"readme"')],  # a tenant of its own
        cwd=eunoe.home,
        env=eunoe.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Found: 1 memory." in done.stdout
    assert "Prefers delivery after 18:00." in done.stdout


def test_what_is_remembered_is_found_corrected_and_forgotten(eunoe: Eunoe) -> None:
    shown = eunoe("policy", "show")
    assert shown.code == 0
    assert shown.out.startswith("# For development only")

    first = eunoe.remember("Prefers delivery after 18:00.", "--subject", "customer-17")
    assert (first["status"], first["version"]) == ("accepted", 1)
    found = eunoe.json("search", "delivery", *SCOPE, "--after", first["token"]).document
    assert {"records", "excluded", "skipped", "freshness", "token"} <= set(found)
    assert {"memory_id", "statement", "score", "terms"} <= set(found["records"][0])
    assert found["records"][0]["statement"] == "Prefers delivery after 18:00."
    assert eunoe.json("outcome", first["command_id"], "--tenant", "acme").document == first

    about = (*SCOPE, *SOURCED, "--subject", "customer-17")
    correction = ("correct", first["memory_id"], "Prefers delivery before noon.", *about)
    stale = eunoe.json(*correction, "--expected-version", "7")
    assert (stale.code, stale.document["reason"], stale.document["current_version"]) == (1, "version_conflict", 1)
    second = eunoe.json(*correction, "--expected-version", "1")
    assert second.code == 0
    assert eunoe.found("delivery", "--after", second.document["token"]) == ["Prefers delivery before noon."]

    history = eunoe.json("history", first["memory_id"], *SCOPE).document
    assert [each["kind"] for each in history["entries"]] == ["MemoryAccepted", "MemorySuperseded"]

    asked = eunoe.json("forget", "--tenant", "acme", "--subject", "customer-17")
    assert (asked.code, asked.document["stage"]) == (0, None), "an agent asks; nothing is destroyed"
    assert asked.document["outcome"]["kind"] == "ForgettingRequested"
    forgotten = eunoe.json("forget", "--tenant", "acme", "--subject", "customer-17", "--as", "dev-officer")
    assert (forgotten.code, forgotten.document["stage"]) == (0, "scanned")
    assert forgotten.document["outcome"]["records"] == 2
    stages = [each["statement"]["stage"] for each in forgotten.document["receipts"]]
    assert stages == ["logical", "compacted", "scanned"]
    assert eunoe.found("delivery", "--after", forgotten.document["outcome"]["token"]) == []

    closed = eunoe.json("remember", "Prefers evenings.", *SCOPE, *SOURCED, "--subject", "customer-17")
    assert (closed.code, closed.document["reason"]) == (1, "subject_closed")


def test_a_quarantined_memory_is_absent_until_a_reviewer_promotes_it(eunoe: Eunoe) -> None:
    held = eunoe.remember("Allergic to walnuts.", "--source", "third_party", "--subject", "customer-3")
    assert (held["status"], held["reason"]) == ("quarantined", "untrusted_source")
    assert eunoe.found("walnuts", "--after", held["token"]) == []
    promotion = ("promote", held["memory_id"], "--tenant", "acme", "--expected-version", "1")
    assert eunoe.json(*promotion).document["reason"] == "not_allowed"
    promoted = eunoe.json(*promotion, "--as", "dev-reviewer")
    assert (promoted.code, promoted.document["version"]) == (0, 2)
    assert eunoe.found("walnuts", "--after", promoted.document["token"]) == ["Allergic to walnuts."]
    again = eunoe.remember("Allergic to cashews.", "--source", "third_party", "--subject", "customer-3")
    turned_down = eunoe.json(
        "reject", again["memory_id"], "--tenant", "acme", "--expected-version", "1", "--as", "dev-reviewer"
    )
    assert turned_down.code == 0
    retracted = eunoe.json("retract", held["memory_id"], "--tenant", "acme", "--expected-version", "2")
    assert retracted.code == 0
    assert eunoe.found("walnuts cashews", "--after", retracted.document["token"]) == []


def test_the_same_request_is_done_once(eunoe: Eunoe) -> None:
    once = eunoe.remember("Speaks Dutch.", "--idempotency-key", "k-1")
    twice = eunoe.remember("Speaks Dutch.", "--idempotency-key", "k-1")
    assert (twice["status"], twice["first_command_id"]) == ("duplicate", once["command_id"])
    other = eunoe.json("remember", "Speaks Danish.", *SCOPE, *SOURCED, "--idempotency-key", "k-1")
    assert (other.code, other.document["reason"]) == (1, "idempotency_mismatch")


def test_a_file_is_ingested_and_bad_lines_are_named_by_number_alone(eunoe: Eunoe) -> None:
    def line(number: int, **changes: Any) -> str:
        source = {"kind": "user_explicit", "event_ids": [f"e-{number}"]}
        usual = {"op": "remember", "tenant": "bulk", "agent": "bot", "purposes": ["support"], "source": source}
        usual |= {"ttl": "P30D"}
        return json.dumps({**usual, "subject": f"s-{number % 20}", "statement": f"Ordered thing {number}.", **changes})

    lines = [line(number) for number in range(500)]
    lines[3] = line(3, **{CANARY: 1})
    lines[10] = line(10, confidence=CANARY)
    lines[20] = f"{{{CANARY}"
    lines[30] = line(30, kind="unheard-of")
    lines[40] = line(40, source={"kind": "third_party", "uri": "web://x"})
    lines[50] = ""
    lines[60] = lines[61]
    file = eunoe.home / "memories.jsonl"
    file.write_text("\n".join(lines))

    answer = eunoe.json("ingest", str(file))
    said = answer.document
    assert answer.code == 1
    assert said["failed_lines"] == [4, 11, 21]
    assert said["rejected"] == {"unknown_kind": 1}
    assert (said["accepted"], said["quarantined"], said["duplicate"]) == (493, 1, 1)
    assert {each["line"] for each in said["problems"]} == {4, 11, 21, 31}
    assert CANARY not in answer.out + answer.err

    again = eunoe("ingest", str(file))
    assert again.code == 1
    assert "line 11: confidence: must be `float`, not `str`" in again.err
    assert "duplicate" in again.out

    good = eunoe.home / "good.jsonl"
    good.write_text("\n".join(lines[100:200]))
    unawaited = eunoe.json("ingest", str(good), "--no-wait")
    assert (unawaited.code, unawaited.document["published"], unawaited.document["failed_lines"]) == (0, 100, [])
    assert "accepted" not in unawaited.document


def test_a_statement_may_come_on_stdin_and_words_of_any_script_are_found(eunoe: Eunoe) -> None:
    stored = eunoe.json("remember", "-", *SCOPE, *SOURCED, stdin="Предпочитает доставку вечером.\n")
    assert stored.code == 0
    assert eunoe.found("доставка", "--after", stored.document["token"]) == ["Предпочитает доставку вечером."]
    unusable = eunoe.json("search", "?!", *SCOPE).document
    assert (unusable["records"], unusable["empty"]) == ([], "no_words")


def test_people_see_tables_and_programs_one_document(eunoe: Eunoe) -> None:
    stored = eunoe.remember("Collects stamps.", "--visibility", "shared")
    table = eunoe("search", "stamps", *SCOPE, "--after", stored["token"], COLUMNS="160")
    assert table.code == 0
    assert "Collects stamps." in table.out
    assert "examined" in table.out
    with pytest.raises(json.JSONDecodeError):
        json.loads(table.out)


def test_who_may_not_read_is_refused_before_anything_is_looked_up(eunoe: Eunoe) -> None:
    nobody = eunoe.home / "nobody.secret"
    nobody.write_text(f"hmac-sha256:nobody-1:{'a' * 43}=\n")
    refused = eunoe.json("search", "stamps", *SCOPE, "--as", "nobody", EUNOE_SECRET_FILE=str(nobody))
    assert (refused.code, refused.document["error"]) == (1, "ReadRefused")
    assert "not_authenticated" in refused.document["message"]


def test_a_command_nobody_believes_has_no_outcome_and_is_found_in_the_dead_letters(eunoe: Eunoe) -> None:
    forged = eunoe.home / "forged.secret"
    forged.write_text(f"hmac-sha256:dev-agent-1:{'b' * 43}=\n")
    answer = eunoe.json("remember", CANARY, *SCOPE, *SOURCED, "--timeout", "3", EUNOE_SECRET_FILE=str(forged))
    assert (answer.code, answer.document["status"]) == (1, "no_outcome")
    looked_up = eunoe.json("outcome", answer.document["command_id"], "--tenant", "acme")
    assert looked_up.code == 1
    assert looked_up.document["status"] == "no_outcome"
    assert [each["reason"] for each in looked_up.document["dead_letters"]] == ["unauthenticated"]


def test_each_class_of_failure_has_its_code(eunoe: Eunoe) -> None:
    (port,) = free_ports(1)
    assert eunoe.json("search", "x", *SCOPE, "--as-of", "yesterday").code == 2
    assert eunoe.json("search", "x", *SCOPE, EUNOE_KAFKA="nonsense").code == 2
    assert eunoe.json("search", "x", *SCOPE, "--after", "nonsense").code == 2
    assert eunoe.json("search", "x", *SCOPE, EUNOE_KAFKA=f"127.0.0.1:{port}").code == 3
    assert eunoe.json("search", "x", *SCOPE, EUNOE_REDIS=f"redis://127.0.0.1:{port}/0").code == 3
    assert eunoe.json("search", "x", *SCOPE, EUNOE_PREFIX="other-").code == 1
    wrong = eunoe.home / "kek"
    wrong.write_text("c" * 43 + "=\n")
    wrong.chmod(0o600)
    answer = eunoe.json("search", "x", *SCOPE, EUNOE_KEK_FILE=str(wrong))
    assert (answer.code, answer.document["error"]) == (1, "WrongKek")


def test_a_policy_with_an_error_names_its_line_and_changes_nothing(eunoe: Eunoe) -> None:
    before = eunoe.json("policy", "show").document
    broken = eunoe.home / "broken.toml"
    broken.write_text(before["text"].replace('trust = "asserted"', 'trust = "blind"', 1))
    answer = eunoe.json("policy", "apply", str(broken))
    assert answer.code == 1
    assert "broken.toml:" in answer.document["message"]
    assert eunoe.json("policy", "show").document == before


def test_a_policy_of_no_later_version_is_refused_and_the_same_file_is_left_alone(eunoe: Eunoe) -> None:
    before = eunoe.json("policy", "show").document
    file = eunoe.home / "policy.toml"
    file.write_text(before["text"])
    again = eunoe.json("policy", "apply", str(file))
    assert (again.code, again.document["published"]) == (0, False)
    file.write_text(before["text"] + "# another body\n")
    refused = eunoe.json("policy", "apply", str(file))
    assert (refused.code, refused.document["error"]) == (1, "PolicyNotNewer")
    assert eunoe.json("policy", "show").document == before


def test_the_worker_tells_what_it_does_and_ends_when_told(eunoe: Eunoe) -> None:
    (port,) = free_ports(1)
    process = subprocess.Popen(
        [str(PROGRAM), "worker", "--http-port", str(port)],
        cwd=eunoe.home,
        env=eunoe.environ,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert wait_until(lambda: page(port, "readyz") is not None, 60)
        metrics = page(port, "metrics")
        assert metrics is not None
        assert 'eunoe_lanes{service="decide",state="stalled"} 0.0' in metrics
        assert "acme" not in metrics
        assert page(port, "router/") is None
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=15)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert CANARY not in err
    # The partitions are with the first worker again, and nothing was lost between the two.
    assert eunoe.remember("Moved house.")["status"] == "accepted"


def test_a_worker_that_cannot_start_says_why(eunoe: Eunoe) -> None:
    answer = eunoe("worker", EUNOE_PREFIX="other-")
    assert answer.code == 1
    assert "eunoe topics apply" in answer.err


def test_nothing_said_is_in_the_workers_log(eunoe: Eunoe) -> None:
    logs = [eunoe.home / "stack" / each / "output.log" for each in WORKERS]
    for log in logs:
        for said in ("delivery", "walnuts", "customer-17", CANARY, "ticket"):
            assert said not in log.read_text()


def test_down_stops_exactly_what_up_started(eunoe: Eunoe) -> None:
    assert eunoe.json("down").document == {"stopped": [*WORKERS, "kafka", "redis"], "provider": "local"}
    assert eunoe.json("down").document["stopped"] == []
    assert eunoe.json("status").code == 3
    away = eunoe.json("search", "x", *SCOPE)  # what `up` had left for other commands is gone, too
    assert (away.code, away.document["error"]) == (3, "NoStackHere")


def page(port: int, name: str) -> str | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=5) as answer:
            return str(answer.read().decode())
    except (OSError, urllib.error.URLError):
        return None

"""`eunoe switch` and `eunoe policy simulate` as programs use them: exit codes, JSON, and what an agent is told."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from e2e.conftest import Program
from eunoe.schemas.ids import new_id
from eunoe.schemas.topics import TopicNames
from eunoe.testing.platform import install
from eunoe.testing.waiting import until
from eunoe.worker.embedded import running_services

OFFICER: Final = ("--as", "dev-officer")
AGENT: Final = ("--as", "dev-agent")
REVIEWER: Final = ("--as", "dev-reviewer")
WRITE: Final = ("--tenant", "acme", "--agent", "bot", "--purpose", "support", "--uri", "crm://1", "--ttl", "P30D")
LINE: Final = {
    "op": "remember",
    "tenant": "acme",
    "agent": "bot",
    "purposes": ["support"],
    "source": {"kind": "tool", "uri": "crm://1"},
    "ttl": "P30D",
}


@pytest.fixture
async def eunoe(
    kafka_bootstrap: str, redis_url: str, topic_names: TopicNames, tmp_path: Path
) -> AsyncIterator[Program]:
    platform = await install(kafka_bootstrap, redis_url, topic_names, tmp_path)
    async with running_services(platform.settings) as running:
        await running.ready()
        yield Program(platform)


async def test_observing_is_turned_on_shown_told_to_agents_and_turned_off(eunoe: Program, tmp_path: Path) -> None:
    acme = ("switch", "set", "--tenant", "acme", "--writes")
    refused = await eunoe.json(*acme, "observe", "--reason", "why", *AGENT, code=1)
    assert refused == {"error": "SwitchRefused", "message": "setting the switch of acme is refused: not_allowed"}
    assert await eunoe.json("switch", "show") == {"switches": []}
    found = await eunoe.json(*acme, "observe", "--reason", "trying the extractor", *OFFICER)
    assert (found["reads"], found["writes"], found["by"]) == ("on", "observe", "dev-officer")
    assert found.pop("tenant_known") is False, "nothing was written there yet, and whoever sets it is told"
    assert (await eunoe.json("switch", "show"))["switches"] == [found]
    assert "extractor" in await eunoe("switch", "show")

    async def observes() -> bool:
        told = await eunoe.json("remember", f"Prefers tea, {new_id()}.", *WRITE, *AGENT)
        return (told["status"], told.get("would_be")) == ("observed", "accepted")

    await until(observes, 60)
    assert "nothing is stored" in await eunoe("remember", "Prefers tea.", *WRITE, *AGENT)
    file = tmp_path / "lines.jsonl"
    mail = LINE | {"source": {"kind": "third_party", "uri": "mail://1"}, "statement": "Takes sugar."}
    file.write_text("\n".join(json.dumps(each) for each in (LINE | {"statement": "Takes milk."}, mail)))
    report = await eunoe.json("ingest", str(file), *AGENT)
    assert (report["observed"], report["accepted"], report["quarantined"]) == (2, 0, 0)
    told = await eunoe.json("remember", "Takes sugar.", *WRITE, "--source", "third_party", *AGENT)
    assert (told["would_be"], told["reasons"]) == ("quarantined", ["untrusted_source"])
    on = await eunoe.json(*acme, "on", "--reason", "done", *OFFICER)
    assert (on["writes"], on["tenant_known"]) == ("on", True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tenant", "acme", "--reason", "why"),
        ("--reads", "off", "--reason", "why"),
        ("--tenant", "acme", "--all-tenants", "--reads", "off", "--reason", "why"),
        ("--tenant", "a b", "--reads", "off", "--reason", "why"),
        ("--tenant", "acme", "--reads", "off"),
        ("--tenant", "acme", "--reads", "observe", "--reason", "why"),
    ],
)
def test_a_switch_that_says_too_little_or_too_much_is_wrong_usage(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    from eunoe.cli.main import main

    with pytest.raises(SystemExit) as ended:
        main(["switch", "set", *arguments, *OFFICER])
    assert ended.value.code == 2
    assert capsys.readouterr().err


async def test_a_policy_is_tried_before_it_is_applied(eunoe: Program, tmp_path: Path) -> None:
    shown = await eunoe.json("policy", "show")
    assert shown["effective"]["circumstances"]["one_off"] == "reject"
    strict = tmp_path / "strict.toml"
    strict.write_text(
        shown["text"].replace('[sources.tool]\ntrust = "asserted"', '[sources.tool]\ntrust = "untrusted"')
    )
    said = ("--session-id", "call-17")
    told = await eunoe.json("remember", "Pays by invoice.", *WRITE, "--source", "tool", *said, *AGENT)
    await eunoe.json("remember", "Prefers tea.", *WRITE, *AGENT)
    found = await eunoe.json("policy", "simulate", str(strict), *OFFICER)
    (change,) = found["changes"]
    assert (change["memory_id"], change["tenant"]) == (told["memory_id"], "acme")
    assert (change["then"]["outcome"], change["now"]["reasons"]) == ("accepted", ["untrusted_source"])
    assert (found["then"]["accepted"], found["now"]["accepted"], found["now"]["quarantined"]) == (2, 1, 1)
    assert "Nothing was written." in await eunoe("policy", "simulate", str(strict), "--tenant", "acme", *REVIEWER)
    for who in ((*AGENT, "--tenant", "acme"), REVIEWER):
        refused = await eunoe.json("policy", "simulate", str(strict), *who, code=1)
        assert (refused["error"], "not_allowed" in refused["message"]) == ("ReadRefused", True)
    later = await eunoe.json("policy", "simulate", str(strict), "--since", "2099-01-01T00:00:00Z", *OFFICER)
    assert (later["judged"], later["changes"]) == (0, [])
    decided = (await eunoe.json("decisions", "--tenant", "acme", *AGENT))["decisions"]
    assert [(each["memory_write_decision"], each["memory_persisted"], each["memory_class"]) for each in decided] == [
        ("allowed", True, "long_term")
    ] * 2
    assert decided[0]["provenance"] == {"agent": "bot", "source_kind": "tool"}
    scope = ("--tenant", "acme", "--agent", "bot", "--purpose", "support")
    searched = await eunoe.json("search", "invoice", *scope, *said, "--after", told["token"], *AGENT)
    assert searched["records"][0]["session_id"] == "call-17"
    assert (await eunoe.json("session", "call-18", "--tenant", "acme", *AGENT))["decisions"] == []
    talk: dict[str, Any] = {}

    async def traced() -> bool:
        talk.update(await eunoe.json("session", "call-17", "--tenant", "acme", *AGENT))
        return bool(talk["traces"])

    await until(traced, 30)
    assert [each["memory_id"] for each in talk["decisions"]] == [told["memory_id"]]
    assert talk["decisions"][0]["session"] not in (None, "call-17")
    assert [[each["memory_id"] for each in read["delivered"]] for read in talk["traces"]] == [[told["memory_id"]]]
    assert "call-17" not in await eunoe("history", told["memory_id"], "--tenant", "acme", *REVIEWER)
    strict.write_text(strict.read_text().replace("version = 1", "version = 2", 1))
    assert "eunoe policy reevaluate" in await eunoe("policy", "apply", str(strict), *OFFICER)
    judged = await eunoe.json("policy", "reevaluate", "--tenant", "acme", *REVIEWER, code=1)
    assert [(each["memory_id"], each["standing"], each["outcome"]) for each in judged["found"]] == [
        (told["memory_id"], "waits", None)
    ]
    taken = await eunoe.json("policy", "reevaluate", "--tenant", "acme", "--apply", "--waiting", "suspend", *REVIEWER)
    assert (taken["left"], taken["found"][0]["outcome"], taken["judged"]) == (0, "done", 2)
    broken = tmp_path / "broken.toml"
    broken.write_text("version = 0\n")
    assert (
        f"{broken}:1: version must be at least 1"
        in (await eunoe.json("policy", "simulate", str(broken), code=1))["message"]
    )


async def test_a_weaker_word_takes_no_place_and_an_echo_is_no_news(eunoe: Program) -> None:
    said = await eunoe.json("remember", "Delivery window is evening.", *WRITE, *AGENT)
    first = said["memory_id"]
    again = await eunoe.json("remember", "delivery  window is evening", *WRITE, *AGENT, code=1)
    assert (again["reason"], again["memory_id"]) == ("duplicate_memory", first)
    echo = await eunoe.json("remember", "Delivery window is EVENING", *WRITE, "--source", "inferred", *AGENT, code=1)
    assert echo["reason"] == "derived_from_memory"
    late = ("remember", "Lunch is at one.", *WRITE, "--observed-at", "2099-01-01T00:00:00Z", *AGENT)
    assert (await eunoe.json(*late, code=1))["reason"] == "observed_in_future"
    noon = ("correct", first, "Delivery is at noon.", "--expected-version", "1", *WRITE)
    guess = await eunoe.json(*noon, "--source", "inferred", *AGENT)
    assert (guess["status"], guess["reasons"]) == ("quarantined", ["contradicts"])
    approve = ("review", "approve", f"{guess['memory_id']}@1", "--confirm", "--tenant", "acme", "--as", "dev-reviewer")
    (outcome,) = (await eunoe.json(*approve))["outcomes"]
    assert (outcome["status"], outcome["version"]) == ("done", 3)

"""What is held on a person goes out signed, and only to whom it may, by the command line."""

import json
from pathlib import Path
from typing import Any, Final

import pyrage
import pytest

from e2e.conftest import People, Program
from eunoe.client.exporting import ExportRefused
from eunoe.client.lines import line_of
from eunoe.client.memory import Memory
from eunoe.crypto.exports import verified_export
from eunoe.producers.errors import CallerError
from eunoe.runtime.principals import control_signer
from eunoe.schemas.outcomes import Outcome
from eunoe.testing.waiting import until

CHECKED: Final = "passport, seen by M. Huber"
ANNA: Final = ("export", "--tenant", "acme", "--subject", "anna", "--as", "dev-officer")
TEXTS: Final = {
    "both": ("withheld", "active"),
    "foreign": ("withheld", "active"),
    "now": ("given", "active"),
    "old": ("given", "superseded"),
    "waits": ("given", "quarantined"),
}
SOURCE: Final = {"kind": "user_explicit", "uri": "crm://1"}
WHERE: Final[dict[str, Any]] = {"tenant": "acme", "agent": "bot", "purposes": ["support"], "ttl": "P30D"}


async def _written(memory: Memory) -> dict[str, str]:
    """Memory ids by what each is an example of; one of them was searched for."""
    ids: dict[str, str] = {}

    async def say(name: str, statement: str, subject: str = "anna", **more: Any) -> Outcome:
        fields = {"source": SOURCE, "statement": statement, "subject": subject} | WHERE | more
        outcome = await memory.perform(line_of({"op": "remember", **fields}))
        assert outcome.memory_id is not None, outcome
        ids[name] = outcome.memory_id
        return outcome

    await say("old", "Prefers tea.")
    await say("now", "Prefers milk tea.", supersedes=ids["old"], expected_version=1)
    await say("waits", "Has moved to Graz.", source=SOURCE | {"kind": "third_party"})
    await say("both", "Anna plays chess with Boris.", about=["boris"])
    await say("foreign", "Boris owes Anna a book.", "boris", about=["anna"])
    last = await say("boris", "Prefers rum.", "boris")
    scope = {"tenant": "acme", "agent": "bot", "purpose": "support"}
    assert (await memory.search("milk", after=last.token, **scope)).records
    return ids


async def _left_to_the_person(people: People, eunoe: Program) -> None:
    """Who acts for a person hands out and forgets what `export_delete_policy` leaves to them, and nothing else."""
    said: dict[str, str] = {}
    for text, left in (("Likes jazz.", "user_visible"), ("Owes us money.", "operator_only")):
        fields = {"source": SOURCE, "statement": text, "subject": "cleo", "export_delete_policy": left} | WHERE
        said[text] = (await people.agent.perform(line_of({"op": "remember", **fields}))).memory_id or ""
    portal = ("--tenant", "acme", "--subject", "cleo", "--as", "dev-portal")
    document = json.loads(await eunoe("export", *portal, "--identity-checked", "logged in, second factor"))
    statement = document["statement"]
    assert [each["statement"] for each in statement["records"]] == ["Likes jazz."]
    assert (statement["user_visible_only"], statement["counts"]["operator_only"]) == (True, 1)
    kept = json.loads(await eunoe("forget", "--memory", said["Owes us money."], *portal, "--json", code=1))
    assert (kept["outcome"]["reason"], kept["outcome"]["field"]) == ("not_allowed", "export_delete_policy")
    gone = json.loads(await eunoe("forget", "--memory", said["Likes jazz."], *portal, "--json"))
    assert (gone["stage"], gone["outcome"]["status"]) == ("logical", "done")


async def test_a_person_gets_all_that_is_held_signed_without_the_others_and_nothing_once_forgotten(
    people: People, tmp_path: Path
) -> None:
    ids = await _written(people.agent)
    eunoe, officer = Program(people.platform), people.officer
    whose = {"tenant": "acme", "identity_checked": CHECKED}
    with pytest.raises(ExportRefused, match="not_allowed"):
        await people.agent.export_subject("anna", **whose)
    with pytest.raises(CallerError, match="names the person"):
        await officer.export_subject("anna", **whose | {"identity_checked": "Anna came by"})

    statement: dict[str, Any] = {}

    async def traced() -> bool:
        statement.update((await officer.export_subject("anna", **whose))["statement"])
        return any(each["given_to"] for each in statement["records"])

    await until(traced, 60)
    found = {each["memory_id"]: each for each in statement["records"]}
    assert {name: (found[ids[name]]["text"], found[ids[name]]["state"]["lifecycle"]) for name in sorted(TEXTS)} == TEXTS
    assert set(found) == {ids[name] for name in TEXTS}
    now = found[ids["now"]]
    assert (now["statement"], now["source"]["uri"], now["confidence"]) == ("Prefers milk tea.", "crm://1", "1.0")
    assert [each["what"] for each in found[ids["old"]]["history"]] == ["MemoryAccepted", "MemorySuperseded"]
    (given,) = now["given_to"]
    assert (given["by"], given["agent"], given["purpose"], given["how"]) == ("dev-agent", "bot", "support", "searched")
    assert statement["about_the_person"][-1]["identity_check"] == CHECKED
    assert "oris" not in json.dumps(statement)

    await _left_to_the_person(people, eunoe)
    identity = pyrage.x25519.Identity.generate()
    (tmp_path / "to").write_text(f"# anna\n{identity.to_public()}\n")
    (tmp_path / "mine").write_text(f"{identity}\n")
    sealed, plain = tmp_path / "anna.age", tmp_path / "anna.json"
    to = ("--recipient", str(tmp_path / "to"), "--out", str(sealed), "--json")
    told = json.loads(await eunoe(*ANNA, "--identity-checked", CHECKED, "--redact", "boris", *to))
    assert told["counts"] | {"given": 3, "redacted": 2, "withheld": 0} == told["counts"]
    assert b"tea" not in sealed.read_bytes()
    await eunoe("export", "open", str(sealed), "--identity", str(tmp_path / "mine"), "--out", str(plain))
    assert people.platform.settings.export_key is not None
    public = control_signer(people.platform.settings.export_key).verifier().public
    opened = verified_export(json.loads(plain.read_text()), public)
    assert "Anna plays chess with [another person]." in [each.get("statement") for each in opened["records"]]

    await officer.forget_subject("anna", tenant="acme")
    gone = json.loads(await eunoe(*ANNA, "--identity-checked", CHECKED, "--json", code=1))
    assert (gone["error"], "rendered unreadable" in gone["message"]) == ("ExportRefused", True)
    boris = (await officer.export_subject("boris", **whose))["statement"]
    left = {each["memory_id"]: each["text"] for each in boris["records"]}
    assert left == {ids["both"]: "forgotten", ids["foreign"]: "forgotten", ids["boris"]: "given"}

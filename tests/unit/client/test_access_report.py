"""What a report shows of each record, and what it never shows."""

import dataclasses
import json

from msgspec.structs import replace

from eunoe.client.access_report import Asked, access_report
from eunoe.client.held import Held
from eunoe.crypto.exports import ACCESS_REPORT, signed_document
from eunoe.crypto.signatures import Ed25519Signer
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.events import (
    ExportRecorded,
    Fact,
    MemoryForgotten,
    MemoryRetracted,
    SubjectForgotten,
    SubjectRef,
    SupersededRef,
)
from eunoe.schemas.ids import CommandId, LogId, MemoryId, Offset, Partition, PrincipalName, Pseudonym, TenantId
from eunoe.schemas.values import ExportDeletePolicy
from eunoe.testing.samples import (
    SAMPLE_SUBJECT,
    SAMPLE_TENANT,
    SAMPLE_TIME,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_id,
    sample_trace,
)

OTHER = Pseudonym("b" * 32)
MINE = SubjectRef(subject=SAMPLE_SUBJECT, generation=1)
THEIRS = SubjectRef(subject=OTHER, generation=1)
NAMES = ("tea", "milk", "both", "foreign", "forgotten", "lost", "stranger")
IDS = {name: MemoryId(sample_id(name)) for name in NAMES}
BODIES = {IDS[name]: MemoryBody(statement=f"Said {name} of Boris.", source_uri=f"crm://{name}") for name in NAMES}
ASKED = Asked(
    log_id=LogId(sample_id("log")),
    tenant=SAMPLE_TENANT,
    subject="anna",
    generation=1,
    made_at=SAMPLE_TIME,
    made_by=PrincipalName("officer"),
    identity_check="passport",
    command_id=CommandId(sample_id("export")),
    partition=Partition(0),
)


def held(*more: Fact) -> Held:
    """Tea gave way to milk; two records are about both; one was forgotten by itself."""
    found = Held(tenant=SAMPLE_TENANT, person=SAMPLE_SUBJECT)
    foreign = sample_draft(memory_id=IDS["foreign"], subject=OTHER)
    facts: list[Fact] = [
        sample_accepted(sample_draft(memory_id=IDS["tea"])),
        sample_accepted(sample_draft(memory_id=IDS["milk"]), supersedes=SupersededRef(memory_id=IDS["tea"], version=2)),
        sample_accepted(sample_draft(memory_id=IDS["both"]), about=(THEIRS,)),
        sample_accepted(foreign, about=(MINE,)),
        sample_accepted(sample_draft(memory_id=IDS["forgotten"])),
        MemoryForgotten(memory_id=IDS["forgotten"], version=2),
        sample_accepted(sample_draft(memory_id=IDS["lost"])),
        sample_accepted(sample_draft(memory_id=IDS["stranger"], subject=OTHER)),
        MemoryRetracted(memory_id=IDS["stranger"], version=2),
        ExportRecorded(subject=SAMPLE_SUBJECT, generation=1, records=5, identity_check="passport"),
        *more,
    ]
    for offset, fact in enumerate(facts):
        found.take(Offset(offset), sample_event(fact, command_id=CommandId(sample_id(f"command {offset}"))))
    return found


def texts(found: Held, asked: Asked = ASKED) -> dict[str, tuple[str, str | None]]:
    bodies = {memory_id: body for memory_id, body in BODIES.items() if memory_id != IDS["lost"]}
    statement = access_report(asked, found, bodies, (), 0)
    names = {memory_id: name for name, memory_id in IDS.items()}
    return {names[each["memory_id"]]: (each["text"], each.get("statement")) for each in statement["records"]}


def test_each_record_of_the_person_is_there_with_what_may_be_shown_of_it() -> None:
    assert texts(held()) == {
        "tea": ("given", "Said tea of Boris."),
        "milk": ("given", "Said milk of Boris."),
        "both": ("withheld", None),
        "foreign": ("withheld", None),
        "forgotten": ("forgotten", None),
        "lost": ("unreadable", None),
    }
    redacted = replace_asked(redact=("boris",))
    assert texts(held(), redacted)["both"] == ("redacted", "Said both of [another person].")
    assert texts(held(), redacted)["tea"] == ("given", "Said tea of Boris.")


def replace_asked(redact: tuple[str, ...]) -> Asked:
    return Asked(**{name: getattr(ASKED, name) for name in Asked.__dataclass_fields__} | {"redact": redact})


def test_what_is_erased_is_not_shown_even_where_it_was_opened() -> None:
    other_gone = held(SubjectForgotten(subject=OTHER, generation=1, records=3))
    assert {texts(other_gone)[name][0] for name in ("both", "foreign")} == {"forgotten"}
    assert texts(other_gone)["tea"][0] == "given"
    found, later = held(), Held(tenant=SAMPLE_TENANT, person=SAMPLE_SUBJECT)
    later.take(Offset(99), sample_event(MemoryForgotten(memory_id=IDS["milk"], version=2)))
    found.learn(later)
    assert texts(found)["milk"] == ("forgotten", None)


def test_nothing_of_another_tenant_or_generation_is_taken() -> None:
    found = held()
    stray = sample_draft(memory_id=MemoryId(sample_id("stray")))
    found.take(Offset(50), sample_event(sample_accepted(stray), tenant=TenantId("other")))
    later = sample_draft(memory_id=MemoryId(sample_id("later")), generation=2)
    found.take(Offset(51), sample_event(sample_accepted(later)))
    assert len(texts(found)) == 6


def test_states_times_history_and_readers_are_there_and_no_pseudonym() -> None:
    read = sample_trace()
    (given,) = read.delivered
    trace = replace(read, delivered=(replace(given, memory_id=IDS["tea"], version=1),))
    statement = access_report(ASKED, held(), BODIES, (trace,), 2)
    tea = statement["records"][0]
    assert tea["state"] == {
        "lifecycle": "superseded",
        "version": 2,
        "trust": "asserted",
        "confirmation": "proposed",
        "review": "none",
    }
    assert [(each["what"], each["version"]) for each in tea["history"]] == [
        ("MemoryAccepted", 1),
        ("MemorySuperseded", 2),
    ]
    (reading,) = tea["given_to"]
    assert (reading["by"], reading["purpose"], reading["version"]) == ("dev-agent", "support", 1)
    assert (statement["traces"], statement["counts"]["records"]) == ({"read": 1, "unreadable": 2}, 6)
    (said,) = statement["about_the_person"]
    assert (said["what"], said["identity_check"], said["records"]) == ("ExportRecorded", "passport", 5)
    document = signed_document(ACCESS_REPORT, ASKED.log_id, statement, Ed25519Signer(None, b"k" * 32))
    assert not any(hidden in json.dumps(document) for hidden in (SAMPLE_SUBJECT, OTHER))


def test_without_an_officer_it_has_what_is_left_to_the_person_and_says_how_much_is_not() -> None:
    found = held()
    left = ExportDeletePolicy.USER_VISIBLE
    for offset, name in enumerate(("hers", "with boris"), 100):
        draft = sample_draft(memory_id=MemoryId(sample_id(name)), export_delete_policy=left)
        found.take(Offset(offset), sample_event(sample_accepted(draft, about=(THEIRS,) if offset > 100 else ())))
    body = {MemoryId(sample_id("hers")): MemoryBody(statement="Prefers tea.")}
    statement = access_report(dataclasses.replace(ASKED, user_visible_only=True), found, BODIES | body, (), 0)
    assert [each["statement"] for each in statement["records"]] == ["Prefers tea."]
    assert statement["counts"]["operator_only"] == len(list(found.of_generation(1))) - 1
    assert (statement["user_visible_only"], statement["about_the_person"]) == (True, [])
    assert any("an officer hands those out" in each for each in statement["not_included"])

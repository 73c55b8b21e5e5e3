"""The file of a tenant: what goes into it, what is vouched for, and what a change of it does."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from eunoe.client.export_file import (
    FOREIGN_SIGNER,
    INCOMPLETE,
    digest_of,
    fact_line,
    is_whole,
    read_export,
    statements_of,
)
from eunoe.client.held import Held
from eunoe.client.importing import in_use
from eunoe.client.tenant_facts import Chosen, chosen
from eunoe.crypto.exports import TENANT_EXPORT, BadExport, signed_document
from eunoe.crypto.signatures import Ed25519Signer
from eunoe.processors.proving import is_proven
from eunoe.runtime.principals import sample_development_policy
from eunoe.schemas.commands import MemoryBody, RestoreMemory, SourceRef
from eunoe.schemas.events import (
    ConflictRef,
    Fact,
    MemoryConfirmed,
    MemoryExpired,
    MemoryForgotten,
    MemoryPromoted,
    MemoryRetracted,
    SubjectForgotten,
    SubjectRef,
    SupersededRef,
    WithdrawnRef,
)
from eunoe.schemas.ids import CommandId, LogId, MemoryId, Millis, Offset, Pseudonym, SecretId
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Trust
from eunoe.testing.samples import (
    SAMPLE_TENANT,
    SAMPLE_TIME,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_id,
    sample_quarantined,
)

SIGNER = Ed25519Signer(SecretId("export-1"), b"k" * 32)
TRUSTED = {SIGNER.secret_id: SIGNER.verifier().public}
LOG = LogId(sample_id("log"))
NAMES = ("tea", "milk", "rum", "mail", "back")
IDS = {name: MemoryId(sample_id(name)) for name in (*NAMES, "lost", "old", "note", "sum")}
BODIES = {
    IDS[name]: MemoryBody(statement=f"Said {name} \u2028 „ja“.", subject="anna") for name in IDS if name != "lost"
}


def born(name: str, **over: Any) -> Fact:
    return replace(sample_accepted(sample_draft(memory_id=IDS[name])), **over)


def built(name: str, *on: str) -> Fact:
    sources = tuple(SourceRef(memory_id=IDS[each], version=1) for each in on)
    return sample_accepted(sample_draft(memory_id=IDS[name], derived_from=sources))


FACTS: tuple[Fact, ...] = (
    born("tea"),
    born("milk", supersedes=SupersededRef(memory_id=IDS["tea"], version=2)),
    born("rum", conflicts_with=(ConflictRef(memory_id=IDS["milk"], version=2),), claim_ref=b"c" * 16),
    MemoryConfirmed(memory_id=IDS["milk"], version=3),
    sample_quarantined(sample_draft(memory_id=IDS["mail"])),
    MemoryPromoted(memory_id=IDS["mail"], version=2, trust=Trust.VERIFIED),
    born("back"),
    MemoryRetracted(memory_id=IDS["back"], version=2),
)


def choice(*more: Fact, without: frozenset[MemoryId] = frozenset()) -> Chosen:
    held = Held(tenant=SAMPLE_TENANT)
    for offset, fact in enumerate((*FACTS, *more)):
        held.take(Offset(offset), sample_event(fact, command_id=CommandId(sample_id(f"command {offset}"))))
    return chosen(held, BODIES, frozenset(BODIES) - without, SAMPLE_TIME)


def export(found: Chosen) -> list[dict[str, Any]]:
    statements = statements_of(SAMPLE_TENANT, found.facts)
    head = {"tenant": SAMPLE_TENANT, "facts": len(statements), "digest": digest_of(statements)}
    return [
        signed_document(TENANT_EXPORT, LOG, head, SIGNER),
        *(fact_line(LOG, each, SIGNER) for each in statements),
    ]


def content(lines: list[Any]) -> bytes:
    return "\n".join(json.dumps(each) for each in lines).encode()


def test_what_was_written_is_read_back_and_vouched_for() -> None:
    found = choice()
    read = read_export(content(export(found)), TRUSTED)
    assert (read.problem, read.unreadable, found.records, found.left_out) == (None, 0, 5, {})
    assert [(each.memory_id, each.restored) for each in read.facts] == [
        (each.memory_id, each.restored) for each in found.facts
    ]
    assert [each.body and replace(each.body, salt="") for each in read.facts] == [each.body for each in found.facts]
    assert read.digest == digest_of(statements_of(SAMPLE_TENANT, found.facts))
    lines = export(found)
    assert is_whole(lines[0]["statement"], lines[1:])


def test_what_is_exported_twice_is_salted_anew_and_has_one_digest() -> None:
    first, second = export(choice()), export(choice())
    assert first[0]["statement"] == second[0]["statement"]
    assert {each["salt"] for each in first if each.get("salt")}.isdisjoint(each.get("salt") for each in second)


def test_the_decider_makes_the_same_bytes_and_no_others() -> None:
    sample = sample_development_policy()
    policy = Policy(**{name: getattr(sample, name) for name in Policy.__dataclass_fields__} | {"import_keys": TRUSTED})
    for each in read_export(content(export(choice())), TRUSTED).facts:
        # Whatever an installation gives a draft is not signed.
        draft = (
            None if each.draft is None else replace(each.draft, subject=Pseudonym("b" * 32), generation=4, body=b"x")
        )
        command = RestoreMemory(
            tenant=each.tenant,
            memory_id=each.memory_id,
            draft=draft,
            restored=each.restored,
            proof=each.proof,
            idempotency=b"",
        )
        assert is_proven(command, each.body, policy)
        assert not is_proven(command, each.body, sample)
        assert not is_proven(replace(command, proof=None), each.body, policy)
        assert not is_proven(
            replace(command, restored=replace(each.restored, trust=Trust.ASSERTED, version=9)), each.body, policy
        )
        if each.body is not None and draft is not None:
            assert not is_proven(command, replace(each.body, statement="Said rum."), policy)
            assert not is_proven(command, replace(each.body, subject="boris"), policy)
            # Who guesses the words cannot try them against the signature, which lies in the clear for a month.
            assert not is_proven(command, replace(each.body, salt=""), policy)
            longer = replace(draft, expires_at=Millis(draft.expires_at + 1))
            assert not is_proven(replace(command, draft=longer), each.body, policy)


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines.pop(),
        lambda lines: lines.append(lines[1]),
        lambda lines: lines.insert(1, lines.pop()),
        lambda lines: lines[1]["fact"]["body"].update(statement="Said rum."),
        lambda lines: lines[0]["statement"].update(facts=7),
        lambda lines: lines[0].update(signature=""),
        lambda lines: lines[0].update(log_id="another"),
        lambda lines: lines.append({"fact": {"fraction": 0.5}}),
        lambda lines: lines.append("no fact"),
    ],
)
def test_whatever_was_changed_nobody_vouches_for_any_of_it(change: Callable[[list[Any]], object]) -> None:
    lines = export(choice())
    change(lines)
    read = read_export(content(lines), TRUSTED)
    assert read.problem is not None
    assert read.facts
    assert {each.proof for each in read.facts} == {None}


def test_an_unknown_signer_vouches_for_nothing() -> None:
    assert read_export(content(export(choice())), {}).problem == FOREIGN_SIGNER
    other = {SIGNER.secret_id: Ed25519Signer(None, b"o" * 32).verifier().public}
    assert read_export(content(export(choice())), other).problem not in (None, INCOMPLETE)


@pytest.mark.parametrize("data", [b"", b"{}", b"no json", b'{"format": "eunoe/access-report/1"}'])
def test_what_is_no_export_of_a_tenant_is_told_so(data: bytes) -> None:
    with pytest.raises(BadExport):
        read_export(data, TRUSTED)


def test_a_line_that_is_no_text_is_counted_and_not_read() -> None:
    lines = export(choice())
    lines[1]["fact"]["body"]["statement"] = "\ud800"
    read = read_export(content(lines), TRUSTED)
    assert (read.unreadable, len(read.facts)) == (1, len(FACTS) - 1)


def test_of_a_file_that_nobody_vouches_for_only_what_was_in_use_comes_in() -> None:
    facts = read_export(content(export(choice())), {}).facts
    assert [each.memory_id for each in in_use(facts)] == [IDS[name] for name in ("milk", "rum", "mail")]


def test_what_is_forgotten_unreadable_over_or_nameless_stays_and_so_does_what_it_replaced() -> None:
    found = choice(
        born("lost"),
        born("old"),
        MemoryExpired(memory_id=IDS["old"], version=2),
        MemoryForgotten(memory_id=IDS["milk"], version=4),
        without=frozenset({IDS["mail"]}),
    )
    assert found.left_out == {
        "expired": 1,
        "forgotten": 1,
        "people_not_named": 1,
        "replaced_by_one_left_out": 1,
        "unreadable": 1,
    }
    assert {each.memory_id for each in found.facts} == {IDS["rum"], IDS["back"]}
    assert all(not each.restored.contested for each in found.facts)
    assert choice(SubjectForgotten(subject=sample_draft().subject, generation=1, records=5)).facts == ()


def test_a_version_that_only_a_record_that_stays_had_brought_about_is_not_counted() -> None:
    found = choice(MemoryForgotten(memory_id=IDS["rum"], version=2))
    milk = [each.restored.version for each in found.facts if each.memory_id == IDS["milk"]]
    assert milk == [1, 2]
    assert [each.restored.version for each in choice().facts if each.memory_id == IDS["milk"]] == [1, 3]


def test_what_was_built_on_a_record_that_stays_stays_and_what_went_with_one_counts_as_forgotten() -> None:
    built_on = (built("note", "rum"), built("sum", "note"))
    assert {IDS["note"], IDS["sum"]} <= {each.memory_id for each in choice(*built_on).facts}
    without = choice(*built_on, without=frozenset({IDS["rum"]}))
    assert without.left_out == {"built_on_one_left_out": 2, "people_not_named": 1}
    gone = tuple(WithdrawnRef(memory_id=IDS[each], version=2) for each in ("note", "sum"))
    forgotten = choice(*built_on, MemoryForgotten(memory_id=IDS["rum"], version=2, withdrawn=gone))
    assert forgotten.left_out == {"forgotten": 3}


def test_what_was_built_on_one_that_has_expired_goes_out_without_it_if_it_names_everybody_itself() -> None:
    """What it stands on besides stays named; whom only the expired one named, nobody could be told."""
    over = (MemoryExpired(memory_id=IDS["old"], version=2),)
    both = built("note", "old", "rum")
    found = choice(born("old"), *over, both, built("sum", "note"))
    assert found.left_out == {"expired": 1}
    drafts = {each.memory_id: each.draft for each in found.facts if each.draft is not None}
    assert [each.memory_id for each in drafts[IDS["note"]].derived_from] == [IDS["rum"]]
    assert [each.memory_id for each in drafts[IDS["sum"]].derived_from] == [IDS["note"]]
    other = SubjectRef(subject=Pseudonym("f" * 32), generation=1)
    nameless = replace(both, about=(other,))
    assert choice(born("old"), *over, nameless).left_out == {"expired": 1, "built_on_one_left_out": 1}


def test_what_a_record_was_built_on_is_signed_with_it() -> None:
    lines = export(choice(built("note", "rum")))
    found = read_export(content(lines), TRUSTED)
    draft = next(each.draft for each in found.facts if each.memory_id == IDS["note"])
    assert draft is not None
    assert draft.derived_from == (SourceRef(memory_id=IDS["rum"], version=1),)
    assert found.problem is None
    next(each for each in lines[1:] if each["fact"]["memory_id"] == IDS["note"])["fact"]["draft"]["derived_from"] = []
    assert read_export(content(lines), TRUSTED).problem is not None

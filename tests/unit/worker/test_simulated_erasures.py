"""What a simulation may not open: told by the facts of the log alone, whoever still has which key."""

import pytest
from msgspec.structs import replace

from eunoe.schemas.commands import (
    Command,
    CorrectMemory,
    ForgetSubject,
    IssueKey,
    PromoteMemory,
    ReadmitSubject,
    RememberMemory,
)
from eunoe.schemas.events import Fact, MemoryForgotten, SubjectForgotten, SubjectReadmitted, SubjectRef
from eunoe.schemas.ids import MemoryId, Pseudonym, TenantId
from eunoe.testing.samples import sample_accepted, sample_event, sample_id
from eunoe.worker.simulated_erasures import Erasures

ACCEPTED = sample_accepted()
DRAFT = ACCEPTED.draft
TENANT = sample_event(ACCEPTED).header.tenant
OTHER = Pseudonym("f" * 32)
KEY = b"k" * 16
REMEMBER = RememberMemory(tenant=TENANT, draft=DRAFT, idempotency=KEY)
PROMOTE = PromoteMemory(tenant=TENANT, memory_id=DRAFT.memory_id, expected_version=1, idempotency=KEY)
FORGOTTEN = SubjectForgotten(subject=DRAFT.subject, generation=DRAFT.generation, records=1)
READMITTED = SubjectReadmitted(subject=DRAFT.subject, generation=DRAFT.generation + 1)


def after(*facts: Fact) -> Erasures:
    found = Erasures()
    for fact in facts:
        found.see(sample_event(fact))
    return found


@pytest.mark.parametrize("command", [REMEMBER, PROMOTE])
def test_what_nobody_forgot_is_judged(command: Command) -> None:
    assert not after().cover(command)
    assert not after(ACCEPTED).cover(command)


@pytest.mark.parametrize(
    "facts",
    [
        (FORGOTTEN,),
        (FORGOTTEN, READMITTED),
        (MemoryForgotten(memory_id=DRAFT.memory_id, version=2),),
    ],
)
@pytest.mark.parametrize("command", [REMEMBER, PROMOTE])
def test_a_record_of_a_forgotten_person_or_that_was_forgotten_itself_is_not(
    facts: tuple[Fact, ...], command: Command
) -> None:
    assert after(ACCEPTED, *facts).cover(command)


def test_what_was_only_asked_for_is_covered_by_its_subject() -> None:
    assert after(FORGOTTEN).cover(REMEMBER)
    assert not after(FORGOTTEN).cover(PROMOTE), "the log has no record of that id"


def test_who_was_readmitted_is_judged_again_in_the_new_generation() -> None:
    again = replace(DRAFT, generation=DRAFT.generation + 1, memory_id=MemoryId(sample_id("again")))
    correction = CorrectMemory(
        tenant=TENANT, draft=again, supersedes=DRAFT.memory_id, expected_version=1, idempotency=KEY
    )
    assert not after(ACCEPTED, FORGOTTEN, READMITTED).cover(correction)
    assert after(ACCEPTED, FORGOTTEN).cover(replace(correction, draft=replace(again, generation=DRAFT.generation)))


def test_whom_a_record_is_also_about_counts() -> None:
    about = replace(ACCEPTED, about=(SubjectRef(subject=OTHER, generation=1),))
    gone = SubjectForgotten(subject=OTHER, generation=1, records=1)
    back = SubjectReadmitted(subject=OTHER, generation=2)
    assert not after(about).cover(PROMOTE)
    assert after(about, gone).cover(PROMOTE)
    assert after(about, gone, back).cover(PROMOTE), "the record is of the generation that was closed"
    draft = replace(DRAFT, about=(OTHER,), memory_id=MemoryId(sample_id("refused")))
    assert after(gone).cover(replace(REMEMBER, draft=draft))
    assert not after(gone, back).cover(replace(REMEMBER, draft=draft))


def test_another_tenants_forgetting_is_its_own() -> None:
    elsewhere = replace(REMEMBER, tenant=TenantId("elsewhere"))
    assert after(ACCEPTED, FORGOTTEN).cover(REMEMBER)
    assert not after(ACCEPTED, FORGOTTEN).cover(elsewhere)


@pytest.mark.parametrize(
    "command",
    [
        IssueKey(tenant=TENANT),
        ForgetSubject(tenant=TENANT, subject=DRAFT.subject, idempotency=KEY),
        ReadmitSubject(tenant=TENANT, subject=DRAFT.subject, idempotency=KEY),
    ],
)
def test_what_holds_no_content_is_always_judged(command: Command) -> None:
    assert not after(ACCEPTED, FORGOTTEN).cover(command)

"""The report of an import: every fact is counted once, and as what it became."""

from collections.abc import Callable

import pytest

from eunoe.client.export_file import Incoming
from eunoe.client.importing import Importing, ImportRefused, ImportReport
from eunoe.producers.client import MemoryProducer
from eunoe.runtime.principals import sample_development_policy
from eunoe.schemas.ids import CommandId, EventId, LogId, MemoryId, Millis, PrincipalName, SecretId
from eunoe.schemas.outcomes import Outcome, OutcomeStatus
from eunoe.schemas.policy import Policy
from eunoe.schemas.restored import Proof, Restored
from eunoe.testing.samples import SAMPLE_TENANT, SAMPLE_TIME, sample_id

OLD, NEW = MemoryId(sample_id("old")), MemoryId(sample_id("new"))
PROOF = Proof(log_id=LogId(sample_id("log")), signer=SecretId("export-1"), signature=b"")
FACT = Incoming(
    tenant=SAMPLE_TENANT,
    memory_id=NEW,
    draft=None,
    body=None,
    restored=Restored(
        what="MemoryAccepted",
        version=2,
        superseded=(OLD,),
        at=Millis(0),
        by=PrincipalName("author"),
        event_id=EventId("event"),
        command_id=CommandId("command"),
        policy_version=1,
        policy_hash="",
    ),
    proof=PROOF,
)


def outcome(status: OutcomeStatus, reason: str | None = None, current_version: int | None = None) -> Outcome:
    return Outcome(
        command_id=CommandId(sample_id("command")),
        status=status,
        kind="any",
        decided_at=SAMPLE_TIME,
        token="",
        reason=reason,
        reasons=() if reason is None else (reason,),
        current_version=current_version,
    )


@pytest.mark.parametrize(
    ("became", "counted", "complete"),
    [
        (outcome(OutcomeStatus.ACCEPTED), "restored", True),
        (outcome(OutcomeStatus.QUARANTINED, "untrusted_source"), "restored", True),
        (outcome(OutcomeStatus.QUARANTINED, "unproven_import"), "quarantined", False),
        (outcome(OutcomeStatus.DUPLICATE), "already_here", True),
        (outcome(OutcomeStatus.REJECTED, "version_conflict", 2), "standing", False),
        (outcome(OutcomeStatus.REJECTED, "version_conflict", 1), "version_conflict", False),
        (outcome(OutcomeStatus.REJECTED, "erased"), "erased", False),
        ("invalid_subject", "invalid_subject", False),
    ],
)
def test_a_fact_is_counted_as_what_it_became(became: Outcome | str, counted: str, complete: bool) -> None:
    report = ImportReport(problem=None, unreadable=0)
    report.take(FACT, became)
    document = report.document()
    numbers = {name: document[name] for name in ("restored", "quarantined", "already_here", "standing")} | document[
        "refused"
    ]
    assert {name: number for name, number in numbers.items() if number} == {counted: 1}
    assert report.complete is complete
    # What it replaced is in use again, unless that was refused too.
    assert document["in_use_again"] == ([OLD] if document["refused"] else [])


def test_what_replaced_a_refused_record_leaves_nothing_in_use() -> None:
    report = ImportReport(problem=None, unreadable=0, refused_records={OLD: "erased"})
    report.take(FACT, "erased")
    assert report.in_use_again == set()


@pytest.mark.parametrize(
    ("policy", "content", "problem"),
    [(lambda: None, b"", "no policy"), (sample_development_policy, b"{}", "not an export of a tenant")],
)
async def test_what_cannot_be_begun_is_told(policy: Callable[[], Policy | None], content: bytes, problem: str) -> None:
    never: MemoryProducer = None  # type: ignore[assignment]  # nothing is sent
    with pytest.raises(ImportRefused, match=problem):
        await Importing(producer=never, policy=policy).file(content)

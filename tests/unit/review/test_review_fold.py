"""What each fact does to the review queue, as operations: no Redis is needed to see it."""

import pytest
from msgspec import structs

from eunoe.readmodels.errors import CannotApply
from eunoe.readmodels.review import ReviewModel
from eunoe.readmodels.review_items import Quarantined, packed, unpacked
from eunoe.readmodels.source import Positioned
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation
from eunoe.schemas.errors import Undecodable
from eunoe.schemas.events import (
    CandidateObserved,
    CommandDuplicate,
    CommandRejected,
    ConflictRef,
    ConflictResolved,
    Fact,
    KeyIssued,
    MemoryPromoted,
    Reason,
    SubjectReadmitted,
    SubjectRef,
    SupersededRef,
)
from eunoe.schemas.ids import CommandId, KeyId, LogId, MemoryId, Millis, Offset, Partition, Pseudonym
from eunoe.schemas.values import Confirmation, Trust
from eunoe.testing.samples import (
    SAMPLE_SUBJECT,
    SAMPLE_TENANT,
    SAMPLE_TIME,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_genesis,
    sample_id,
    sample_quarantined,
)

LOG = LogId(sample_id("log"))
PREFIX = Prefix(LOG, Partition(3), "review")
MEMORY, OTHER = MemoryId(sample_id("memory")), MemoryId(sample_id("other"))
OWN = f"{SAMPLE_SUBJECT}:1"
FRIEND = SubjectRef(subject=Pseudonym("f" * 32), generation=2)


class Nobody:
    """A Redis that nobody asks."""


async def folded(*facts: Fact) -> list[list[Operation]]:
    model = ReviewModel(Nobody(), lambda: Millis(0))  # type: ignore[arg-type]  # the fold reads nothing
    records = [Positioned(Offset(number), Millis(0), sample_event(fact)) for number, fact in enumerate(facts)]
    return [list(each) for each in await model.fold(PREFIX, records)]


@pytest.mark.parametrize(
    "fact",
    [
        sample_accepted(),
        structs.replace(sample_accepted(), about=(FRIEND,)),
        KeyIssued(incarnation=1, key_id=KeyId(sample_id("key")), created=True),
        CommandRejected(command="RememberMemory", reason=Reason.NOT_FOUND),
        CommandDuplicate(first_command_id=CommandId(sample_id("first"))),
        CandidateObserved(memory_id=MEMORY, kind="fact", purposes=("support",), verdict="quarantined"),
        SubjectReadmitted(subject=SAMPLE_SUBJECT, generation=2),
        sample_genesis(LOG).fact,
    ],
)
async def test_what_waits_for_nobody_costs_nothing(fact: Fact) -> None:
    assert await folded(fact) == [[]]


async def test_a_record_on_a_claim_is_told_to_what_waits_for_it() -> None:
    born = structs.replace(sample_accepted(), claim_ref=b"c")
    assert await folded(born) == [[("review.claimed", SAMPLE_TENANT, MEMORY, "63")]]


async def test_a_quarantined_record_is_queued_with_whom_it_is_about_once_each() -> None:
    own = SubjectRef(subject=SAMPLE_SUBJECT, generation=1)
    ((operation,),) = await folded(structs.replace(sample_quarantined(about=(FRIEND, own)), claim_ref=b"\x0f"))
    *where, alike, record = operation
    assert len(str(alike)) == 24
    reasons = "untrusted_source"
    refs = f"{OWN} {FRIEND.subject}:2"
    assert where == ["review.wait", SAMPLE_TENANT, MEMORY, refs, "0f", str(SAMPLE_TIME), reasons]
    assert isinstance(record, bytes)
    assert unpacked(record, 3, confirmed=True).item.version == 3


async def test_who_gives_way_goes_before_the_conflict_is_entered() -> None:
    gave_way, rivals = SupersededRef(memory_id=OTHER, version=2), (ConflictRef(memory_id=OTHER, version=4),)
    born = structs.replace(sample_accepted(supersedes=gave_way), claim_ref=b"c", conflicts_with=rivals)
    promoted = MemoryPromoted(
        memory_id=MEMORY, version=2, trust=Trust.VERIFIED, supersedes=gave_way, conflicts_with=rivals
    )
    resolved = ConflictResolved(memory_id=MEMORY, version=2, superseded=(gave_way,))
    gone = ("review.gone", SAMPLE_TENANT, OTHER)
    at = str(SAMPLE_TIME)
    assert await folded(born, promoted, resolved) == [
        [
            gone,
            ("review.claimed", SAMPLE_TENANT, MEMORY, "63"),
            ("review.born", SAMPLE_TENANT, MEMORY, OWN, "63", at, f"{OTHER}:4"),
        ],
        [gone, ("review.promote", SAMPLE_TENANT, MEMORY, 2, at, f"{OTHER}:4")],
        [gone, ("review.upheld", SAMPLE_TENANT, MEMORY, 2)],
    ]


@pytest.mark.parametrize(
    "fact",
    [
        structs.replace(sample_quarantined(), reasons=()),
        structs.replace(sample_accepted(), conflicts_with=(ConflictRef(memory_id=OTHER, version=2),)),
    ],
)
async def test_what_cannot_be_applied_is_not_skipped(fact: Fact) -> None:
    with pytest.raises(CannotApply) as refused:
        await folded(sample_accepted(), fact)
    assert refused.value.offset == 1


def test_what_is_stored_is_the_sealed_body_and_no_field_of_it() -> None:
    fact = sample_quarantined(sample_draft(body=b"sealed bytes"))
    waiting = unpacked(packed(sample_event(fact), fact), 1, confirmed=False)
    assert (waiting.body, waiting.item.confirmation) == (b"sealed bytes", Confirmation.PROPOSED)
    assert not {"statement", "body", "claim_key", "source_uri"} & set(Quarantined.__struct_fields__)


def test_bytes_that_another_version_wrote_are_an_error_and_never_quoted() -> None:
    with pytest.raises(Undecodable) as refused:
        unpacked(b"\xc1 a secret", 1, confirmed=False)
    assert "secret" not in str(refused.value)

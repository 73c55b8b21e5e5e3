"""The byte layouts that Python and Lua share."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.readmodels.recall.keys import (
    HEAD_BYTES,
    MEMBER_BYTES,
    Grades,
    Head,
    Member,
    count_of,
    pack_document,
    posting_score,
    scope_name,
)
from eunoe.readmodels.recall.rank import Bm25
from eunoe.readmodels.recall.record import Guards, Postings
from eunoe.schemas.ids import AgentId, Millis, TenantId
from eunoe.schemas.values import Confirmation, MemoryClass, Sensitivity, Trust

INSTANTS = st.integers(0, 2**48 - 1).map(Millis)
GRADES = st.builds(
    Grades,
    sensitivity=st.sampled_from(Sensitivity),
    trust=st.sampled_from(Trust),
    memory_class=st.sampled_from(MemoryClass),
    confirmation=st.sampled_from(Confirmation),
)
MEMBERS = st.builds(
    Member,
    number=st.integers(0, 2**40 - 1),
    expires_at=INSTANTS,
    created_at=INSTANTS,
    confidence=st.integers(0, 100),
    length=st.integers(0, 0xFFFF),
    grades=GRADES,
    flags=st.integers(0, 15),
    tag=st.integers(0, 0xFFFF),
)


@given(MEMBERS)
def test_a_member_comes_back_as_it_was(member: Member) -> None:
    packed = member.pack()
    assert len(packed) == MEMBER_BYTES == 24
    assert Member.unpack(packed) == member


@given(MEMBERS, MEMBERS)
def test_members_are_equal_exactly_if_their_bytes_are(one: Member, two: Member) -> None:
    assert (one.pack() == two.pack()) == (one == two)


def test_what_is_no_member_is_refused() -> None:
    with pytest.raises(ValueError, match="not a member"):
        Member.unpack(b"short")
    with pytest.raises(ValueError, match="not a member"):
        Member.unpack(b"\xff" * 24)


def test_each_byte_of_grades_is_one_combination_or_none() -> None:
    known = [grades for grades in map(Grades.unpack, range(256)) if grades is not None]
    assert len(known) == len(Sensitivity) * len(Trust) * len(MemoryClass) * len(Confirmation)
    assert [grades.pack() for grades in known] == [byte for byte in range(256) if Grades.unpack(byte) is not None]


@given(st.integers(1, 600), st.integers(1, 600))
def test_a_posting_score_holds_impact_and_count(count: int, length: int) -> None:
    impact = Bm25().impact(count, length)
    score = posting_score(impact, count)
    assert 0 < score < 2**31
    assert score / (256 * 2_000_000) == pytest.approx(impact, abs=1e-6)
    assert count_of(score) == min(count, 255)


@given(st.binary(max_size=50), st.binary(max_size=70_000), MEMBERS)
def test_the_sections_of_a_document_are_found_again(guards: bytes, postings: bytes, member: Member) -> None:
    document = pack_document(
        member, occasion=b"12345678", state=1, version=7, guards=guards, postings=postings, record=b"record"
    )
    head = Head.unpack(document)
    assert (head.member, head.occasion, head.state, head.version) == (member, b"12345678", 1, 7)
    assert document[HEAD_BYTES : HEAD_BYTES + head.guards] == guards
    assert document[head.record_at :] == b"record"


TOKENS = st.lists(st.binary(min_size=8, max_size=8), min_size=1, max_size=300, unique=True)


@given(TOKENS, TOKENS, st.data())
def test_counts_are_found_by_token_and_scope(own: list[bytes], other: list[bytes], data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(1, 255), min_size=len(own), max_size=len(own)))
    packed = Postings(
        tenant=TenantId("acme"),
        memory=bytes(16),
        sets=("s:acme:x:1",),
        scores=b"".join(struct.pack(">I", posting_score(1.0, count)) for count in counts),
        scopes=(("a/bot/x", bytes(8 * len(own))), ("a/bot/xy", b"".join(own))),
    ).pack()
    expected = dict(zip(own, counts, strict=True))
    assert Postings.counts(packed, "a/bot/xy", [*own, *other]) == [expected.get(each, 0) for each in [*own, *other]]
    assert Postings.counts(packed, "a/bot/xyz", own) == [0] * len(own)


def test_large_sections_have_room_for_their_length() -> None:
    tokens = b"".join(at.to_bytes(8) for at in range(20_000))
    packed = Postings(
        tenant=TenantId("acme"), memory=bytes(16), sets=(), scores=bytes(80_000), scopes=(("s/x", tokens),)
    ).pack()
    assert len(packed) > 240_000
    assert Postings.counts(packed, "s/x", [(19_999).to_bytes(8)]) == [0]
    assert Guards(surfaces=(), valid_from=0, valid_until=0, refs=()).pack()[:1] == b"\xdc"


def test_an_agent_cannot_take_the_name_of_the_shared_scope() -> None:
    names = {scope_name(AgentId(agent), "support") for agent in ("s", "shared", "a")} | {scope_name(None, "support")}
    assert len(names) == 4

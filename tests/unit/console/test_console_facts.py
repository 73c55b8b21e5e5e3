"""What is kept of records of the log: reasons, origins and times; never what is in them."""

from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from eunoe.console import snapshot as told
from eunoe.console.from_log import fact_of, letter_of, refusals_of
from eunoe.console.from_redis import erasures_of
from eunoe.processors.attesting.pending import Erasure
from eunoe.processors.dead_letters import KEY_HEADER, ORIGIN_HEADER, REASON_HEADER
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.events import CommandDuplicate, CommandRejected, Event, EventHeader, Fact, Reason
from eunoe.schemas.ids import (
    CommandId,
    EventId,
    MessageId,
    Millis,
    Offset,
    PrincipalName,
    Pseudonym,
    TenantId,
    new_id,
)
from eunoe.schemas.receipts import Stage
from eunoe.schemas.topics import TopicNames

CANARY = "Xq7canaryXq7"
NAMES = TopicNames(prefix="t-")


@dataclass
class Record:
    value: bytes | None
    timestamp: int = 1_000
    headers: list[tuple[str, bytes]] = field(default_factory=list)


def event(fact: Fact, at: int = 5_000) -> Record:
    header = EventHeader(
        event_id=EventId(new_id()),
        command_id=CommandId(new_id()),
        message_id=MessageId(new_id()),
        tenant=TenantId(CANARY),
        principal=PrincipalName(CANARY),
        input_offset=Offset(1),
        decided_at=Millis(at),
        policy_version=1,
        policy_hash="",
        control_offset=Offset(0),
    )
    return Record(EVENTS.encode(Event(header=header, fact=fact)))


def rejected(reason: Reason, command: str = "RememberMemory", at: int = 5_000) -> Record:
    return event(CommandRejected(command=command, reason=reason, field=CANARY), at)


def test_refusals_are_counted_by_reason_and_command() -> None:
    records = [
        rejected(Reason.UNKNOWN_KIND),
        rejected(Reason.UNKNOWN_KIND, at=9_000),
        rejected(Reason.NOT_ALLOWED, "ForgetMemory"),
        rejected(Reason.NOT_ALLOWED, CANARY),
        event(CommandDuplicate(first_command_id=CommandId(new_id()))),
        Record(b"\xc3\x01whatever"),
    ]
    found = refusals_of([fact_of(each) for each in records])
    assert [(each.reason, each.command, each.times) for each in found.refused] == [
        ("unknown_kind", "RememberMemory", 2),
        ("not_allowed", "ForgetMemory", 1),
        ("not_allowed", "other", 1),
    ]
    assert (found.facts, found.total, found.unreadable, found.refused[0].last) == (6, 4, 1, 9_000)
    assert CANARY not in msgspec.json.encode(found).decode()


def letter(reason: bytes, origin: bytes) -> Record:
    headers = [(REASON_HEADER, reason), (ORIGIN_HEADER, origin), (KEY_HEADER, CANARY.encode())]
    return Record(CANARY.encode(), 7_000, headers)


def test_a_dead_letter_is_told_by_reason_and_origin() -> None:
    found = letter_of(letter(b"misrouted", b"t-memory-events:3:41"), NAMES)
    assert found == told.Letter(at=Millis(7_000), reason="misrouted", topic="t-memory-events", partition=3, offset=41)


@pytest.mark.parametrize(
    ("reason", "origin"),
    [
        (CANARY.encode(), b"t-memory-events:3:41"),
        (b"misrouted", f"{CANARY}:3:41".encode()),
        (b"misrouted", f"t-memory-events:{CANARY}:41".encode()),
        (b"misrouted", f"t-memory-events:3:{CANARY}".encode()),
        (b"misrouted", b"t-memory-events:3:-1"),
        (b"\xff\xfe", b""),
    ],
)
def test_headers_that_the_decider_does_not_write_are_not_repeated(reason: bytes, origin: bytes) -> None:
    found = letter_of(letter(reason, origin), NAMES)
    assert found is not None
    assert "other" in (found.reason,)
    assert CANARY not in msgspec.json.encode(found).decode()


def erasure(offset: int, closed_at: int) -> Erasure:
    return Erasure(
        request=CommandId(CANARY),
        event_id=EventId(CANARY),
        tenant=TenantId(CANARY),
        subject=Pseudonym(CANARY),
        generation=1,
        offset=Offset(offset),
        closed_at=Millis(closed_at),
    )


def test_an_erasure_is_where_its_last_receipt_says() -> None:
    waiting = [(0, erasure(5, 100)), (0, erasure(9, 300)), (1, erasure(5, 200)), (1, erasure(7, 50))]
    written = [(0, (5, Stage.COMPACTED)), (0, (5, Stage.LOGICAL)), (1, (5, Stage.LOGICAL)), (1, (2, Stage.SCANNED))]
    found = erasures_of(waiting, written)
    assert [(each.stage, each.erasures, each.oldest) for each in found.stages] == [
        ("closed", 2, 50),
        ("logical", 1, 200),
        ("compacted", 1, 100),
    ]
    assert found.receipts == (("logical", 2), ("compacted", 1), ("scanned", 1), ("backups-unreadable", 0))
    assert found.total == 4
    assert CANARY not in msgspec.json.encode(found).decode()


NAMED = frozenset(
    # every text that a snapshot can hold, and the vocabulary or name that it is
    {
        "Problem.who",
        "Problem.what",  # words of `problems`
        "PartitionLag.status",
        "PartitionLag.reason",  # words of `lag_rules`
        "PartitionLag.owner",  # a worker's client id
        "GroupLag.name",
        "GroupLag.topic",
        "GroupLag.status",
        "Throughput.log_id",
        "Store.version",
        "Store.mode",
        "ModelPartition.role",
        "ModelPartition.digest",
        "Model.name",
        "Model.topic",
        "Switch.tenant",
        "Switch.purpose",
        "Switch.writes",
        "Switch.by",
        "Queued.reason",
        "AtStage.stage",
        "Erasures.receipts",
        "Refused.reason",
        "Refused.command",
        "Letter.reason",
        "Letter.topic",
    }
)
FORBIDDEN = (
    "statement",
    "subject",
    "memory_id",
    "pseudonym",
    "body",
    "text",
    "claim",
    "uri",
    "agent",
    "query",
    "value_",
)


def texts(type_: Any) -> set[str]:
    """The fields below ``type_`` that can hold a text or bytes."""
    found: set[str] = set()
    waiting, seen = [type_], set()
    while waiting:
        struct = waiting.pop()
        if struct in seen:
            continue
        seen.add(struct)
        for name, hint in get_type_hints(struct).items():
            for leaf in leaves(hint):
                if isinstance(leaf, type) and issubclass(leaf, msgspec.Struct):
                    waiting.append(leaf)
                elif leaf in (str, bytes, Any, object):
                    found.add(f"{struct.__name__}.{name}")
    return found


def leaves(hint: Any) -> list[Any]:
    hint = getattr(hint, "__supertype__", hint)
    if get_origin(hint) in (Union, UnionType, tuple) or get_args(hint):
        inner = [leaf for each in get_args(hint) for leaf in leaves(each)]
        origin = get_origin(hint)
        return [*inner, origin] if isinstance(origin, type) and issubclass(origin, msgspec.Struct) else inner
    return [] if hint is Ellipsis else [hint]


def test_no_field_of_a_snapshot_can_hold_content() -> None:
    assert texts(told.Snapshot) == NAMED
    assert not [each for each in texts(told.Snapshot) for word in FORBIDDEN if word in each.partition(".")[2]]


def test_a_field_that_could_would_be_noticed() -> None:
    class Careless(msgspec.Struct):
        letters: told.Part[tuple[told.Letter, ...]]
        statement: str | None

    assert {"Careless.statement", "Letter.topic"} <= texts(Careless)

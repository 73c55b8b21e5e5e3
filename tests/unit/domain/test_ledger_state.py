"""The ledger asks for what it needs, refuses to judge what was not read, and comes from the log alone."""

import msgspec
import pytest

from eunoe.domain.entries import (
    CommandSeen,
    Entry,
    IdempotencyEntry,
    KeyState,
    LedgerKey,
    SubjectState,
    TenantState,
    command_key,
    decode_entry,
    encode_entry,
    memory_key,
    subject_key,
    tenant_key,
)
from eunoe.domain.ledger_questions import follows_records
from eunoe.domain.ledger_state import fold, folds, idempotency_of, known, wanted
from eunoe.domain.memory import ImpossibleFact
from eunoe.schemas.commands import Command, IssueKey
from eunoe.schemas.events import CommandRejected, Event, KeyIssued, MemoryAccepted, PartitionOpened, Reason
from eunoe.schemas.ids import Bucket, CommandId, KeyId, LogId, MemoryId, Millis, TenantId, derived_id
from eunoe.schemas.values import SourceKind
from unit.domain.samples import (
    ACME,
    ALICE,
    BOB,
    CAROL,
    MONTH,
    NOW,
    correct,
    draft,
    expire,
    forget,
    forget_subject,
    memory,
    once,
    promote,
    readmit,
    remember,
    retract,
)
from unit.domain.scenario import Scenario, replayed

NEW = CommandId(derived_id("new"))


def rounds(scenario: Scenario, command: Command) -> int:
    entries: dict[LedgerKey, Entry | None] = {}
    count = 0
    while missing := wanted(NEW, command, entries):
        assert not set(missing) & set(entries)
        entries |= {key: scenario.entry(key) for key in missing}
        count += 1
    return count


@pytest.fixture
def scenario() -> Scenario:
    scenario = Scenario()
    key = scenario.key(ALICE, MONTH)
    own = scenario.key(ALICE, Bucket(memory("shared")))
    return scenario.given(
        remember(draft("plain", key)),
        remember(draft("shared", own, about=(BOB, CAROL))),
        correct(draft("pending", key, source_kind=SourceKind.THIRD_PARTY), "shared", 1),
    )


def test_the_usual_commands_need_one_round_and_the_deepest_three(scenario: Scenario) -> None:
    key = scenario.key(ALICE, MONTH)
    assert rounds(scenario, remember(draft("m", key, about=(BOB,)))) == 1
    assert rounds(scenario, forget_subject()) == 1
    assert rounds(scenario, IssueKey(tenant=ACME, subject=ALICE, bucket=MONTH)) == 1
    assert rounds(scenario, retract("plain")) == 2
    assert rounds(scenario, correct(draft("m", key), "shared", 1)) == 2
    assert rounds(scenario, promote("pending")) == 3
    scenario.given(forget_subject(), readmit())
    assert rounds(scenario, IssueKey(tenant=ACME, subject=ALICE, bucket=MONTH)) == 2


def test_what_asks_on_the_strength_of_loaded_entries_says_so(scenario: Scenario) -> None:
    key = scenario.key(ALICE, MONTH)
    for command in (retract("plain"), promote("pending"), correct(draft("m", key), "shared", 1), IssueKey(tenant=ACME)):
        assert follows_records(command)
    for other in (remember(draft("m", key, about=(BOB,))), forget_subject(), readmit()):
        assert not follows_records(other)


def test_nothing_is_judged_on_a_ledger_that_was_not_read(scenario: Scenario) -> None:
    for command in (remember(draft("m", KeyId("k"))), retract("plain"), forget_subject(), IssueKey(tenant=ACME)):
        entries = scenario.load(NEW, command)
        known(NEW, command, entries)
        # An index that a record will leave is for folding alone.
        for missing in (each for each in entries if not each.startswith("w:")):
            with pytest.raises(KeyError):
                known(NEW, command, {key: entry for key, entry in entries.items() if key != missing})


def test_an_entry_of_another_kind_is_not_taken_for_nothing() -> None:
    command = IssueKey(tenant=ACME)
    entries: dict[LedgerKey, Entry | None] = {
        command_key(ACME, NEW): None,
        tenant_key(ACME): CommandSeen(decided_at=NOW),
    }
    with pytest.raises(TypeError, match="holds a CommandSeen"):
        known(NEW, command, entries)


def test_the_log_alone_gives_the_same_ledger(scenario: Scenario) -> None:
    scenario.given(promote("pending"), forget("plain"), forget_subject(), readmit())
    assert replayed(scenario.events) == scenario.store
    assert len(scenario.store) > 20


def test_a_refusal_is_remembered_by_its_command_id_and_nothing_else(scenario: Scenario) -> None:
    before = dict(scenario.store)
    fact = scenario.ask(forget("nobody"))
    assert isinstance(fact, CommandRejected)
    changed = {key for key, value in scenario.store.items() if before.get(key) != value}
    assert changed == {command_key(ACME, scenario.events[-1].header.command_id)}


def test_not_due_is_not_remembered(scenario: Scenario) -> None:
    before = dict(scenario.store)
    fact = scenario.ask(expire("plain"))
    assert isinstance(fact, CommandRejected)
    assert fact.reason is Reason.NOT_DUE
    assert scenario.store == before


def test_the_genesis_record_changes_nothing(scenario: Scenario) -> None:
    fact = PartitionOpened(log_id=LogId("x"), partition=0, partitions=4)
    event = Event(header=scenario.events[0].header, fact=fact)
    assert folds(event, {}) == ()
    assert fold({}, event) == {}


def test_an_event_that_does_not_follow_is_impossible(scenario: Scenario) -> None:
    first = next(event for event in scenario.events if isinstance(event.fact, KeyIssued) and event.fact.subject)
    # A record that nobody remembers and that is about somebody forgotten since.
    late = next(event for event in scenario.events if isinstance(event.fact, MemoryAccepted))
    del scenario.store[memory_key(ACME, memory("plain"))]
    forgotten = scenario.given(forget_subject()).events[-1]
    for event in (first, late, forgotten):
        entries: dict[LedgerKey, Entry | None] = {key: scenario.entry(key) for key in folds(event, {})}
        with pytest.raises(ImpossibleFact):
            fold(entries, event)


def test_tenants_whose_names_begin_alike_have_keys_of_their_own() -> None:
    assert memory_key(TenantId("acme"), MemoryId("m")) != memory_key(TenantId("acme-2"), MemoryId("m"))
    for key in (tenant_key(ACME), subject_key(ACME, ALICE), command_key(ACME, NEW)):
        assert key.split(":")[1] == "acme"


@pytest.mark.parametrize(
    "entry",
    [
        TenantState(incarnation=1, key_id=KeyId("k")),
        SubjectState(generation=2, closed=True, root_key_id=None, records=7),
        KeyState(key_id=KeyId("k"), subject=ALICE, generation=1, bucket=MONTH),
        IdempotencyEntry(
            first_command_id=NEW, payload_digest=b"\x00\xff", memory_id=None, version=None, decided_at=Millis(1)
        ),
        CommandSeen(decided_at=NOW),
    ],
)
def test_an_entry_comes_back_from_its_bytes(entry: Entry) -> None:
    assert decode_entry(encode_entry(entry)) == entry


def test_a_record_comes_back_from_its_bytes(scenario: Scenario) -> None:
    state = scenario.record(memory("shared"))
    assert state.about[0].subject == BOB
    assert decode_entry(encode_entry(state)) == state
    assert len(encode_entry(scenario.record(memory("plain")))) < 280


def test_foreign_bytes_are_no_entry() -> None:
    for data in (b"", b"\xc0", msgspec.msgpack.encode([99, 1]), msgspec.msgpack.encode({"a": 1})):
        with pytest.raises(ValueError):
            decode_entry(data)


def test_idempotency_of_a_command() -> None:
    used = once()
    assert idempotency_of(remember(draft("m", KeyId("k")), idempotency=used)) == used
    assert idempotency_of(IssueKey(tenant=ACME)) is None

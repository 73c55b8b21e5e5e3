"""The erasure ledger: numbered, chained, appended once per closing event, and never on a file that was changed."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from eunoe.processors.attesting.erasure_ledger import (
    RESTORED,
    RESTORING,
    SETTLED,
    BrokenErasureLedger,
    Closing,
    ErasureLedger,
)
from eunoe.schemas.ids import EventId, LogId, Offset, Partition, Pseudonym, TenantId, new_id

LOG = LogId(new_id())


def closing(partition: int, offset: int, event: str, person: str) -> Closing:
    return Closing(
        partition=Partition(partition),
        offset=Offset(offset),
        event_id=EventId(event),
        tenant=TenantId("acme"),
        subject=Pseudonym(person),
        generation=1,
    )


def append(path: Path, partition: int, offset: int, event: str, log: LogId = LOG, person: str = "") -> int:
    return ErasureLedger(path).append(log, closing(partition, offset, event, person or event)).number


def test_entries_are_numbered_and_an_event_is_entered_once(tmp_path: Path) -> None:
    path = tmp_path / "outside" / "erasures.jsonl"
    assert ErasureLedger(path).entries() == ()
    assert [append(path, 0, 5, "a"), append(path, 1, 3, "b"), append(path, 0, 5, "a"), append(path, 0, 9, "c")] == [
        1,
        2,
        1,
        3,
    ]
    assert [each.number for each in ErasureLedger(path).entries()] == [1, 2, 3]
    assert (path.stat().st_mode & 0o777) == 0o600


def test_many_are_entered_by_one_flush_and_what_is_there_already_keeps_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    ledger = ErasureLedger(tmp_path / "erasures.jsonl")
    append(ledger.path, 0, 5, "there")
    flushed.clear()
    some = [closing(0, offset, event, event) for offset, event in ((7, "a"), (5, "there"), (9, "b"), (7, "a"))]
    assert [each.number for each in ledger.append_all(LOG, some)] == [2, 1, 3, 2]
    assert len(flushed) == 1
    assert [each.number for each in ledger.append_all(LOG, some)] == [2, 1, 3, 2]
    assert len(flushed) == 2, "whoever wrote them may have been killed before the disk had them"
    assert [each.number for each in ledger.entries()] == [1, 2, 3]


def test_whoever_is_killed_among_many_leaves_whole_entries_and_the_rest_is_entered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = ErasureLedger(tmp_path / "erasures.jsonl")
    many = [closing(0, offset, f"event-{offset}", f"person-{offset}") for offset in range(300)]
    write, left = os.write, iter(range(200))

    def dying(file: int, content: bytes) -> int:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return write(file, content)

    monkeypatch.setattr(os, "write", dying)
    with pytest.raises(KeyboardInterrupt):
        ledger.append_all(LOG, many)
    monkeypatch.setattr(os, "write", write)
    assert [each.number for each in ledger.entries()] == list(range(1, 201))
    assert [each.number for each in ledger.append_all(LOG, many)] == list(range(1, 301))
    assert [each.closing for each in ledger.entries()] == many


def test_what_a_log_must_hold_is_the_last_closing_of_each_person(tmp_path: Path) -> None:
    path = tmp_path / "erasures.jsonl"
    for partition, offset, event in ((0, 9, "a"), (0, 5, "b"), (1, 3, "c")):
        append(path, partition, offset, event)
    append(path, 0, 70, "d", LogId(new_id()))
    found = ErasureLedger(path).standing(LOG)
    assert {partition: each.event_id for partition, each in found.highest.items()} == {0: "a", 1: "c"}
    assert not found.restoring
    # Forgotten again in a restored log that ended before offset 9: the new closing is what counts.
    append(path, 0, 7, "a-again", person="a")
    found = ErasureLedger(path).standing(LOG)
    assert {partition: each.event_id for partition, each in found.highest.items()} == {0: "a-again", 1: "c"}
    ErasureLedger(path).append(LOG, closing(1, 3, "c", "c"), SETTLED)
    assert set(ErasureLedger(path).standing(LOG).highest) == {0}


def test_a_restore_that_was_begun_and_not_finished_is_known(tmp_path: Path) -> None:
    ledger = ErasureLedger(tmp_path / "erasures.jsonl")
    ledger.mark(LOG, RESTORING)
    assert ledger.standing(LOG).restoring
    assert not ledger.standing(LogId(new_id())).restoring
    append(ledger.path, 0, 7, "a")
    assert ledger.standing(LOG).restoring
    ledger.mark(LOG, RESTORED)
    assert not ledger.standing(LOG).restoring
    ledger.mark(LOG, RESTORING)
    assert ledger.standing(LOG).restoring


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda text: text.replace('"offset":2', '"offset":3'), 3),
        (lambda text: "".join(text.splitlines(True)[1:]), 1),
        (lambda text: text[:-4], 3),
        (lambda text: text + "{}\n", 4),
    ],
    ids=["altered", "cut at the start", "cut at the end", "added to"],
)
def test_a_file_that_something_else_changed_is_refused_and_left_alone(
    tmp_path: Path, change: object, line: int
) -> None:
    path = tmp_path / "erasures.jsonl"
    for offset in (1, 2, 4):
        append(path, 0, offset, f"event-{offset}")
    assert callable(change)
    path.write_text(changed := change(path.read_text()))
    with pytest.raises(BrokenErasureLedger) as caught:
        append(path, 0, 7, "event-7")
    assert caught.value.line == line
    assert path.read_text() == changed


def test_those_that_append_at_once_make_one_chain(tmp_path: Path) -> None:
    """Each opens the file for itself, so the lock holds between threads as between processes."""
    path = tmp_path / "erasures.jsonl"
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda offset: append(path, 0, offset, f"event-{offset}"), range(30)))
    assert sorted(numbers) == list(range(1, 31))
    assert len(ErasureLedger(path).entries()) == 30


def test_each_forgotten_incarnation_of_a_tenant_is_kept_beside_its_people(tmp_path: Path) -> None:
    """A log from before the first of them would have that one's data in use, whatever came of the name later."""
    ledger = ErasureLedger(tmp_path / "erasures.jsonl")
    for offset, person, generation in ((3, "anna", 1), (5, None, 1), (9, None, 2), (12, None, 1)):
        whom = closing(0, offset, f"event {offset}", "")
        subject = None if person is None else Pseudonym(person)
        ledger.append(LOG, replace(whom, subject=subject, generation=generation))
    found = [each.closing for each in ledger.standing(LOG).newest if each.closing is not None]
    assert {(each.subject, each.generation, each.offset) for each in found} == {
        ("anna", 1, 3),
        (None, 1, 12),
        (None, 2, 9),
    }

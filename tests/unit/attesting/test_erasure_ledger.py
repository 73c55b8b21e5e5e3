"""The erasure ledger: numbered, chained, appended once per closing event, and never on a file that was changed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from eunoe.processors.attesting.erasure_ledger import BrokenErasureLedger, ErasureLedger
from eunoe.schemas.ids import EventId, LogId, Offset, Partition, new_id

LOG = LogId(new_id())


def append(path: Path, partition: int, offset: int, event: str, log: LogId = LOG) -> int:
    return ErasureLedger(path).append(log, Partition(partition), Offset(offset), EventId(event)).number


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


def test_the_last_entry_of_each_partition_is_that_of_its_highest_offset(tmp_path: Path) -> None:
    path = tmp_path / "erasures.jsonl"
    for partition, offset, event in ((0, 9, "a"), (0, 5, "b"), (1, 3, "c")):
        append(path, partition, offset, event)
    append(path, 0, 70, "d", LogId(new_id()))
    found = ErasureLedger(path).last(LOG)
    assert {partition: each.event_id for partition, each in found.items()} == {0: "a", 1: "c"}


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

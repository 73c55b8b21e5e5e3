"""Evidence ids are matched by pattern, and questions without any are left out. The data here is made up."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from eunoe.bench.locomo_data import (
    CHOSEN_ON,
    HELD_OUT,
    LocomoAbsent,
    covered,
    evidence_ids,
    load,
    locomo_folder,
    parse_time,
)

CONVERSATION: dict[str, Any] = {
    "session_1_date_time": "12:09 am on 13 September, 2023",
    "session_1": [],
    "session_1_observation": {
        "Ann": [["Ann bought a kite.", "D1:2"], ["Ann likes wind.", ["D1:2", "D1:4"]]],
        "Bob": [["Bob sold a boat.", "D1:3"]],
    },
    "session_2_date_time": "1:56 pm on 8 May, 2024",
    "session_2_observation": {"Ann": [["Ann lost the kite.", "D2:1"]]},
    "qa": [
        {"question": "What did Ann buy?", "answer": "kite", "evidence": ["D1:2; D2:1"], "category": 1},
        {"question": "No evidence?", "answer": 1, "evidence": [], "category": 4},
        {"question": "Broken ids?", "answer": 1, "evidence": ["D", "D:1:2"], "category": 4},
        {"question": "Adversarial?", "evidence": ["D1:2"], "category": 5},
        {"question": "Twice?", "answer": 1, "evidence": ["D1:3", "D1:3"], "category": 4},
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "x.json").write_text(json.dumps(CONVERSATION))
    return tmp_path


def test_observations_keep_file_order_evidence_and_utc_time(folder: Path) -> None:
    (conversation,) = load(folder, ("x",))
    assert [(o.number, o.session, o.speaker, o.evidence) for o in conversation.observations] == [
        (0, 1, "Ann", ("D1:2",)),
        (1, 1, "Ann", ("D1:2", "D1:4")),
        (2, 1, "Bob", ("D1:3",)),
        (3, 2, "Ann", ("D2:1",)),
    ]
    assert conversation.observations[0].observed_at == datetime(2023, 9, 13, 0, 9, tzinfo=UTC)


def test_only_answerable_questions_with_evidence_are_kept_each_once(folder: Path) -> None:
    (conversation,) = load(folder, ("x",))
    assert [(q.number, q.evidence) for q in conversation.questions] == [(0, ("D1:2", "D2:1")), (4, ("D1:3",))]
    (adversarial,) = load(folder, ("x",), frozenset({5}))
    assert [q.number for q in adversarial.questions] == [3]


def test_covered_is_the_share_of_evidence_the_records_came_from(folder: Path) -> None:
    (conversation,) = load(folder, ("x",))
    question = conversation.questions[0]
    assert covered(question, conversation.observations[:2]) == 0.5
    assert covered(question, conversation.observations) == 1.0
    assert covered(question, ()) == 0.0


def test_evidence_ids_are_found_in_strings_and_nested_lists() -> None:
    assert evidence_ids("D8:6; D9:17") == ("D8:6", "D9:17")
    assert evidence_ids(["D1:1", ["D1:1", "D2:30"], 7, None]) == ("D1:1", "D2:30")
    assert evidence_ids(None) == ()


def test_times_are_parsed_and_absent_data_is_named(tmp_path: Path) -> None:
    assert parse_time("1:56 pm on 8 May, 2023") == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    with pytest.raises(LocomoAbsent, match="EUNOE_LOCOMO") as absent:
        load(tmp_path, ("26",))
    assert (absent.value.folder, absent.value.name) == (tmp_path, "26")
    assert locomo_folder({"EUNOE_LOCOMO": str(tmp_path)}) == tmp_path


def test_the_public_data_has_the_known_shape() -> None:
    folder = locomo_folder()
    if not (folder / "26.json").is_file():
        pytest.skip(f"LoCoMo is not in {folder}: set EUNOE_LOCOMO to read it from elsewhere")
    counts = [len(conversation.questions) for conversation in load(folder)]
    assert sum(counts) == 760
    assert sum(counts[: len(CHOSEN_ON)]) == 383
    assert len(counts) == len(CHOSEN_ON + HELD_OUT)

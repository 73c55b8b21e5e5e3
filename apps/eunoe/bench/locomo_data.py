"""LoCoMo conversations as memories and questions, and the match between them.

Reads the five files named in ``EUNOE_LOCOMO`` (default ``../shared/data/locomo``). Their licence (CC BY-NC 4.0) is
non-commercial, so no text of theirs is kept in this project: it is read where it lies.

One observation is one memory: the statement is the fact, its evidence ids are the dialogue turns it was drawn from.
One conversation is one tenant. Evidence ids are matched by ``D<session>:<turn>``: a few fields hold several ids in one
string, and a question whose fields hold none is left out, because nothing could be recalled for it.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

CHOSEN_ON = ("26", "30", "41")
"""Conversations on which ranking settings were chosen."""
HELD_OUT = ("42", "43")
"""Conversations that were looked at only to report."""
ANSWERABLE = frozenset({1, 2, 3, 4})
"""Categories with an answer in the conversation: multi-hop, temporal, open, single-hop. 5 is adversarial."""

_EVIDENCE = re.compile(r"D\d+:\d+")
_SESSION = re.compile(r"session_(\d+)_observation")
_DEFAULT_FOLDER = "../shared/data/locomo"


class LocomoAbsent(Exception):
    """The data folder or one of its files is not there. ``folder`` says where it was looked for."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(
            f"LoCoMo conversation {name!r} is not in {str(folder)!r}: set EUNOE_LOCOMO to the folder that holds "
            "26.json, 30.json, 41.json, 42.json and 43.json (snap-research/locomo, CC BY-NC 4.0)"
        )
        self.folder = folder
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One memory. ``number`` counts from 0 within its conversation; ``evidence`` are the turns it came from."""

    conversation: str
    number: int
    session: int
    speaker: str
    statement: str
    evidence: tuple[str, ...]
    observed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question. ``evidence`` holds distinct ids in the order of the file and is never empty."""

    conversation: str
    number: int
    text: str
    category: int
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A tenant of the benchmark: its memories in file order and the questions asked of it."""

    name: str
    observations: tuple[Observation, ...]
    questions: tuple[Question, ...]


def locomo_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the data is looked for."""
    return Path(environment.get("EUNOE_LOCOMO", _DEFAULT_FOLDER))


def evidence_ids(field: object) -> tuple[str, ...]:
    """Distinct turn ids in a string or a (nested) list of strings, in order of first mention."""
    parts = (field,) if isinstance(field, str) else field if isinstance(field, Iterable) else ()
    found: dict[str, None] = {}
    for part in parts:
        ids = _EVIDENCE.findall(part) if isinstance(part, str) else evidence_ids(part)
        found.update(dict.fromkeys(ids))
    return tuple(found)


def load(
    folder: Path,
    names: Sequence[str] = CHOSEN_ON + HELD_OUT,
    categories: frozenset[int] = ANSWERABLE,
) -> tuple[Conversation, ...]:
    """The named conversations with their questions of these categories. Raises `LocomoAbsent`."""
    return tuple(_conversation(folder, name, categories) for name in names)


def parse_time(text: str) -> datetime:
    """``1:56 pm on 8 May, 2023`` as UTC: the times of the data are naive and are taken as UTC."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def covered(question: Question, retrieved: Iterable[Observation]) -> float:
    """Share of the question's evidence ids that the retrieved memories came from, in [0, 1]."""
    held = {turn for observation in retrieved for turn in observation.evidence}
    return len(held.intersection(question.evidence)) / len(question.evidence)


def _conversation(folder: Path, name: str, categories: frozenset[int]) -> Conversation:
    path = folder / f"{name}.json"
    if not path.is_file():
        raise LocomoAbsent(folder, name)
    data: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    return Conversation(
        name=name,
        observations=tuple(_observations(name, data)),
        questions=tuple(_questions(name, data["qa"], categories)),
    )


def _observations(name: str, data: Mapping[str, Any]) -> Iterable[Observation]:
    number = 0
    for key, speakers in data.items():
        if (match := _SESSION.fullmatch(key)) is None:
            continue
        observed_at = parse_time(data[f"session_{match[1]}_date_time"])
        for speaker, facts in speakers.items():
            for statement, evidence in facts:
                yield Observation(
                    conversation=name,
                    number=number,
                    session=int(match[1]),
                    speaker=speaker,
                    statement=statement,
                    evidence=evidence_ids(evidence),
                    observed_at=observed_at,
                )
                number += 1


def _questions(name: str, entries: Sequence[Mapping[str, Any]], kept: frozenset[int]) -> Iterable[Question]:
    for number, entry in enumerate(entries):
        evidence = evidence_ids(entry.get("evidence", ()))
        if entry["category"] in kept and evidence:
            yield Question(
                conversation=name,
                number=number,
                text=entry["question"],
                category=entry["category"],
                evidence=evidence,
            )

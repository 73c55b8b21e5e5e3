"""LoCoMo through the real pipeline: every observation remembered, every question searched, bm25s on the same questions.

One conversation is a tenant. Observations are sent in the order of the file, each session an occasion of its own
(docs/ranking.md); commands are published, decided, projected and searched as in production, only in one process.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from eunoe.bench.figures import Figure, percentile
from eunoe.bench.ground import Ground
from eunoe.bench.locomo_baseline import bm25s_answers
from eunoe.bench.locomo_data import Conversation, Observation, Question, covered
from eunoe.client.lines import line_of
from eunoe.client.memory import Memory
from eunoe.readmodels.recall.candidates import AnyRanking
from eunoe.readmodels.recall.rank import Overlap
from eunoe.readmodels.recall.rank_passes import Passes
from eunoe.readmodels.recall.scope import ReadScope
from eunoe.schemas.ids import AgentId, MemoryId, TenantId
from eunoe.schemas.outcomes import Outcome, OutcomeStatus
from eunoe.worker.embedded import running_services

DEPTHS: Final = (5, 10, 20)
DEFAULT: Final = "eunoe, default ranking"
BASELINE: Final = "bm25s"
_RANKINGS: Final[tuple[tuple[str, Passes | AnyRanking | None], ...]] = (
    (DEFAULT, None),
    ("eunoe, all passes", Passes()),
    ("eunoe, Overlap", Overlap()),
)
_AGENT: Final = AgentId("locomo")
_PURPOSE: Final = "recall"
_TTL: Final = "P365D"
_OUTCOME_S: Final = 60.0
_IN_FLIGHT: Final = 500

Answer = tuple[Question, Sequence[Observation]]
"""A question, and what was brought for it, best first."""
Progress = Callable[[str], None]


class NotRemembered(Exception):
    """Observations were not accepted: figures on part of the data would mean nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One ranking's answers to every question."""

    name: str
    answers: tuple[Answer, ...]

    def recalls(self, depth: int, conversations: Sequence[str]) -> list[float]:
        """Evidence recall at ``depth`` of each question of the named conversations."""
        return [covered(asked, found[:depth]) for asked, found in self.answers if asked.conversation in conversations]


@dataclass(slots=True)
class _Remembered:
    """Which observation each record is, and the token after which each conversation is readable."""

    records: dict[MemoryId, Observation]
    tokens: dict[str, str]


async def run_all(
    ground: Ground, conversations: Sequence[Conversation], progress: Progress
) -> tuple[list[Run], list[Figure]]:
    """Remember everything, ask everything of each ranking. Raises `NotRemembered`, and what the services raise."""
    remembered = _Remembered({}, {})
    async with running_services(ground.settings) as services, Memory.connect(ground.settings) as memory:
        await services.ready()
        started = time.perf_counter()
        for each in conversations:
            progress(f"remembering conversation {each.name} ({len(each.observations)} observations)")
            remembered.tokens[each.name] = await _remember(memory, each, remembered.records)
        seconds = time.perf_counter() - started
        progress("waiting until everything can be searched")
        await _settled(memory, conversations, remembered)
        figures = [
            Figure(name="remembered, outcomes awaited", unit="records/s", values=(len(remembered.records) / seconds,))
        ]
        runs = []
        for name, ranking in _RANKINGS:
            progress(f"asking: {name}")
            run, took = await _ask(memory, conversations, remembered, name, ranking)
            runs.append(run)
            figures += [
                Figure(name=f"search, {name}, {label}", unit="ms", values=(percentile(took, share) * 1_000,))
                for label, share in (("p50", 0.5), ("p99", 0.99))
            ]
    progress(f"asking: {BASELINE}")
    theirs = [answer for each in conversations for answer in bm25s_answers(each, max(DEPTHS))]
    runs.append(Run(name=BASELINE, answers=tuple(theirs)))
    return runs, figures


async def _remember(memory: Memory, conversation: Conversation, records: dict[MemoryId, Observation]) -> str:
    """Send in order, await every outcome. Returns the last outcome's token."""
    room = asyncio.Semaphore(_IN_FLIGHT)
    waiting: list[asyncio.Task[Outcome]] = []
    async with asyncio.TaskGroup() as group:
        for observation in conversation.observations:
            await room.acquire()
            sent = await memory.send(line_of(_fields(observation)))
            assert sent.memory_id is not None
            records[sent.memory_id] = observation
            task = group.create_task(sent.outcome(_OUTCOME_S))
            task.add_done_callback(lambda _: room.release())
            waiting.append(task)
    outcomes = [task.result() for task in waiting]
    refused = [each for each in outcomes if each.status is not OutcomeStatus.ACCEPTED]
    if refused:
        why = ", ".join(sorted({f"{each.status} {each.reason or ''}".strip() for each in refused}))
        raise NotRemembered(f"{len(refused)} observations of conversation {conversation.name}: {why}")
    return outcomes[-1].token


def _fields(observation: Observation) -> dict[str, object]:
    return {
        "op": "remember",
        "tenant": _tenant(observation.conversation),
        "agent": _AGENT,
        "subject": observation.speaker,
        "purposes": [_PURPOSE],
        "statement": observation.statement,
        "source": {
            "kind": "user_explicit",
            "uri": f"locomo:{observation.conversation}/session_{observation.session}",
            "event_ids": list(observation.evidence),
            "observed_at": observation.observed_at,
        },
        "confidence": 0.9,
        "ttl": _TTL,
    }


async def _settled(memory: Memory, conversations: Sequence[Conversation], remembered: _Remembered) -> None:
    for each in conversations:
        await memory.search(
            "anything",
            tenant=_tenant(each.name),
            agent=_AGENT,
            purpose=_PURPOSE,
            after=remembered.tokens[each.name],
            timeout=_OUTCOME_S,
        )


async def _ask(
    memory: Memory,
    conversations: Sequence[Conversation],
    remembered: _Remembered,
    name: str,
    ranking: Passes | AnyRanking | None,
) -> tuple[Run, list[float]]:
    """The answers, and how long each search took in seconds."""
    answers: list[Answer] = []
    seconds: list[float] = []
    for conversation in conversations:
        scope = ReadScope(
            tenant=TenantId(_tenant(conversation.name)),
            agent=_AGENT,
            purpose=_PURPOSE,
            principal=memory.reading.principal,
        )
        for question in conversation.questions:
            started = time.perf_counter()
            found = await memory.reading.reader.search(scope, question.text, limit=max(DEPTHS), ranking=ranking)
            seconds.append(time.perf_counter() - started)
            answers.append((question, [remembered.records[each.memory_id] for each in found.records]))
    return Run(name=name, answers=tuple(answers)), seconds


def _tenant(conversation: str) -> str:
    return f"locomo-{conversation}"

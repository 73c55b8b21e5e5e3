"""What Redis finds is what the ranking itself says of all records of the scope, held in memory."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest

from eunoe.readmodels.recall.analyse import Analyser
from eunoe.readmodels.recall.rank import Bm25, Document, Overlap
from eunoe.readmodels.recall.rank_feedback import Feedback
from eunoe.readmodels.recall.rank_neighbours import Neighbours, Place
from eunoe.readmodels.recall.rank_passes import Passes
from eunoe.readmodels.recall.reader import ReaderSettings
from eunoe.readmodels.recall.stored import instant
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.ids import Millis
from eunoe.schemas.values import Visibility
from eunoe.testing.recalling import RecallWorld
from eunoe.testing.samples import SAMPLE_TENANT, SAMPLE_TIME, sample_accepted, sample_event

ANALYSER = Analyser()
TEXT = """tea coffee garden window delivery evening morning invoice refund bicycle chain mountain river lake winter
summer doctor teacher school piano violin concert ticket train station airport luggage hotel kitchen oven bread butter
cheese tomato basil pepper salad soup spoon table chair lamp candle"""
WORDS = tuple(TEXT.split())
DAY = 86_400_000
ONE_PASS: Final[Mapping[str, Any]] = {"feedback": None, "neighbours": None}
ONE = Passes(feedback=None, neighbours=None)
EXACT = ReaderSettings(cap=1 << 40)


@dataclass(frozen=True, slots=True)
class Held:
    """The records of one scope as the oracle sees them."""

    documents: list[Document]
    places: dict[str, Place]


def sentence(chance: random.Random, least: int = 3, most: int = 14) -> str:
    """Zipf-distributed: the first words are everywhere, the last ones rare."""
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    return " ".join(chance.choices(WORDS, weights, k=chance.randint(least, most)))


async def filled(world: RecallWorld, records: int, seed: int = 1) -> Held:
    """Records of the sample agent and shared ones, some of one occasion."""
    chance = random.Random(seed)
    events, occasions = [], []
    for _ in range(records):
        statement, uri = sentence(chance), f"chat://{chance.randrange(9)}"
        draft = await world.draft(
            statement,
            contents=MemoryBody(statement=statement, source_uri=uri),
            observed_at=Millis(SAMPLE_TIME - chance.randrange(12) * DAY),
            visibility=chance.choice(tuple(Visibility)),
            confidence=chance.randrange(101) / 100,
        )
        made = Millis(SAMPLE_TIME - chance.randrange(90 * DAY))
        events.append(sample_event(sample_accepted(draft), decided_at=made))
        occasions.append((draft, statement, made, f"{draft.observed_at} {uri}"))
    offsets = await world.write(SAMPLE_TENANT, events)
    documents = [
        Document(
            id=draft.memory_id,
            terms=ANALYSER.document(statement, instant(draft.observed_at)),
            confidence=draft.confidence,
            created_at=made,
        )
        for draft, statement, made, _ in occasions
    ]
    places: dict[str, Place] = {
        draft.memory_id: Place(occasion=occasion, position=offset)
        for offset, (draft, _, _, occasion) in zip(offsets, occasions, strict=True)
    }
    return Held(documents, places)


@pytest.mark.parametrize(
    "passes",
    [
        Passes(ranking=Bm25(), **ONE_PASS),
        Passes(ranking=Overlap(), **ONE_PASS),
        Passes(ranking=Bm25(confidence=2.0, recency_weight=3.0), **ONE_PASS),
        Passes(feedback=None),
        Passes(neighbours=None),
        Passes(),
        Passes(feedback=Feedback(records=3, terms=5, share=0.9), neighbours=Neighbours(share=0.8, candidates=20)),
    ],
    ids=["bm25", "overlap", "other-shares", "neighbours", "feedback", "all", "strong"],
)
async def test_uncapped_search_is_the_ranking_itself(world: RecallWorld, passes: Passes) -> None:
    held = await filled(world, 400)
    reader = world.new_reader(settings=EXACT)
    chance = random.Random(2)
    for _ in range(12):
        query = sentence(chance, 1, 6)
        expected = passes.rank(ANALYSER.query(query), held.documents, held.places, SAMPLE_TIME)[:10]
        result = await reader.search(world.scope(), query, ranking=passes)
        assert not result.capped
        assert [(each.memory_id, each.score) for each in result.records] == [
            (identity, score.total) for identity, score in expected
        ]
        assert [each.terms for each in result.records] == [score.contributions for _, score in expected]


async def test_a_cap_gives_up_little_and_says_so(world: RecallWorld) -> None:
    held = await filled(world, 2_000)
    reader = world.new_reader(settings=ReaderSettings(cap=64))
    chance, found, wanted, capped = random.Random(3), 0, 0, 0
    for _ in range(40):
        query = sentence(chance, 5, 5)
        expected = ONE.rank(ANALYSER.query(query), held.documents, {}, SAMPLE_TIME)[:10]
        result = await reader.search(world.scope(), query, ranking=ONE)
        found += len({each.memory_id for each in result.records} & {identity for identity, _ in expected})
        wanted += len(expected)
        capped += result.capped
        if not result.capped:
            assert [each.score for each in result.records] == [score.total for _, score in expected]
    # Forty-four words for two thousand records: far worse than text, where 0.95 is the bar.
    assert found / wanted > 0.7
    assert capped > 0


async def test_a_scope_too_large_for_them_gets_the_first_pass_and_says_so(world: RecallWorld) -> None:
    held = await filled(world, 120)
    expected = ONE.rank(ANALYSER.query("tea garden lamp"), held.documents, {}, SAMPLE_TIME)[:10]
    small = world.new_reader(settings=ReaderSettings(cap=1 << 40, passes_up_to=119))
    result = await small.search(world.scope(), "tea garden lamp", ranking=Passes())
    assert [(each.memory_id, each.score) for each in result.records] == [(one, score.total) for one, score in expected]
    assert result.passes == ()
    full = await world.reader.search(world.scope(), "tea garden lamp", ranking=Passes())
    assert full.passes == ("feedback", "neighbours")
    assert [each.score for each in full.records] != [each.score for each in result.records]

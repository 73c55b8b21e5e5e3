"""The passes stay ahead of bm25s on LoCoMo. Long: it ranks 760 questions; the data is read where it lies."""

import bm25s
import pytest
import Stemmer

from eunoe.bench.locomo_data import Conversation, covered, load, locomo_folder
from eunoe.bench.statistics import paired_bootstrap
from eunoe.readmodels.recall.analyse import Analyser
from eunoe.readmodels.recall.rank import Document
from eunoe.readmodels.recall.rank_neighbours import Place
from eunoe.readmodels.recall.rank_passes import Passes
from eunoe.schemas.ids import Millis

NOW = Millis(1_800_000_000_000)


def ours(conversation: Conversation, passes: Passes) -> list[float]:
    """Evidence recall at 10 of each question."""
    analyser = Analyser()
    observations = conversation.observations
    documents = [
        Document(
            id=f"{each.number:05}",
            terms=analyser.document(each.statement, each.observed_at),
            confidence=0.9,
            created_at=NOW,
        )
        for each in observations
    ]
    places = {f"{o.number:05}": Place(occasion=str(o.session), position=o.number) for o in observations}
    return [
        covered(question, [observations[int(name)] for name, _ in ranked[:10]])
        for question in conversation.questions
        for ranked in [passes.rank(analyser.query(question.text), documents, places, NOW)]
    ]


def theirs(conversation: Conversation) -> list[float]:
    """The same of bm25s with its English stop words and stemmer."""
    stemmer = Stemmer.Stemmer("english")
    statements = [observation.statement for observation in conversation.observations]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(statements, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
    texts = [question.text for question in conversation.questions]
    asked = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False, return_ids=False)
    found, _ = index.retrieve(asked, k=10, show_progress=False)
    return [
        covered(question, [conversation.observations[int(number)] for number in row])
        for question, row in zip(conversation.questions, found, strict=True)
    ]


@pytest.mark.long
@pytest.mark.parametrize("passes", [Passes(), Passes(feedback=None, neighbours=None)], ids=["all", "single"])
def test_recall_at_ten_is_ahead_of_bm25s(passes: Passes) -> None:
    folder = locomo_folder()
    if not (folder / "26.json").is_file():
        pytest.skip(f"LoCoMo is not in {folder}: set EUNOE_LOCOMO to read it from elsewhere")
    conversations = load(folder)
    mine = [figure for conversation in conversations for figure in ours(conversation, passes)]
    baseline = [figure for conversation in conversations for figure in theirs(conversation)]
    assert sum(baseline) / len(baseline) == pytest.approx(0.579, abs=0.003)
    result = paired_bootstrap(mine, baseline)
    assert result.pairs == 760
    assert result.ahead, result

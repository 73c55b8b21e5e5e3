"""Text by Zipf's law, the same each time."""

from collections import Counter

from eunoe.bench.project_report import Sizes
from eunoe.bench.text import ZipfText
from eunoe.readmodels.recall.analyse import Analyser


def test_the_same_seed_gives_the_same_text_and_another_seed_another() -> None:
    first, again, other = (ZipfText(seed).sentence(10) for seed in (1, 1, 2))
    assert first == again != other


def test_every_rank_has_a_word_of_its_own() -> None:
    text = ZipfText(1)
    assert len(set(text._words)) == len(text._words)


def test_a_word_of_rank_r_comes_about_1_in_r_times_as_often_as_the_first() -> None:
    text = ZipfText(3)
    counts = Counter(text.word() for _ in range(60_000))
    first, second, tenth = (counts[text._words[rank]] for rank in (0, 1, 9))
    assert 1.7 < first / second < 2.3
    assert 8 < first / tenth < 12


def test_ten_words_make_the_twenty_terms_of_the_bar() -> None:
    text, analyser = ZipfText(1), Analyser()
    sizes = Sizes(records=1, repetitions=1, seed=1)
    terms = [len(analyser.document(text.sentence(sizes.words)).counts) for _ in range(500)]
    assert 19.8 < sum(terms) / len(terms) <= 20

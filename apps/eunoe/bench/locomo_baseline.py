"""bm25s on the same questions: its own English stop words, Snowball English, its own defaults (docs/ranking.md)."""

import logging

import bm25s
import Stemmer

from eunoe.bench.locomo_data import Conversation, Observation, Question

logging.getLogger("bm25s").setLevel(logging.WARNING)  # it brings a handler of its own and tells of every index


def bm25s_answers(conversation: Conversation, depth: int) -> list[tuple[Question, tuple[Observation, ...]]]:
    """The best ``depth`` observations of each question of one conversation."""
    stemmer = Stemmer.Stemmer("english")
    statements = [observation.statement for observation in conversation.observations]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(statements, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
    texts = [question.text for question in conversation.questions]
    asked = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False, return_ids=False)
    found, _ = index.retrieve(asked, k=min(depth, len(statements)), show_progress=False)
    return [
        (question, tuple(conversation.observations[int(number)] for number in row))
        for question, row in zip(conversation.questions, found, strict=True)
    ]

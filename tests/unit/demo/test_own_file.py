"""What the demo makes of a file it does not know: texts to look for, questions to ask."""

from typing import Any

from eunoe.demo.own_file import questions
from eunoe.demo.texts import texts_of


def line(statement: str, **over: Any) -> dict[str, Any]:
    fields = {"op": "remember", "tenant": "acme", "agent": "bot", "purposes": ["support"], "statement": statement}
    return {**fields, **over}


def test_everything_that_is_sealed_is_looked_for_once() -> None:
    source = {"kind": "system", "uri": "crm://1", "provenance": "ticket", "event_ids": ["e-1"]}
    texts = texts_of(
        [line("Prefers tea.", subject="ann", about=["bert"], key="drink", source=source), line("Prefers tea.")], ()
    )
    assert [(each.kind, each.text) for each in texts.wanted] == [
        ("statement", "Prefers tea."),
        ("subject", "ann"),
        ("claim key", "drink"),
        ("subject", "bert"),
        ("source", "crm://1"),
        ("source", "ticket"),
        ("source event", "e-1"),
    ]
    assert texts.left_out == 0


def test_what_is_in_the_clear_by_design_is_left_out_and_counted() -> None:
    texts = texts_of([line("Prefers tea.", subject="support", key="acme")], ["the policy names ann"], ["ann", "rare"])
    assert [each.text for each in texts.wanted] == ["Prefers tea.", "rare"]
    assert texts.left_out == 3


def test_fields_of_another_type_are_passed_over() -> None:
    odd = {"op": 1, "tenant": None, "purposes": "support", "statement": 5, "source": [], "about": [None, 3]}
    assert texts_of([odd], ()).wanted == ()
    assert questions([(1, odd)]) == []


def test_a_question_is_made_of_the_rarest_words_of_a_record() -> None:
    lines = [line(f"Every customer likes number {word} very much.") for word in ("quillback", "kittiwake", "dotterel")]
    asked = questions(list(enumerate(lines, start=1)))
    assert [(number, "quillback" in query) for number, _, query in asked] == [(1, True), (2, False), (3, False)]
    assert all(len(query.split()) <= 4 for _, _, query in asked)


def test_few_questions_are_spread_over_a_long_file() -> None:
    lines = [(number, line(f"Statement about customer {'abcdefghij'[number % 10] * 6}.")) for number in range(1, 101)]
    assert [number for number, _, _ in questions(lines)] == [1, 21, 41, 61, 81]
    assert questions([(1, line("Prefers tea and toast.", op="correct"))]) == []

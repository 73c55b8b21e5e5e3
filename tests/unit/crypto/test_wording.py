"""The same words in another dress are the same; other words are not."""

import pytest

from eunoe.crypto.wording import same_words

PLAIN = "Prefers delivery after 18:00"


@pytest.mark.parametrize(
    "dressed",
    [
        "Prefers delivery after 18:00.",
        "  prefers   DELIVERY after 18:00 \n",
        "- Prefers delivery after 18:00",
        "* [x] Prefers delivery\nafter 18:00",
        "12. Prefers\tdelivery after 18:00.",
        "\u2022 Prefers\u200b delivery after 18:00",
        "\uff30refers delivery after 18:00\u3002",
    ],
)
def test_what_a_list_a_keyboard_or_a_break_adds_changes_nothing(dressed: str) -> None:
    assert same_words(dressed) == same_words(PLAIN)


@pytest.mark.parametrize("other", ["Prefers delivery after 19:00", "Prefers delivery", "-18 degrees", "18:00"])
def test_other_words_are_others(other: str) -> None:
    assert same_words(other) != same_words(PLAIN)


def test_nothing_but_marks_is_not_everything_alike() -> None:
    assert len({same_words(each) for each in ("...", "..", "- ", "", "\u200b")}) == 5


def test_a_long_text_is_compared_whole() -> None:
    assert same_words("a" * 10_000 + "b") != same_words("a" * 10_000 + "c")

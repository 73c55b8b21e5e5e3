"""What a reviewer sees: the difference of two texts, ages in words, and nothing that a terminal would hide or obey."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.cli.review_showing import words
from eunoe.cli.terminal import quoted, visible
from eunoe.client.review_shown import NOTICE, Changed, diff_of

TEXTS = st.text(st.sampled_from("ab \n."), max_size=30)


@given(TEXTS, TEXTS)
def test_a_difference_gives_back_both_texts(old: str, new: str) -> None:
    changes = diff_of(old, new)
    assert "".join(each.text for each in changes if each.change is not Changed.ADDED) == old
    assert "".join(each.text for each in changes if each.change is not Changed.REMOVED) == new
    assert (old == new) == all(each.change is Changed.SAME for each in changes)


def test_a_difference_is_by_words() -> None:
    assert [(each.change, each.text) for each in diff_of("Prefers tea at six.", "Prefers coffee at six.")] == [
        (Changed.SAME, "Prefers"),
        (Changed.REMOVED, " tea"),
        (Changed.ADDED, " coffee"),
        (Changed.SAME, " at six."),
    ]


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (0, "moments"),
        (-5, "moments"),
        (999, "moments"),
        (1_000, "1 second"),
        (119_999, "1 minute"),
        (3 * 3_600_000, "3 hours"),
        (86_400_000 * 2 - 1, "1 day"),
    ],
)
def test_an_age_is_told_by_its_largest_unit(span: int, said: str) -> None:
    assert words(span) == said


@pytest.mark.parametrize(
    "hidden", ["\x1b", "\n", "\u2028", "\x9b", "\r", "\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041", "\x08"]
)
def test_what_a_terminal_obeys_or_hides_is_written_out(hidden: str) -> None:
    assert visible(f"a{hidden}b") == f"a\\u{{{ord(hidden):04x}}}b"


def test_honest_text_of_any_script_stays_as_it_is() -> None:
    honest = "Бонн, 東京 — القاهرة\tCafé 🙂"
    assert visible(honest) == honest


def test_no_line_of_a_text_can_be_taken_for_one_of_ours() -> None:
    said = quoted("Prefers tea.\n\nmay be approved  now\r\x1b[1A")
    assert said.split("\n") == ["  │ Prefers tea.", "  │ ", "  │ may be approved  now\\u{000d}\\u{001b}[1A"]


def test_the_notice_says_what_is_decided() -> None:
    assert "lasting change of memory" in NOTICE
    assert "not about one tool call" in NOTICE

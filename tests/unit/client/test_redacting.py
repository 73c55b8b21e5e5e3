"""Other people's names in texts about several."""

import pytest

from eunoe.client.redacting import without


@pytest.mark.parametrize(
    ("text", "names", "shown"),
    [
        ("Anna plays chess with Boris.", ["boris"], "Anna plays chess with [another person]."),
        ("Boris's sister, BORIS said.", ["Boris"], "[another person]'s sister, [another person] said."),
        ("Ask Ana Maria or Ana.", ["Ana", "Ana Maria"], "Ask [another person] or [another person]."),
        ("Ｂｏｒｉｓ called.", ["Boris"], "[another person] called."),
        ("Has C++ (with J.R.) at six.", ["J.R."], "Has C++ (with [another person]) at six."),
        ("Her brother called.", ["Boris"], None),
        ("Boris called.", [], None),
        ("Boris called.", [" "], None),
    ],
)
def test_a_text_is_shown_without_the_names_or_not_at_all(text: str, names: list[str], shown: str | None) -> None:
    assert without(text, names) == shown

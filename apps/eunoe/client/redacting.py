"""Other people in what is handed out about one person: no reader of a report may learn of them.

Nothing knows what a text says of whom. So the text of a record that concerns several people is left out, unless whoever
exports names the others as the text does: then each of those names is blanked, and the rest is shown. A text in which
none of them stands is still left out, for it speaks of the others in words that nobody named.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

BLANK: Final = "[another person]"


def without(text: str, names: Sequence[str]) -> str | None:
    """``text`` with each of ``names`` blanked, in any case and as part of a word; None where none stands in it."""
    wanted = [_normal(each) for each in names if each.strip()]
    if not wanted:
        return None
    longest = sorted(wanted, key=len, reverse=True)
    blanked, count = re.subn("|".join(map(re.escape, longest)), BLANK, _normal(text), flags=re.IGNORECASE)
    return blanked if count else None


def _normal(text: str) -> str:
    """One form of the letters: look-alikes of Unicode (full width, ligatures) are the letters they stand for."""
    return unicodedata.normalize("NFKC", text)

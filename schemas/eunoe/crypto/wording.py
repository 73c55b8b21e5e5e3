"""When two statements say the same in the same words: the one normal form in which statements are compared.

Copies and values that were forgotten are told by a keyed digest of this form; nothing is stored in it. What a list, a
keyboard or a line break adds changes nothing: compatibility forms (NFKC), case, runs of white space, marks of a list in
front, and full stops at the end.
"""

import re
import unicodedata
from typing import Final

_SPACE: Final = re.compile(r"\s+")
_LEAD: Final = re.compile(r"^(?:(?:[-*+•‣·–—>]|\d{1,3}[.)]|\[[ x]?\]) )+")
_INVISIBLE: Final = frozenset({"Cf", "Cc"})


def same_words(statement: str) -> bytes:
    """Equal for statements that say the same in the same words; UTF-8."""
    text = unicodedata.normalize("NFKC", statement)
    text = "".join(each for each in text if each.isspace() or unicodedata.category(each) not in _INVISIBLE)
    text = _SPACE.sub(" ", text).strip()
    text = _LEAD.sub("", text).rstrip(" .。")
    return (text.casefold() or statement).encode()

"""When two statements say the same in the same words: the one normal form in which statements are compared.

Copies and values that were forgotten are told by a keyed digest of this form; nothing is stored in it. What a list, a
keyboard or a line break adds changes nothing: compatibility forms (NFKC), case, runs of white space, marks of a list in
front, and closing punctuation but a question mark.
"""

import re
import unicodedata
from typing import Final

_LEAD: Final = re.compile(r"^(?:(?:[-*+•‣·–—>]|\d{1,3}[.)]|\[[ x]?\]) )+")
_ENDINGS: Final = " .,;:!\u3002\u3001\u06d4\u0964\u061b\u060c"
"""What may end a statement and mean nothing. A question mark does mean something."""
_INVISIBLE: Final = frozenset({"Cf", "Cc"})


def same_words(statement: str) -> bytes:
    """Equal for statements that say the same in the same words; UTF-8."""
    text = statement if statement.isascii() else unicodedata.normalize("NFKC", statement)
    if not text.isprintable():
        text = "".join(each for each in text if each.isspace() or unicodedata.category(each) not in _INVISIBLE)
    text = " ".join(text.split())
    text = _LEAD.sub("", text).rstrip(_ENDINGS)
    return (text.casefold() or statement).encode()


def same_key(claim_key: str) -> str:
    """Equal for claim keys that differ in case, width or the white space around them alone."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", claim_key).casefold()).strip() or claim_key

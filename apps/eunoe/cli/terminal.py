"""Text of a memory on a terminal: what it would obey or hide (escape sequences, links, bidirectional marks, tags,
zero-width characters) is written out, for whoever wrote the memory is nobody's friend."""

import json
import unicodedata
from typing import Any, Final

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    """``text`` as one line, with everything written out that a terminal would not show as it is."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"\\u{{{ord(each):04x}}}" if unicodedata.category(each) in _HIDDEN and each != "\t" else each for each in text
    )


def lines(text: str) -> str:
    """The same, with its own line breaks kept."""
    return "\n".join(map(visible, text.split("\n")))


def quoted(text: str) -> str:
    """``text`` in lines of its own, none of which can be taken for one of ours."""
    return "\n".join(f"  │ {visible(line)}" for line in text.split("\n"))


def json_text(document: Any, indent: int | None = None) -> str:
    """``document`` as JSON, on one line unless it is indented; what a terminal would obey or hide stands in it as JSON
    escapes."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    if text.isascii():
        return text
    return "".join(json.dumps(each)[1:-1] if each != "\n" and _hidden(each) else each for each in text)


def _hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN

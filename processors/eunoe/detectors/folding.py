"""Text as the rules read it: without disguise. For looking only; what is stored is never folded.

Compatibility forms (full-width, mathematical letters, circled ones) become plain ones, invisible characters go, case
and accents go, typographic punctuation becomes ASCII, white space becomes one space, and there is a space at both ends.
Letters of another script that only look like the word's own are replaced, in words that mix scripts and nowhere else,
so that honest Russian and Greek stay what they are; see `lookalikes` for words that are wholly disguised.
"""

import re
import unicodedata
from typing import Final

from eunoe.detectors.lookalikes import MIXED, WORD, one_script
from eunoe.schemas.lookalikes import CAPITALS

_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_MARKS: Final = re.compile("[\u0300-\u036f\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
_PUNCTUATION: Final = str.maketrans(
    {
        "。": ". ",
        "｡": ". ",
        "、": ", ",
        "،": ",",
        "؛": ";",
        "؟": "?",
        "—": "-",
        "–": "-",
        "‐": "-",
        "‑": "-",
        "−": "-",
        "’": "'",
        "‘": "'",
        "ʼ": "'",
        "´": "'",
        "“": '"',
        "”": '"',
        "„": '"',
        "«": '"',
        "»": '"',
        "「": '"',
        "」": '"',
        "『": '"',
        "』": '"',
        "《": '"',
        "》": '"',
        "•": "-",
        "→": " to ",
        "¡": "",
        "¿": "",
        "!": "! ",
        "?": "? ",
        ";": "; ",
        "ɡ": "g",
        "ı": "i",
        "ɑ": "a",
        "ʟ": "l",
        "ɩ": "i",
        "ⅼ": "l",
    }
    | dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋᴌᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnopqrstuvwyz", strict=True))
    | CAPITALS
)
"""Punctuation, and letters that compatibility forms do not cover: small capitals, and what Cherokee and Lisu have."""
_ODD: Final = re.compile("[^\x00-\x7f\u0430-\u045f\u0621-\u064a\u3040-\u30ff\u4e00-\u9fff]")
_SPACED: Final = re.compile(r"(?<!\w)[^\W\d_](?:([ .*·-])[^\W\d_])(?:\1[^\W\d_]){2,}(?!\w)")
_MEAN_WORD: Final = 5
"""Letters for each word, its space included, from which on a text has hardly any words spelled with spaces."""


def fold(text: str) -> str:
    """The text without disguise, lower-case, with one space between words and at both ends. Linear in its length."""
    if text.isascii():
        words = text.lower().split()
        if len(words) * _MEAN_WORD > len(text) or text.count(".") > 3 or text.count("-") > 3 or "*" in text:
            words = _SPACED.sub(_glued, text.lower()).split()
        return f" {' '.join(words)} "
    text = _SPACED.sub(_glued, unicodedata.normalize("NFKD", visible(text)).casefold())
    text = unicodedata.normalize("NFC", _MARKS.sub("", text))
    if _ODD.search(text) or "、" in text or "。" in text:
        text = text.translate(_PUNCTUATION)
    if MIXED.search(text):
        text = WORD.sub(one_script, text)
    return f" {' '.join(text.split())} "


def visible(text: str) -> str:
    """The text without characters that nobody sees."""
    return _INVISIBLE.sub("", text)


def unmarked(text: str) -> str:
    """The visible text in its own case, without compatibility forms and accents."""
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", visible(text))))


def _glued(spelled: re.Match[str]) -> str:
    """A word that is spelled letter by letter."""
    return "".join(filter(str.isalpha, spelled[0]))

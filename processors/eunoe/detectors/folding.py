"""Text as the rules read it: without disguise. For looking only; what is stored is never folded.

Compatibility forms (full-width, mathematical letters, circled ones) become plain ones, invisible characters go, case
and accents go, typographic punctuation becomes ASCII, white space becomes one space, and there is a space at both ends.
Letters of another script that only look like the word's own are replaced, in words that mix scripts and nowhere else,
so that honest Russian and Greek stay what they are.
"""

import base64
import binascii
import re
import unicodedata
from typing import Final

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
)
"""Punctuation, and letters that compatibility forms do not cover: small capitals and their like."""
_ODD: Final = re.compile("[^\x00-\x7f\u0430-\u045f\u0621-\u064a\u3040-\u30ff\u4e00-\u9fff]")
_FOREIGN: Final = "\u0370-\u052f\u0561-\u0587\ua640-\ua69f"
_MIXED: Final = re.compile(f"[a-z][{_FOREIGN}]|[{_FOREIGN}][a-z]")
_WORD: Final = re.compile(f"[a-z{_FOREIGN}]+")
_TO_LATIN: Final = str.maketrans(
    "аеорсухіѕјԁһӏвнкмтԛԝαοντρικευχγβηωμσςϲϳζλօսոցա",
    "aeopcyxisjdhlbhkmtqwaovtpikeuxybnwmoscjzlounga",
)
_LATIN_LOOKS: Final = frozenset("аеорсухіѕјԁһӏвнкмтԛԝ")
_TO_CYRILLIC: Final = str.maketrans("aeopcyxkmtbh", "аеорсухкмтвн")
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_WRAPPED: Final = re.compile(r"(?m)^[ \t>]*(?:[A-Za-z0-9+/_-]{8,}\s*\n[ \t>]*)+[A-Za-z0-9+/_-]{2,}={0,2}[ \t]*$")
_NOT_BASE64: Final = re.compile(r"[\s>]+")
_SPACED: Final = re.compile(r"(?<!\w)[^\W\d_](?:([ .*·-])[^\W\d_])(?:\1[^\W\d_]){2,}(?!\w)")
_MEAN_WORD: Final = 5
"""Letters for each word, its space included, from which on a text has hardly any words spelled with spaces."""
_TAGS: Final = re.compile("[\U000e0020-\U000e007e]{4,}")
_SHORTEST: Final = 16
_READABLE: Final = 0.85
_DEPTH: Final = 2


def fold(text: str) -> str:
    """The text without disguise, lower-case, with one space between words and at both ends. Linear in its length."""
    if text.isascii():
        words = text.lower().split()
        if len(words) * _MEAN_WORD > len(text) or text.count(".") > 3 or text.count("-") > 3 or "*" in text:
            words = _SPACED.sub(_glued, text.lower()).split()
        return f" {' '.join(words)} "
    text = _SPACED.sub(_glued, unicodedata.normalize("NFKD", _INVISIBLE.sub("", text)).casefold())
    text = unicodedata.normalize("NFC", _MARKS.sub("", text))
    if _ODD.search(text) or "、" in text or "。" in text:
        text = text.translate(_PUNCTUATION)
    if _MIXED.search(text):
        text = _WORD.sub(_one_script, text)
    return f" {' '.join(text.split())} "


def visible(text: str) -> str:
    """The text without characters that nobody sees."""
    return _INVISIBLE.sub("", text)


def fold_pattern(pattern: str) -> str:
    """The letters of a pattern folded like a text's, its syntax left alone."""
    if pattern.isascii():
        return pattern
    text = unicodedata.normalize("NFKD", pattern)
    text = unicodedata.normalize("NFC", _MARKS.sub("", text))
    return "".join(each if each.isascii() else each.casefold() for each in text)


def hidden(text: str, depth: int = _DEPTH) -> tuple[str, ...]:
    """Texts inside the text that nobody sees: runs of base64 that say something, and tag characters."""
    found: list[str] = []
    if text.isascii():
        # Most texts have no word that is long enough, and splitting is quicker than looking for runs.
        if max(map(len, text.split()), default=0) < _SHORTEST and "\n" not in text:
            return ()
    else:
        found += ["".join(chr(ord(each) - 0xE0000) for each in run) for run in _TAGS.findall(text)]
        text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    runs: list[str] = _RUN.findall(text)
    if "\n" in text:
        runs += [_NOT_BASE64.sub("", run) for run in _WRAPPED.findall(text)]
    for run in runs:
        said = _said(run)
        if said is None and "/" in run:
            # In an address the run begins behind a slash, which is a letter of base64 as well.
            said = next(filter(None, map(_said, [each for each in run.split("/") if len(each) >= _SHORTEST])), None)
        if said is not None:
            found.append(said)
            if depth > 1:
                found += hidden(said, depth - 1)
    return tuple(found)


def _said(run: str) -> str | None:
    """What a run of base64 says, if it is text."""
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    if len(plain) % 4 == 1:
        plain = plain[:-1]
    try:
        data = base64.b64decode(plain + "=" * (-len(plain) % 4))
        wide = data.count(0) * 3 >= len(data) > 1
        text = data.decode(("utf-16-le" if data[1] == 0 else "utf-16-be") if wide else "utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    readable = sum(each.isalnum() or each in " .,:;!?-_'\"@/\n" for each in text)
    return text if text and readable >= _READABLE * len(text) else None


def _glued(spelled: re.Match[str]) -> str:
    """A word that is spelled letter by letter."""
    return "".join(filter(str.isalpha, spelled[0]))


def _one_script(word: re.Match[str]) -> str:
    """Called in texts that mix scripts inside a word; a word all of whose letters look Latin is meant so there."""
    letters = word[0]
    if letters.isascii():
        return letters
    foreign = {each for each in letters if not each.isascii()}
    if any("а" <= each <= "ӿ" and each not in _LATIN_LOOKS for each in foreign):
        return letters.translate(_TO_CYRILLIC)
    if len(foreign) < len(set(letters)) or foreign <= _LATIN_LOOKS:
        return letters.translate(_TO_LATIN)
    return letters

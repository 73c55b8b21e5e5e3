"""Letters of other alphabets that look Latin, as those who hide words use them. For looking only, never for storage.

A word that mixes alphabets is meant to be read in the one it looks like. A word wholly of look-alikes may be honest
(«оса», «ухо»), so it is read as Latin only beside the text, never instead of it: `masked` gives the stretches of Latin
words in which such words stand, and a rule has to hold within one. Honest Russian, Serbian, Ukrainian, Bulgarian or
Greek has no such stretch that says anything.
"""

import re
from typing import Final

FOREIGN: Final = "\u0370-\u052f\u0561-\u0587\ua640-\ua69f"
"""Greek, Cyrillic and Armenian letters, as a class of a regular expression."""
MIXED: Final = re.compile(f"[a-z][{FOREIGN}]|[{FOREIGN}][a-z]")
WORD: Final = re.compile(f"[a-z{FOREIGN}]+")
_TO_LATIN: Final = str.maketrans(
    "аеорсухіѕјԁһӏвнкмтԛԝαοντρικευχγβηωμσςϲϳζλօսոցա",
    "aeopcyxisjdhlbhkmtqwaovtpikeuxybnwmoscjzlounga",
)
_LATIN_LOOKS: Final = frozenset("аеорсухіѕјԁһӏвнкмтԛԝ")
_WHOLLY: Final = _LATIN_LOOKS - frozenset("внкмт")
"""Those of them that look Latin as small letters too; the others make honest words as short as «не»."""
_TO_CYRILLIC: Final = str.maketrans("aeopcyxkmtbh", "аеорсухкмтвн")
_CASED: Final = str.maketrans(
    "аеорсухіѕјԁһӏԛԝгпѵАВЕЅІЈКМНОРСТХУҮԌԚԜαονρυιкκτχγηωεΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳϲօսոցհՕՍ",
    "aeopcyxisjdhlqwrnvABESIJKMHOPCTXYYGQWaovpuikktxynweABEZHIKMNOPTYXCjcoungbOU".replace("gb", "gh"),
)
"""What a letter looks like, in its own case: «в» is no b, «В» is a B."""
_LOOKS: Final = frozenset(map(chr, _CASED))
_WORDS: Final = re.compile(f"[A-Za-z\u0531-\u0556{FOREIGN}]+")
_BREAK: Final = "\ue002"
_HERE: Final = "\ue003"
_SHORTEST: Final = 3
"""Letters that a word wholly of look-alikes has at least to be told from «а», «о» and «со»."""


def one_script(word: re.Match[str]) -> str:
    """Called in texts that mix scripts inside a word; a word all of whose letters look Latin is meant so there."""
    letters = word[0]
    if letters.isascii():
        return letters
    foreign = {each for each in letters if not each.isascii()}
    if any("а" <= each <= "ӿ" and each not in _LATIN_LOOKS for each in foreign):
        return letters.translate(_TO_CYRILLIC)
    if len(foreign) < len(set(letters)) or foreign <= _WHOLLY:
        return letters.translate(_TO_LATIN)
    return letters


def masked(text: str) -> tuple[str, ...]:
    """Stretches of words that are Latin or look it, with at least one word wholly of look-alikes in each.

    ``text`` has its capitals, and no compatibility forms, marks or invisible characters. Linear.
    """
    if _HERE not in (read := _WORDS.sub(_looked_at, text)):
        return ()
    return tuple(each.replace(_HERE, "") for each in read.split(_BREAK) if _HERE in each)


def _looked_at(word: re.Match[str]) -> str:
    letters = word[0]
    if letters.isascii():
        return letters
    foreign = {each for each in letters if not each.isascii()}
    if not foreign <= _LOOKS:
        return _BREAK
    hides = len(letters) >= _SHORTEST and foreign == set(letters)
    return (_HERE if hides else "") + letters.translate(_CASED)

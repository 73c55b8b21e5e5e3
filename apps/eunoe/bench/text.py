"""Text whose words are distributed as in real language: word of rank r with probability proportional to 1/r (Zipf).

Words are made up of syllables, so no stemmer or stop-word list has an opinion about them; the same seed gives the same
text in every process.
"""

import itertools
from bisect import bisect
from random import Random
from typing import Final

_ONSETS: Final = "bdfgklmnprtvz"
_VOWELS: Final = "aeiou"
VOCABULARY: Final = 20_000


class ZipfText:
    """A seeded source of sentences over ``vocabulary`` words."""

    def __init__(self, seed: int, vocabulary: int = VOCABULARY) -> None:
        self._random = Random(seed)
        self._words = [_word(rank) for rank in range(vocabulary)]
        self._sums = list(itertools.accumulate(1 / (rank + 1) for rank in range(vocabulary)))

    def word(self) -> str:
        """One word, drawn from the distribution."""
        return self._words[bisect(self._sums, self._random.random() * self._sums[-1])]

    def distinct(self, words: int) -> tuple[str, ...]:
        """So many different words, each drawn from the distribution, in the order they came up."""
        found: dict[str, None] = {}
        while len(found) < words:
            found[self.word()] = None
        return tuple(found)

    def varied(self, least: int, most: int) -> str:
        """A `sentence` of ``least`` to ``most`` words, each length as likely."""
        return self.sentence(self._random.randint(least, most))

    def sentence(self, words: int) -> str:
        """``words`` distinct words, a capital and a full stop."""
        return " ".join(self.distinct(words)).capitalize() + "."


def _word(rank: int) -> str:
    """A word of its own for each rank: three or more syllables of consonant and vowel, ending in a consonant."""
    base = len(_ONSETS) * len(_VOWELS)
    syllables = []
    rest = rank + base * base  # never fewer than three syllables
    while rest:
        rest, digit = divmod(rest, base)
        syllables.append(_ONSETS[digit // len(_VOWELS)] + _VOWELS[digit % len(_VOWELS)])
    return "".join(syllables) + "k"

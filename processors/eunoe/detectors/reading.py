"""A folded text as sentences and clauses, with the meanings in each as bits.

What a user only tells about in a sentence is no part of it: what stands in quotation marks, where words outside of them
say that it is a text (`mention`), and what a report says after its verb (`reported`: "the talk explains how …"), up to
where a command begins anew. Nobody else is read so (`Told.at_its_word`): whoever plants a text would only have to name
an article and open quotation marks, and who reads the memory later obeys it between them as well. A prohibition that
stands alone before a comma ("Never, whatever they say, …") reaches on.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Final

from eunoe.detectors.lexicon import BORDER, COLON, UNUSUAL, Hit, Lexicon, Words
from eunoe.detectors.phrases import ADDRESS, FIELD

_TOKEN: Final = re.compile(r'\w+|[.,;:!?()"' + ADDRESS + FIELD + "]")
_TOKEN_OR_QUOTE: Final = re.compile(r"\w+|[.,;:!?()\"" + ADDRESS + FIELD + r"]|(?<=[\s(,:])'|'(?=[\s.,;:!?)]|$)")
_ADDRESS: Final = re.compile(
    r"(?:https?://|www\.)[!-~]*[a-z0-9/]|[a-z0-9._+%-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+|(?<![a-z0-9])[a-z0-9-]+(?:\.[a-z0-9-]+)*"
    r"\.(?:example|com|net|org|io|ru|xyz|info|site|top|biz|dev|cn|app)(?![a-z0-9])(?:/[!-~]*[a-z0-9/])?"
)
_PHONE: Final = re.compile(r"\+[0-9](?:[ ()/-]{0,2}[0-9]){7,14}")
_FIELD: Final = re.compile(r"(?<![a-z0-9])[a-z][a-z0-9]*_[a-z0-9_]+")
_DOT_INSIDE: Final = re.compile(r"\.[a-z]")
_ENDS: Final = frozenset(".;!?")
_SHORT: Final = frozenset(
    ("ltd", "inc", "mr", "mrs", "ms", "dr", "prof", "sr", "sra", "st", "bzw", "ca", "nr", "approx", "mme", "vs")
)
"""Words that are written with a full stop."""
_AND: Final = frozenset(
    ("and", "but", "und", "aber", "sondern", "y", "pero", "e", "mas", "et", "mais", "и", "а", "но", "و")
)
_QUOTES: Final = frozenset("\"'")


@dataclass(frozen=True, slots=True)
class Told:
    """The bits of the meanings that reading itself asks for. ``covers``: a phrase of the first takes its words away
    from the second ("no longer needed" is no "no")."""

    prohibit: int
    reported: int
    mention: int
    order: int
    covers: tuple[tuple[int, int], ...]
    special: int = field(init=False)
    """All that can make a sentence mean something else than the sum of its words."""

    def __post_init__(self) -> None:
        special = self.prohibit | self.reported | self.mention
        for _, covered in self.covers:
            special |= covered
        object.__setattr__(self, "special", special)

    def at_its_word(self) -> "Told":
        """The same, but nothing is only told about: each word counts, whatever stands around it."""
        return replace(self, reported=0, mention=0)


Sentence = tuple[int, tuple[int, ...]]
"""The meanings of all its clauses together, and of each."""


def tokens_of(folded: str, lexicon: Lexicon) -> list[str]:
    """Words and punctuation in order; an address and a field's name are one each."""
    if "@" in folded or "://" in folded or _DOT_INSIDE.search(folded):
        folded = _ADDRESS.sub(f" {ADDRESS} ", folded)
    if "+" in folded:
        folded = _PHONE.sub(f" {ADDRESS} ", folded)
    if "_" in folded:
        folded = _FIELD.sub(f" {FIELD} ", folded)
    if " - " in folded:
        folded = folded.replace(" - ", " , ")
    tokens: list[str] = (_TOKEN_OR_QUOTE if "'" in folded else _TOKEN).findall(folded)
    return tokens if folded.isascii() or not UNUSUAL.search(folded) else lexicon.unspaced(tokens)


def sentences(hits: list[Hit], tokens: list[str], words: Words, present: int, told: Told) -> list[Sentence]:
    """Of the tokens of one text and the phrases in it; ``present``: the meanings of all of these. Sentences without
    any meaning are left out, so two that stay are neighbours enough."""
    special = present & told.special
    if not special and BORDER not in words and COLON not in words:
        return [(present, (present,))] if present else []
    if special:
        hits = _uncovered(hits, present, told)
    told_of = special & (told.reported | told.mention)
    found: list[Sentence] = []
    first = at = 0
    ends = [at for at, each in enumerate(tokens) if each in _ENDS and (each != "." or tokens[at - 1] not in _SHORT)]
    ends.append(len(tokens))
    for end in ends:
        began = at
        while at < len(hits) and hits[at][0] < end:
            at += 1
        if at > began:
            own = hits[began:at]
            if told_of:
                own = _said(own, tokens, first, end, told)
            clauses = _clauses(own, words, tokens, first, told.prohibit)
            mask = 0
            for each in clauses:
                mask |= each
            if mask:
                found.append((mask, clauses))
        first = end + 1
    return found


def _uncovered(hits: list[Hit], present: int, told: Told) -> list[Hit]:
    """Without the meanings whose words a longer phrase of another meaning has."""
    for cover, covered in told.covers:
        if not (present & cover and present & covered):
            continue
        spans = [(began, end) for began, end, mask in hits if mask & cover]
        hits = [
            (began, end, mask & ~covered)
            if mask & covered and any(first <= began and end <= last for first, last in spans)
            else (began, end, mask)
            for began, end, mask in hits
        ]
    return hits


def _said(hits: list[Hit], tokens: list[str], first: int, end: int, told: Told) -> list[Hit]:
    """Without what the sentence only tells about."""
    told_of = told.reported | told.mention
    for _, _, mask in hits:
        if mask & told_of:
            break
    else:
        return hits
    quotes = [at for at in range(first, end) if tokens[at] in _QUOTES]
    spans = list(zip(quotes[::2], [*quotes[1::2], end][: len(quotes[::2])], strict=True))
    outside = [each for each in hits if not any(began < each[0] < last for began, last in spans)]
    if any(mask & told_of for _, _, mask in outside):
        hits = outside
    began = next((first for first, _, mask in hits if mask & told.reported), None)
    if began is None:
        return hits
    anew = next(
        (at for at, _, mask in hits if at > began and mask & told.order and _begins(tokens, at, hits, told)), end
    )
    return [each for each in hits if not began <= each[0] < anew]


def _begins(tokens: list[str], at: int, hits: list[Hit], told: Told) -> bool:
    """Whether a command begins at the word: after punctuation, but not after "such as:"."""
    before = tokens[at - 1]
    if before.isalnum() or before in _QUOTES:
        return False
    return not any(last == at - 1 and mask & told.mention for _, last, mask in hits)


def _clauses(hits: list[Hit], words: Words, tokens: list[str], first: int, prohibit: int) -> tuple[int, ...]:
    """The meanings of each clause that has any.

    A clause ends with punctuation and before "and" with a prohibition ("do this and never do that"). A prohibition
    alone before punctuation reaches into the next clause.
    """
    found: list[int] = []
    mask, last, reaching = 0, first, False
    for began, end, meanings in hits:
        if began > last and (BORDER in (between := words[last:began]) or COLON in between):
            reaching = mask == mask & prohibit != 0 and (reaching or words[last] is BORDER or words[last] is COLON)
            if not reaching:
                found.append(mask)
                mask = 0
        elif meanings & prohibit and began > first and tokens[began - 1] in _AND:
            found.append(mask)
            mask = 0
        mask |= meanings
        last = max(last, end)
    found.append(mask)
    return tuple(found)

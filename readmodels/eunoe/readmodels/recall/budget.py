"""Which of the ranked records fit a token budget (A48, A49, M70).

A record is given whole or not at all. One that does not fit what is left is skipped and the next is tried, so a long
record of low rank displaces nothing; what was skipped is reported with its size.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil
from typing import Final, Generic, Protocol, TypeVar

Item = TypeVar("Item")

_PLAIN: Final = re.compile("[A-Za-z ]+")


class TokenEstimator(Protocol):
    """Where a limit is exact, put the target model's tokenizer behind this."""

    def __call__(self, text: str, /) -> int:
        """How many tokens ``text`` costs; never negative."""
        ...


def conservative_tokens(text: str, /) -> int:
    """An estimate on the high side for byte-level tokenizers, which need at most one token a byte.

    A token for three ASCII letters or spaces, for each other ASCII character (digits, signs: ids and numbers split
    badly) and for each character of two UTF-8 bytes (Cyrillic, accented Latin); two for one of three bytes (Chinese,
    Japanese, Korean, Thai); four for the rest (emoji).
    """
    others = _PLAIN.sub("", text)
    plain = ceil((len(text) - len(others)) / 3)
    if others.isascii():
        return plain + len(others)
    return plain + sum(1 if char < "\u0800" else 2 if char < "\U00010000" else 4 for char in others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A record that did not fit what was left when its turn came, and its size in tokens."""

    id: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(Generic[Item]):
    """``taken`` in rank order; ``used`` is what they cost together, never above the budget.

    ``skipped`` holds only what was examined before ``limit`` records were taken.
    """

    taken: tuple[Item, ...]
    skipped: tuple[Skipped, ...]
    used: int


def select(
    ranked: Iterable[Item],
    *,
    limit: int,
    budget: int | None,
    identity: Callable[[Item], str],
    text: Callable[[Item], str],
    estimate: TokenEstimator = conservative_tokens,
    per_record: int = 0,
) -> Selection[Item]:
    """Take at most ``limit`` records, best first, that cost at most ``budget`` tokens (None: no budget).

    ``per_record`` is added to each estimate for what the caller writes around a record (a bullet, an id). Raises
    ValueError if ``limit``, ``budget`` or ``per_record`` is negative.
    """
    if limit < 0 or per_record < 0 or (budget is not None and budget < 0):
        raise ValueError(f"limit, budget and per_record must not be negative: {limit}, {budget}, {per_record}")
    taken: list[Item] = []
    skipped: list[Skipped] = []
    used = 0
    for item in ranked:
        if len(taken) >= limit:
            break
        tokens = estimate(text(item)) + per_record
        if budget is not None and used + tokens > budget:
            skipped.append(Skipped(id=identity(item), tokens=tokens))
            continue
        taken.append(item)
        used += tokens
    return Selection(taken=tuple(taken), skipped=tuple(skipped), used=used)

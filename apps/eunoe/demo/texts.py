"""Which texts of a line must be nowhere in plaintext, and which stand in the clear by design."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from eunoe.operations.byte_patterns import Wanted

Fields = Mapping[str, Any]

_CLEAR = ("tenant", "agent", "scope", "kind", "producer_surface", "retention", "embedding_version", "reason", "op")
_CLEAR_LISTS = ("purposes", "surfaces")


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """``wanted``: each text once. ``left_out``: how many are part of what is in the clear, so that finding them would
    prove nothing."""

    wanted: tuple[Wanted, ...] = field(repr=False)
    left_out: int


def texts_of(lines: Iterable[Fields], clear: Iterable[str], words: Iterable[str] = ()) -> Texts:
    """The texts of ``lines`` and the single ``words``. ``clear``: further texts that are stored in the clear (the
    policy). Fields of another type than they should be are passed over."""
    kept = list(lines)
    in_clear = "\n".join((*clear, *(text for line in kept for text in _clear(line))))
    once: dict[str, Wanted] = {}
    for line in kept:
        for kind, text in _sealed(line):
            once.setdefault(text, Wanted(kind, text))
    for word in words:
        once.setdefault(word, Wanted("word", word))
    wanted = tuple(each for each in once.values() if each.text not in in_clear)
    return Texts(wanted=wanted, left_out=len(once) - len(wanted))


def _clear(line: Fields) -> Iterator[str]:
    for name in _CLEAR:
        if isinstance(line.get(name), str):
            yield line[name]
    for name in _CLEAR_LISTS:
        yield from _strings(line.get(name))


def _sealed(line: Fields) -> Iterator[tuple[str, str]]:
    named = {"statement": "statement", "subject": "subject", "key": "claim key"}
    named |= {"external_id": "external id"}
    for name, kind in named.items():
        yield from ((kind, text) for text in _strings([line.get(name)]))
    yield from (("subject", text) for text in _strings(line.get("about")))
    answers = line.get("answers")
    if isinstance(answers, dict):
        yield from (("answer", text) for text in _strings(list(answers.values())))
    source = line.get("source")
    if isinstance(source, dict):
        for name in ("uri", "provenance"):
            yield from (("source", text) for text in _strings([source.get(name)]))
        yield from (("source event", text) for text in _strings(source.get("event_ids")))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, list | tuple):
        yield from (each for each in value if isinstance(each, str) and each)

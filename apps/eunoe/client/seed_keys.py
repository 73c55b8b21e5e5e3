"""The keys of ``memory.yaml``, before its values are read: YAML lets the last of two win, and a misspelt one would mean
the default.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import yaml

KNOWN: Final = frozenset(
    ("memory_id", "tenant_id", "memory_class", "kind", "content", "source", "confidence", "provenance", "revision")
) | {"derived_from"}
"""Of a record: what `eunoe.schemas.contract.seeds` reads."""
_MERGE: Final = "tag:yaml.org,2002:merge"
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,31}")
"""A key is quoted if it looks like one: where an indentation slipped, the words of a memory may stand there."""


class BadSeedKeys(ValueError):
    """Keys that are there twice, or that no record has: ``problems``, each with its line. Blame: the file's author."""

    def __init__(self, problems: Sequence[tuple[int, str]]) -> None:
        super().__init__("\n".join(f"Memory store config line {line}: {said}" for line, said in problems))
        self.problems = tuple(problems)


def check_keys(raw: bytes) -> None:
    """Raises `BadSeedKeys`, and what YAML raises."""
    top = yaml.compose(raw, Loader=yaml.SafeLoader)
    problems = [*_twice(top), *_unknown(top)]
    if problems:
        raise BadSeedKeys(sorted(problems))


def _twice(top: yaml.Node | None) -> Iterator[tuple[int, str]]:
    seen: set[int] = set()
    left = [] if top is None else [top]
    while left:  # no recursion, for an alias may lead back
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            found: set[tuple[str, str]] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if (key.tag, key.value) in found:
                        yield _line(key), f"{_told(key)} is there twice"
                    found.add((key.tag, key.value))
                left += (key, value)
        elif isinstance(node, yaml.SequenceNode):
            left += node.value


def _unknown(top: yaml.Node | None) -> Iterator[tuple[int, str]]:
    for records in _under(_under([top], "memory"), "seed_records"):
        for record in records.value if isinstance(records, yaml.SequenceNode) else ():
            for key, _ in _entries(record, ()):
                if isinstance(key, yaml.ScalarNode) and key.value not in KNOWN:
                    yield _line(key), f"{_told(key)} is no field of a record; known: {', '.join(sorted(KNOWN))}"


def _under(nodes: Sequence[yaml.Node | None], name: str) -> list[yaml.Node]:
    entries = [each for node in nodes for each in _entries(node, ())]
    return [value for key, value in entries if isinstance(key, yaml.ScalarNode) and key.value == name]


def _entries(node: yaml.Node | None, above: tuple[int, ...]) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """Of a mapping, with those that are merged into it."""
    if isinstance(node, yaml.SequenceNode):
        for each in node.value if above else ():
            yield from _entries(each, above)
    if not isinstance(node, yaml.MappingNode) or id(node) in above:
        return
    for key, value in node.value:
        if key.tag == _MERGE:
            yield from _entries(value, (*above, id(node)))
        else:
            yield key, value


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _told(key: yaml.ScalarNode) -> str:
    return repr(key.value) if _PLAIN.fullmatch(key.value) else "a key"

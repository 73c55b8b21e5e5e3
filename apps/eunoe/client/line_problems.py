"""What is wrong with a line, said without a word of it.

msgspec's messages quote values and field names as they were given; both may be memory content. What leaves here is a
path made of our own field names, and a rule.
"""

import re
from enum import StrEnum
from typing import Final

import msgspec

from eunoe.schemas.values import (
    Circumstance,
    ConflictPolicy,
    ExportDeletePolicy,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Visibility,
)

NAME: Final = r"^[A-Za-z0-9._-]{1,64}\Z"
UUID: Final = r"^(?!00000000-0000-0000-0000-000000000000)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z"
CODE: Final = r"^[a-z0-9_.-]{1,64}\Z"
OPERATIONS: Final = (
    "remember",
    "correct",
    "promote",
    "reject",
    "confirm",
    "resolve",
    "retract",
    "suspend",
    "forget",
    "readmit",
)

_RULES: Final = {
    NAME: "must be 1 to 64 of A-Z a-z 0-9 . _ -",
    UUID: "must be a UUID in lower case, and not the nil UUID",
    CODE: "must be a code: 1 to 64 of a-z 0-9 . _ -",
}
_WHERE: Final = re.compile(r" - at `(?:key in )?\$\.?(?P<path>[^`]*)`\Z")
_PLAIN_NAME: Final = re.compile(r"[a-z0-9_]{1,32}")
_VOCABULARIES: Final[dict[str, type[StrEnum]]] = {
    "visibility": Visibility,
    "class": MemoryClass,
    "kind": SourceKind,  # of a source; a record's own kind is a name of the policy
    "sensitivity": Sensitivity,
    "conflict_policy": ConflictPolicy,
    "export_delete_policy": ExportDeletePolicy,
    "circumstances": Circumstance,
}


class BadLine(ValueError):
    """No command. ``field``: a path such as ``source.kind``; ``problem`` repeats no value. Blame: caller."""

    def __init__(self, field: str | None, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem


def described(error: msgspec.ValidationError) -> BadLine:
    """msgspec's objection without what it quotes."""
    message = str(error)
    found = _WHERE.search(message)
    path = found["path"] if found else ""
    return BadLine(path or None, _problem(message[: found.start()] if found else message, path.rpartition(".")[2]))


def _problem(message: str, field: str) -> str:
    if message.startswith("Object contains unknown field"):
        name = message.split("`")[1] if "`" in message else ""
        return f"unknown field `{name}`" if _PLAIN_NAME.fullmatch(name) else "unknown field (its name is not shown)"
    if message.startswith("Object missing required field"):
        return f"missing field `{message.split('`')[1]}`"
    if message.startswith("Invalid enum value"):
        allowed = _VOCABULARIES.get(field.partition("[")[0])
        return f"must be one of {', '.join(allowed)}" if allowed else "is not an allowed value"
    if message.startswith("Invalid value"):
        return f"must be one of {', '.join(OPERATIONS)}"
    for pattern, rule in _RULES.items():
        if repr(pattern) in message:
            return rule
    if message.startswith("Expected"):
        return message.replace("Expected", "must be", 1).replace(", got", ", not")
    return "is not an allowed value"

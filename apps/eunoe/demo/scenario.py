"""A scenario as it is written: a folder with lines for `eunoe ingest` and a script of steps, read and checked.

The format is described at the top of ``examples/support/scenario.toml``.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_SENT: Final = frozenset(
    {"status", "reason", "field", "version", "current_version", "records", "memory", "first"},
)
_EXPECTED: Final[Mapping[str, frozenset[str]]] = {
    "ingest": frozenset({"accepted", "quarantined", "refused"}),
    "send": _SENT,
    "search": frozenset({"found", "first", "absent", "skipped", "conflicted", "empty", "refused"}),
    "history": frozenset({"kinds"}),
    "why": frozenset({"selected", "because", "rank"}),
}
"""What may be expected of each kind of step."""
_CIRCUMSTANCES: Final = frozenset({"say", "as", "by", "expect", "within", "at_expiry_of"})

Fields = Mapping[str, Any]


@dataclass(eq=False)
class ScenarioError(Exception):
    """The scenario cannot be played as it is written. Blame: its author."""

    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """``action`` is a key of `_EXPECTED`, ``content`` what stands beside it. ``principals``: by tenant, or "*".

    ``within``: seconds for which a read is repeated. ``at_expiry_of`` names the memory whose end is awaited first.
    """

    number: int
    chapter: str
    say: str
    action: str
    content: Any = field(repr=False)
    principals: Mapping[str, str]
    expect: Fields
    within: float
    at_expiry_of: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """``lines``: the memories of the file by name, in order; ``policy``: TOML with ``@NAME@`` for public keys."""

    title: str
    policy: str
    lines: Mapping[str, Fields] = field(repr=False)
    rare_words: tuple[str, ...] = field(repr=False)
    steps: tuple[Step, ...]

    @property
    def principals(self) -> tuple[str, ...]:
        return tuple(sorted({name for step in self.steps for name in step.principals.values()}))


def read_scenario(folder: Path) -> Scenario:
    """The scenario in ``folder``. Raises `ScenarioError` naming file and step."""
    script = folder / "scenario.toml"
    try:
        content = tomllib.loads(script.read_text("utf-8"))
        policy = (folder / content["policy"]).read_text("utf-8")
        lines = _lines(folder / content["memories"])
        chapters = content["chapter"]
        title = content["title"]
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(str(folder), f"cannot be read: {error}") from None
    except KeyError as missing:
        raise ScenarioError(str(script), f"{missing.args[0]} is missing") from None
    steps: list[Step] = []
    for chapter in chapters:
        for table in chapter["step"]:
            steps.append(_step(script, len(steps) + 1, chapter["title"], table))
    return Scenario(
        title=title,
        policy=policy,
        lines=lines,
        rare_words=tuple(content.get("rare_words", ())),
        steps=tuple(steps),
    )


def _lines(path: Path) -> Mapping[str, Fields]:
    found: dict[str, Fields] = {}
    for number, text in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not text.strip():
            continue
        try:
            fields = json.loads(text)
            found[fields["idempotency_key"]] = fields
        except (ValueError, KeyError, TypeError):
            raise ScenarioError(f"{path}:{number}", "is no line with an idempotency_key") from None
    return found


def _step(script: Path, number: int, chapter: str, table: Fields) -> Step:
    where = f"{script}, step {number}"
    actions = [name for name in table if name in _EXPECTED]
    if len(actions) != 1:
        raise ScenarioError(where, f"needs exactly one of {', '.join(_EXPECTED)}")
    action, expect = actions[0], table.get("expect", {})
    for key in table.keys() - _CIRCUMSTANCES - {action}:
        raise ScenarioError(where, f"{key}: unknown")
    for key in expect.keys() - _EXPECTED[action]:
        raise ScenarioError(where, f"expect.{key}: unknown for {action}")
    if not expect:
        raise ScenarioError(where, "expects nothing")
    principals = table.get("by") or {"*": table.get("as")}
    if not all(isinstance(name, str) for name in principals.values()):
        raise ScenarioError(where, "`as` is missing: who does it?")
    return Step(
        number=number,
        chapter=chapter,
        say=table.get("say", action),
        action=action,
        content=table[action],
        principals=principals,
        expect=expect,
        within=float(table.get("within", 0)),
        at_expiry_of=table.get("at_expiry_of"),
    )

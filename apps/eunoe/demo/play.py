"""Plays a scenario through the public client, step by step: what was expected, what was seen."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from eunoe.client.lines import line_of
from eunoe.client.memory import Memory
from eunoe.demo.scenario import Fields, Scenario, ScenarioError, Step
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.runtime.clock import Clock
from eunoe.runtime.lane import heed_cancellation
from eunoe.schemas.ids import Millis
from eunoe.schemas.outcomes import Outcome, OutcomeStatus

_OUTCOME_S: Final = 30.0
_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One step's result. ``seen`` has names of memories, codes and counts, no texts. ``seconds``: how long it took."""

    step: Step
    seen: Fields
    ok: bool
    seconds: float

    @property
    def document(self) -> dict[str, Any]:
        return {
            "number": self.step.number,
            "chapter": self.step.chapter,
            "what": self.step.say,
            "action": self.step.action,
            "expected": dict(self.step.expect),
            "seen": dict(self.seen),
            "ok": self.ok,
            "seconds": round(self.seconds, 3),
        }


@dataclass(slots=True, kw_only=True)
class Player:
    """``clients``: a client per principal. Remembers names: of lines, of memories and of their first commands."""

    scenario: Scenario
    clients: Mapping[str, Memory]
    clock: Clock
    sent: dict[str, Fields] = field(default_factory=dict)
    """Every line that was sent, by name: what must be found nowhere in plaintext."""
    _memories: dict[str, str] = field(default_factory=dict)
    _commands: dict[str, str] = field(default_factory=dict)
    _tokens: dict[str, str] = field(default_factory=dict)
    _ends: dict[str, Millis] = field(default_factory=dict)

    async def play(self) -> AsyncIterator[Played]:
        """Every step in order, also after one that went wrong. Raises `ScenarioError`, and what the client raises."""
        for step in self.scenario.steps:
            started = time.monotonic()
            if step.at_expiry_of is not None:
                await self._until_end_of(step)
            seen = await self._seen(step)
            while not fits(step.expect, seen) and time.monotonic() - started < step.within:
                heed_cancellation()
                await asyncio.sleep(_PAUSE_S)
                seen = await self._seen(step)
            ok = fits(step.expect, seen)
            heed_cancellation()  # redis-py's wait_for swallows a Ctrl-C that comes just as its write is done
            yield Played(step=step, seen=seen, ok=ok, seconds=time.monotonic() - started)

    async def _seen(self, step: Step) -> Fields:
        match step.action:
            case "ingest":
                return await self._ingest(step)
            case "send":
                return await self._send(step)
            case "search":
                return await self._search(step)
            case "why":
                return await self._why(step)
            case _:
                return await self._history(step)

    async def _ingest(self, step: Step) -> Fields:
        """All lines in flight at once, in order; then their outcomes."""
        waiting: list[tuple[str, Fields, Any]] = []
        for name, fields in self.scenario.lines.items():
            memory = self._client(step, fields["tenant"])
            waiting.append((name, fields, await memory.send(line_of(dict(fields)))))
        counted: Counter[str] = Counter()
        for name, fields, sent in waiting:
            outcome = await sent.outcome(_OUTCOME_S)
            self._note(name, fields, outcome)
            counted["refused" if outcome.refused else outcome.status.value] += 1
        return {name: counted[name] for name in ("accepted", "quarantined", "refused")}

    async def _send(self, step: Step) -> Fields:
        fields = self._line(step)
        outcome = await self._client(step, fields["tenant"]).perform(line_of(dict(fields)), timeout=_OUTCOME_S)
        self._note(fields["idempotency_key"], fields, outcome)
        seen: dict[str, Any] = {"status": outcome.status.value}
        for name in ("reason", "field", "version", "current_version", "records"):
            if (value := getattr(outcome, name)) is not None:
                seen[name] = value
        for key, names, found in (
            ("memory", self._memories, outcome.memory_id),
            ("first", self._commands, outcome.first_command_id),
        ):
            if found is not None and (name := _name(names, found)) != found:
                seen[key] = name
        if fields["op"] == "forget" and not outcome.refused:
            seen["from_offset"] = int(outcome.token.rpartition(":")[2]) - 1
        return seen

    async def _search(self, step: Step) -> Fields:
        asked = {"timeout": _OUTCOME_S, **step.content}
        client = self._client(step, asked["tenant"])
        try:
            result = await client.search(asked.pop("query"), after=self._tokens.get(asked["tenant"]), **asked)
        except ReadRefused as refused:
            return {"refused": refused.reason}
        seen: dict[str, Any] = {"found": [_name(self._memories, each.memory_id) for each in result.records]}
        for each in result.records:
            self._ends[_name(self._memories, each.memory_id)] = each.expires_at
        if disputed := [_name(self._memories, each.memory_id) for each in result.records if each.conflicts]:
            seen["conflicted"] = disputed
        if result.skipped:
            seen["skipped"] = [_name(self._memories, each.id) for each in result.skipped]
        if result.excluded:
            seen["excluded"] = dict(result.excluded)
        if result.empty is not None:
            seen["empty"] = result.empty.value
        return seen

    async def _why(self, step: Step) -> Fields:
        asked = {"timeout": _OUTCOME_S, **step.content}
        found = await self._client(step, asked["tenant"]).why(
            self._id(step, asked.pop("memory")), asked.pop("query"), after=self._tokens.get(asked["tenant"]), **asked
        )
        return {"selected": found.selected, "because": found.because, "rank": found.rank}

    async def _history(self, step: Step) -> Fields:
        name = step.content
        memory_id, line = self._id(step, f"@{name}"), self._known(name)
        scope = {"agent": line["agent"], "purpose": line["purposes"][0]}
        history = await self._client(step, line["tenant"]).history(line["tenant"], memory_id, **scope)
        return {"kinds": [each.kind for each in history.entries]}

    async def _until_end_of(self, step: Step) -> None:
        end = self._ends.get(step.at_expiry_of or "")
        if end is None:
            raise ScenarioError(f"step {step.number}", "at_expiry_of names no memory that a search has found")
        while (left := end - self.clock.now()) > 0:  # noqa: ASYNC110 - what is waited for is time itself
            await asyncio.sleep(left / 1_000)

    def _line(self, step: Step) -> Fields:
        fields = dict(step.content)
        like = fields.pop("like", None)
        if like is not None:
            try:
                fields = {**self._known(like), **fields}
            except KeyError:
                raise ScenarioError(f"step {step.number}", f"like: no line is called {like}") from None
        for name in ("memory_id", "supersedes"):
            if name in fields:
                fields[name] = self._id(step, fields[name])
        if "over" in fields:
            fields["over"] = [{**each, "memory_id": self._id(step, each["memory_id"])} for each in fields["over"]]
        if "idempotency_key" not in fields:
            raise ScenarioError(f"step {step.number}", "the line has no idempotency_key, which is its name")
        return fields

    def _known(self, name: str) -> Fields:
        return self.scenario.lines.get(name) or self.sent[name]

    def _id(self, step: Step, reference: str) -> str:
        found = self._memories.get(reference.removeprefix("@"))
        if found is None:
            raise ScenarioError(f"step {step.number}", f"{reference} names no memory")
        return found

    def _client(self, step: Step, tenant: str) -> Memory:
        return self.clients[step.principals.get(tenant) or step.principals["*"]]

    def _note(self, name: str, fields: Fields, outcome: Outcome) -> None:
        self._tokens[fields["tenant"]] = outcome.token
        self.sent.setdefault(name if name not in self.sent else f"{name}+{len(self.sent)}", fields)
        if outcome.status in {OutcomeStatus.ACCEPTED, OutcomeStatus.QUARANTINED} and outcome.memory_id is not None:
            self._memories.setdefault(name, outcome.memory_id)
            self._commands.setdefault(name, outcome.command_id)


def _name(names: Mapping[str, str], wanted: str) -> str:
    """The name of an id; an id that has none is shown as it is."""
    return next((name for name, found in names.items() if found == wanted), wanted)


def fits(expect: Fields, seen: Fields) -> bool:
    """Whether everything expected was seen; see the head of ``examples/support/scenario.toml``."""
    return all(_as_expected(key, wanted, seen) for key, wanted in expect.items())


def _as_expected(key: str, wanted: Any, seen: Fields) -> bool:
    found = seen.get("found")
    match key:
        case "found":
            return found is not None and sorted(found) == sorted(wanted)
        case "first" if found is not None:
            return bool(found) and found[0] == wanted
        case "absent":
            return found is not None and not set(found) & set(wanted)
        case "skipped" | "conflicted":
            return sorted(seen.get(key, ())) == sorted(wanted)
        case _:
            return bool(seen.get(key) == wanted)

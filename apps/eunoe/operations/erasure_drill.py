"""Forgetting, rehearsed on a live installation with people who never were (M4, M8; S40).

Every step is what a real erasure goes through; what is looked for afterwards are canaries: sentences made up for this
one run. A search that finds nothing proves something only if it would have found it, so a control is planted and found.
"""

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from eunoe.client.exporting import ExportRefused
from eunoe.client.memory import Memory
from eunoe.client.receipts import receipts_until
from eunoe.crypto.receipts import BadReceipt, receipt_document, verified_statement
from eunoe.operations.byte_search import search_bytes
from eunoe.operations.drill_places import places_of, sealed_bodies
from eunoe.operations.drill_plan import Person, Plan, Step, StepFailed, public_key
from eunoe.operations.rebuilding import rebuilding
from eunoe.readmodels.recall.keys import MODEL
from eunoe.readmodels.recall.result import RecalledMemory
from eunoe.runtime.errors import RuntimeFault
from eunoe.runtime.redis.connect import connect
from eunoe.runtime.settings import Settings, SettingsError
from eunoe.schemas.events import ForgettingRequested, Reason
from eunoe.schemas.ids import CommandId, MemoryId
from eunoe.schemas.outcomes import Outcome, OutcomeStatus
from eunoe.schemas.receipts import BY_ITSELF, WORDING, Stage

_SUMMARY: Final = "summary"
_LEFT_OUT: Final = "left out"


@dataclass(slots=True, kw_only=True)
class ErasureDrill:
    """One run. ``readers``: two clients with caches of their own. Made by `drilling`."""

    settings: Settings
    plan: Plan
    readers: Sequence[Memory]
    officer: Memory
    person: Person = field(default_factory=Person)
    other: Person = field(default_factory=Person)
    written: dict[str, MemoryId] = field(default_factory=dict)
    sealed: Mapping[MemoryId, bytes] = field(default_factory=dict)
    before: RecalledMemory | None = None
    token: str | None = None
    request: tuple[CommandId, ...] = ()
    exported: bytes | None = None

    async def run(self) -> AsyncIterator[Step]:
        """The steps as they are done. What follows the forgetting is looked at whatever became of the step before.

        What does not answer is a failed step too; aiokafka's and Redis's own errors are raised. Whoever was written
        down is forgotten at the end in any case.
        """
        left, going = False, True
        try:
            for name, work, needed in self._steps():
                if not going:
                    yield Step(name=name, ok=None, found="not done")
                    continue
                step = await _done(name, work)
                going = bool(step.ok) or not needed
                yield step
            left = True
            yield await _done("nobody of this drill stays", self._leave)
        finally:
            if not left:
                await self._leave()

    def _steps(self) -> tuple[tuple[str, Callable[[], Awaitable[str]], bool], ...]:
        return (
            ("two people are written down, and a summary of one that is held on the other", self._write, True),
            ("all is found, by two clients", self._retrievable, True),
            ("all is exported", self._export, False),
            ("one asks to be forgotten", self._forget, True),
            ("no client finds them, nor the summary", self._absent, False),
            ("the same source is fed again: refused", self._again, False),
            ("what was exported before is brought in: refused", self._reimported, False),
            *((f"receipt: {stage}", self._receipt(stage), False) for stage in BY_ITSELF),
            ("the receipts are what was signed", self._verified, False),
            ("still no client finds them", self._absent, False),
            ("filled anew from the log, recall has only the other", self._rebuilt, False),
            ("the planted control is found, the canaries are nowhere", self._nowhere, False),
            ("the other is as before, byte for byte", self._unchanged, False),
        )

    async def _write(self) -> str:
        for each in (self.person, self.other):
            self.written[each.subject] = await self._accepted(each.line)
        source = self.written[self.person.subject]
        self.written[_SUMMARY] = await self._accepted(self.person.summary(source, self.other.subject))
        self.sealed = await sealed_bodies(self.settings, self.readers[0].installation, self.plan.tenant, self._ids)
        if len(self.sealed) != len(self._ids):
            raise StepFailed("the log does not hold all records")
        return f"accepted {len(self._ids)}"

    @property
    def _ids(self) -> frozenset[MemoryId]:
        return frozenset(self.written.values())

    async def _accepted(self, line: Mapping[str, Any]) -> MemoryId:
        outcome = await self._remember(line)
        if outcome.status is not OutcomeStatus.ACCEPTED or outcome.memory_id is None:
            raise StepFailed(f"not accepted: {outcome.status} {outcome.reason or ''}")
        self.token = outcome.token
        return outcome.memory_id

    async def _remember(self, line: Mapping[str, Any]) -> Outcome:
        plan = self.plan
        given: dict[str, Any] = {"tenant": plan.tenant, "agent": plan.agent, "purposes": [plan.purpose]}
        return await self.readers[0].remember(**line, **given, timeout=plan.timeout)

    async def _found(self, reader: Memory, word: str, generation: int | None = None) -> RecalledMemory | None:
        plan = self.plan
        scope: dict[str, Any] = {"tenant": plan.tenant, "agent": plan.agent, "purpose": plan.purpose}
        scope |= {"after": self.token, "generation": generation}
        result = await reader.search(word, timeout=plan.timeout, **scope)
        return next((each for each in result.records if each.memory_id in self._ids and word in each.statement), None)

    async def _retrievable(self) -> str:
        for reader in self.readers:
            if await self._found(reader, self.person.word) is None:
                raise StepFailed("a client does not find the person who is to be forgotten")
            if await self._found(reader, self.person.summary_word) is None:
                raise StepFailed("a client does not find what was built on them")
            self.before = await self._found(reader, self.other.word)
            if self.before is None:
                raise StepFailed("a client does not find the other person")
        return f"{len(self.readers)} clients, keys and queries warm"

    async def _forget(self) -> str:
        outcome = await self._forgotten(self.person)
        if (why := _not_done(outcome)) is not None:
            raise StepFailed(why)
        self.token = outcome.token
        self.request = tuple(each for each in (outcome.command_id, outcome.first_command_id) if each is not None)
        return f"request {self.request[0]}"

    async def _forgotten(self, person: Person) -> Outcome:
        return await self.officer.forget_subject(person.subject, tenant=self.plan.tenant, timeout=self.plan.timeout)

    async def _absent(self) -> str:
        words = {"them": self.person.word, "what was built on them": self.person.summary_word}
        for what, word in words.items():
            found = [await self._found(each, word) is not None for each in self.readers]
            if any(found):
                raise StepFailed(f"{sum(found)} of {len(found)} clients still find {what}")
        return f"{len(self.readers)} clients find nothing of them, and nothing that was built on them"

    async def _again(self) -> str:
        summary = self.person.summary(self.written[self.person.subject], self.other.subject)
        for line, expected in ((self.person.line, Reason.SUBJECT_CLOSED), (summary, Reason.ERASED)):
            outcome = await self._remember(line)
            if outcome.reason != expected:
                raise StepFailed(f"expected a refusal ({expected}): {outcome.status} {outcome.reason or ''}")
        return f"rejected: {Reason.SUBJECT_CLOSED}; what would be built on it: {Reason.ERASED}"

    async def _export(self) -> str:
        check = "a drill of forgetting, with people who never were"
        try:
            found = await self.officer.export_tenant(tenant=self.plan.tenant, identity_checked=check)
        except (ExportRefused, SettingsError) as refused:
            return f"{_LEFT_OUT}: {refused}"
        self.exported = found.content
        return f"records {found.head['statement']['records']}"

    async def _reimported(self) -> str:
        if self.exported is None:
            return f"{_LEFT_OUT}: nothing was exported"
        report = await self.officer.import_file(self.exported, tenant=self.plan.tenant)
        person, summary = (report.refused_records.get(self.written[each]) for each in (self.person.subject, _SUMMARY))
        if person == Reason.NOT_ALLOWED:
            return f"{_LEFT_OUT}: the officer may not import"
        if {person, summary} != {Reason.ERASED} or report.restored or report.quarantined:
            came = f"restored {report.restored}, quarantined {report.quarantined}"
            raise StepFailed(f"{came}, the person {person}, what was built on them {summary}")
        return f"rejected: {person}; standing as they were {report.standing}"

    def _receipt(self, stage: Stage) -> Callable[[], Awaitable[str]]:
        async def wait() -> str:
            statements = await self._statements(stage)
            statement = statements.get(stage)
            if statement is None:
                raise StepFailed(f"none after {self.plan.timeout:g} s: see docs/erasure.md, a stage does not come")
            failed = [each["check"] for each in statement["checks"] if not each["passed"]]
            if statement["claim"] != WORDING or failed:
                raise StepFailed(f"{statement['claim']}: {'; '.join(failed)}")
            return f"{WORDING}, {len(statement['checks'])} checks"

        return wait

    async def _documents(self, stage: Stage, timeout: float) -> list[dict[str, Any]]:
        installation = self.readers[0].installation
        found = await receipts_until(self.settings, installation, self.plan.tenant, self.request, stage, timeout)
        return [receipt_document(each) for each in found]

    async def _statements(self, stage: Stage) -> dict[Stage, Any]:
        documents = await self._documents(stage, self.plan.timeout)
        return {Stage(each["statement"]["stage"]): each["statement"] for each in documents}

    async def _verified(self) -> str:
        key = public_key(self.plan, self.settings)
        documents = json.loads(json.dumps(await self._documents(Stage.SCANNED, 0.0)))
        if len(documents) < len(BY_ITSELF):
            raise StepFailed(f"{len(documents)} of {len(BY_ITSELF)} receipts are there")
        try:
            for each in documents:
                verified_statement(each, key)
        except BadReceipt as bad:
            raise StepFailed(str(bad)) from None
        return f"{len(documents)} signatures fit"

    async def _nowhere(self) -> str:
        installation = self.readers[0].installation
        redis = await connect(self.settings.redis)
        try:
            where, unreached = await places_of(self.settings, installation, redis, self.plan.also)
            searched = await search_bytes(where, self.person.canaries, tuple(self.sealed.values()))
        finally:
            await redis.aclose()
        said = "; ".join((searched.conclusion, *unreached))
        if not searched.clean:
            names = sorted({place.name for place in searched.places if place.indexes})
            raise StepFailed(f"{said}; found in: {', '.join(names)}" if names else said)
        return said

    async def _rebuilt(self) -> str:
        if not self.plan.rebuild:
            return "left out, as told"
        partition = self.readers[0].installation.partition_of(self.plan.tenant)
        async with rebuilding(self.settings, MODEL, lambda _: None) as at, at.aside(partition) as generation:
            found = await self._found(self.readers[0], self.other.word, generation)
            if found is None:
                raise StepFailed("the other is not in it")
            for word in (self.person.word, self.person.summary_word):
                if await self._found(self.readers[0], word, generation) is not None:
                    raise StepFailed("the forgotten person is in it again, or what was built on them")
        return f"generation {generation} of partition {partition}, removed again"

    async def _unchanged(self) -> str:
        after = await self._found(self.readers[0], self.other.word)
        if after is None or self.before is None or _kept(after) != _kept(self.before):
            raise StepFailed("the other's record is not what it was")
        memory_id = self.written[self.other.subject]
        now = await sealed_bodies(self.settings, self.readers[0].installation, self.plan.tenant, self._ids)
        if now.get(memory_id) != self.sealed[memory_id]:
            raise StepFailed("the other's sealed body on the log is not what it was")
        return f"found, version {after.version}, {len(now[memory_id])} sealed bytes the same"

    async def _leave(self) -> str:
        people = [each for each in (self.person, self.other) if each.subject in self.written]
        for each in people:
            if each is self.person and self.request:
                continue
            outcome = await self._forgotten(each)
            if (why := _not_done(outcome)) is not None:
                raise StepFailed(f"{why}; what was written ends by itself in a day")
        return f"forgotten {len(people)}"


def _not_done(outcome: Outcome) -> str | None:
    """Why nobody was forgotten; None where somebody was."""
    if outcome.refused:
        return f"refused: {outcome.reason}"
    if outcome.kind == ForgettingRequested.__name__:
        return "only asked for: the officer may not erase"
    return None


async def _done(name: str, work: Callable[[], Awaitable[str]]) -> Step:
    """The step, done. Our own errors hold no content, and say what was found instead."""
    started = time.monotonic()
    try:
        found, ok = await work(), True
    except (StepFailed, RuntimeFault) as failed:
        found, ok = str(failed), False
    return Step(name=name, ok=ok, found=found, seconds=time.monotonic() - started)


def _kept(record: RecalledMemory) -> RecalledMemory:
    """All but what depends on the time of asking."""
    return replace(record, score=0.0, terms=(), reasons=())


@asynccontextmanager
async def drilling(settings: Settings, plan: Plan) -> AsyncIterator[ErasureDrill]:
    """A drill with its clients connected. Raises what `Memory.connect` raises."""
    async with AsyncExitStack() as closing:
        readers = [await closing.enter_async_context(Memory.connect(settings)) for _ in range(2)]
        officer = await closing.enter_async_context(Memory.connect(replace(settings, principal=plan.officer)))
        yield ErasureDrill(settings=settings, plan=plan, readers=readers, officer=officer)

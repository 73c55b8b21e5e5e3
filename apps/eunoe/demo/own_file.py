"""The main job on a file of the user's own: ingest it, ask for some of it in its own words, look for its bytes."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from eunoe.client.ingesting import Progress, Report, ingest
from eunoe.client.memory import Memory
from eunoe.demo.log_facts import LogFacts, read_log
from eunoe.demo.run import Looked, clients, look
from eunoe.demo.scenario import Fields
from eunoe.demo.stand import Stand, prepared
from eunoe.readmodels.recall.errors import BadScope
from eunoe.runtime.lane import heed_cancellation
from eunoe.schemas.ids import TenantId
from eunoe.schemas.outcomes import Token
from eunoe.schemas.policy_file import development_policy_text
from eunoe.stack.development import AGENT
from eunoe.stack.provider import Endpoints

REVIEWER: Final = "dev-reviewer"
OFFICER: Final = "dev-officer"
_BY_OPERATION: Final[Mapping[str, str]] = {
    "promote": REVIEWER,
    "reject": REVIEWER,
    "confirm": REVIEWER,
    "resolve": REVIEWER,
    "forget": OFFICER,
    "readmit": OFFICER,
}
"""Who sends what: what needs a person is sent as one of the development policy's persons."""
_OUTCOME_S: Final = 60.0
_SEARCHES: Final = 5
_WORDS: Final = 4
_WORD: Final = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A search made of a record's own rare words. ``rank`` counts from 1; None: the record is not among the
    ``found``, because it waits for a person, gave way, ended, or others fit better."""

    line: int
    query: str = field(repr=False)
    found: int
    rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRun:
    """``prefix``: of the topics' names."""

    report: Report
    searches: tuple[Asked, ...]
    looked: Looked
    seconds: float
    prefix: str

    @property
    def passed(self) -> bool:
        """Every line was taken, what was accepted can be found, and no plaintext is where it should not be."""
        findable = not self.searches or any(each.rank is not None for each in self.searches)
        return self.report.clean and findable and self.looked.searched.clean


async def run_file(endpoints: Endpoints, lines: Sequence[bytes], *, own: bool, progress: Progress) -> FileRun:
    """``lines`` under the development policy: any tenant, any purpose. Raises what services and clients raise."""
    started = time.monotonic()
    async with prepared(endpoints, own=own) as stand, clients(stand, (AGENT, REVIEWER, OFFICER)) as known:
        report = await _ingest(known, lines, progress)
        parsed = list(_parsed(lines))
        facts = await read_log(stand.settings.brokers, stand.installation)
        searches = [await _ask(stand, known[AGENT], facts, *each) for each in questions(parsed)]
        looked = await look(stand, (fields for _, fields in parsed), (development_policy_text(),))
        return FileRun(
            report=report,
            searches=tuple(searches),
            looked=looked,
            seconds=time.monotonic() - started,
            prefix=stand.settings.prefix,
        )


async def _ingest(known: Mapping[str, Memory], lines: Sequence[bytes], progress: Progress) -> Report:
    """In order. Lines of one sender are in flight together; the next sender waits for their outcomes."""
    total = Report()
    at = 0
    for sender, run in groupby(lines, key=_sender):
        heed_cancellation()
        batch = list(run)
        part = await ingest(known[sender], batch, timeout=_OUTCOME_S, progress=progress)
        for name in ("published", "accepted", "quarantined", "duplicate", "done"):
            setattr(total, name, getattr(total, name) + getattr(part, name))
        total.rejected.update(part.rejected)
        for each in part.failed:
            total.fail(at + each.line, each.problem)
        for each in part.refused:
            total.refused.append(type(each)(at + each.line, each.problem))
        at += len(batch)
    return total


def _sender(line: bytes) -> str:
    fields = _object(line)
    operation = fields.get("op") if fields else None
    return _BY_OPERATION.get(operation, AGENT) if isinstance(operation, str) else AGENT


def _parsed(lines: Sequence[bytes]) -> Iterator[tuple[int, Fields]]:
    """Number and fields of every line that is a JSON object, whether eunoe takes it or not."""
    for number, line in enumerate(lines, start=1):
        if fields := _object(line):
            yield number, fields


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def questions(parsed: Sequence[tuple[int, Fields]]) -> list[tuple[int, Fields, str]]:
    """Line, fields and query for a few remembered lines, spread over the file: each one's rarest words, in order."""
    usable = [(number, fields) for number, fields in parsed if _words(fields) and _readable(fields)]
    seen = Counter(word for _, fields in usable for word in set(_words(fields)))
    step = max(1, len(usable) // _SEARCHES)
    chosen = usable[::step][:_SEARCHES]
    found = []
    for number, fields in chosen:
        words = list(dict.fromkeys(_words(fields)))
        rarest = sorted(words, key=lambda word: (seen[word], -len(word)))[:_WORDS]
        found.append((number, fields, " ".join(word for word in words if word in rarest)))
    return found


def _readable(fields: Fields) -> bool:
    """Whether the line says who may read it for what. The rest is checked by whoever judges it."""
    named = all(isinstance(fields.get(name), str) for name in ("tenant", "agent"))
    listed = all(_names(fields.get(name, [])) for name in ("purposes", "surfaces"))
    return named and listed and bool(fields.get("purposes")) and fields.get("op") == "remember"


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _words(fields: Fields) -> list[str]:
    statement = fields.get("statement")
    return [each.lower() for each in _WORD.findall(statement)] if isinstance(statement, str) else []


async def _ask(stand: Stand, memory: Memory, facts: LogFacts, line: int, fields: Fields, query: str) -> Asked:
    scope = {"tenant": fields["tenant"], "agent": fields["agent"], "purpose": fields["purposes"][0]}
    surfaces = fields.get("surfaces")
    try:
        partition = stand.installation.partition_of(TenantId(fields["tenant"]))
        after = Token(log_id=stand.installation.log_id, partition=partition, position=facts.ends[partition])
        result = await memory.search(query, surface=surfaces[0] if surfaces else None, after=after.text, **scope)
    except BadScope:  # a line that was refused for its names
        return Asked(line=line, query=query, found=0, rank=None)
    statements = [each.statement for each in result.records]
    wanted = fields["statement"]
    rank = statements.index(wanted) + 1 if wanted in statements else None
    return Asked(line=line, query=query, found=len(statements), rank=rank)

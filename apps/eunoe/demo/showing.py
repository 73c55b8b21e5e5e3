"""The demo for people: a line per step, then what happened and where the bytes are."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from eunoe.demo.document import WORDING, outcomes, problems
from eunoe.demo.log_facts import LogFacts
from eunoe.demo.own_file import FileRun
from eunoe.demo.play import Played
from eunoe.demo.run import Looked, ScenarioRun
from eunoe.demo.scenario import Fields
from eunoe.operations.byte_search import BROKER_FILES, RECORDS, REDIS, REDIS_FILES, SEGMENTS, Place, Searched

_PAGE: Final = 120
"""Columns where no terminal says how many it has."""
_SHOWN: Final = 20
_TENANTS: Final = 6


def console(*, stderr: bool = False) -> Console:
    made = Console(highlight=False, emoji=False, stderr=stderr)
    if not made.is_terminal:
        made.width = _PAGE
    return made


def mark(ok: bool) -> Text:
    """In words too, for those who see no colours."""
    return Text("✓ ok    ", style="green") if ok else Text("✗ FAILED", style="bold red")


class StepLines:
    """Prints a chapter's title before its first step."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._chapter = ""

    def __call__(self, played: Played) -> None:
        if played.step.chapter != self._chapter:
            self._chapter = played.step.chapter
            self._out.print(Text(f"\n{self._chapter}", style="bold"))
        said = Text.assemble(" ", mark(played.ok), f" {played.step.say}: ", (seen_text(played), "cyan"))
        self._out.print(said, soft_wrap=True)
        self._out.file.flush()  # whoever reads a pipe wants it now too
        if not played.ok:
            expected = ", ".join(f"{name} {_value(value)}" for name, value in played.step.expect.items())
            self._out.print(Text(f"            expected {expected}", style="red"), soft_wrap=True)
        if "from_offset" in played.seen:
            offset = played.seen["from_offset"]
            said = Text(f"            offset {offset} of memory-lifecycle: {WORDING}", style="dim")
            self._out.print(said, soft_wrap=True)


def seen_text(played: Played) -> str:
    """What was seen, in one line."""
    seen = played.seen
    match played.step.action:
        case "history":
            return " → ".join(seen["kinds"]) or "nothing"
        case "search":
            return _search_text(seen)
        case "why":
            where = "" if seen["rank"] is None else f", rank {seen['rank']}"
            return ("selected" if seen["selected"] else f"not selected: {seen['because']}") + where
        case "ingest":
            return ", ".join(f"{name} {count}" for name, count in seen.items() if count or name == "accepted")
        case _:
            return _outcome_text(seen)


def _search_text(seen: Fields) -> str:
    if "refused" in seen:
        return f"refused ({seen['refused']})"
    said = "found " + (", ".join(seen["found"]) or "nothing")
    if seen.get("conflicted"):
        said += f"; in conflict: {', '.join(seen['conflicted'])}"
    if seen.get("skipped"):
        said += f"; skipped {', '.join(seen['skipped'])}"
    if seen.get("excluded"):
        said += "; left out: " + ", ".join(f"{reason} {count}" for reason, count in seen["excluded"].items())
    return said


def _outcome_text(seen: Fields) -> str:
    said = str(seen["status"])
    if "reason" in seen:
        said += f" ({seen['reason']})"
    if "first" in seen:
        said += f" of {seen['first']}"
    if "current_version" in seen:
        said += f", it is at version {seen['current_version']}"
    elif "version" in seen:
        said += f", version {seen['version']}"
    if "records" in seen:
        said += f", records {seen['records']}"
    return said


def _value(value: Any) -> str:
    return ", ".join(map(str, value)) or "nothing" if isinstance(value, list) else str(value)


def scenario_result(run: ScenarioRun) -> RenderableType:
    """All that follows the steps."""
    good = sum(step.ok for step in run.steps)
    said = f" {good} of {len(run.steps)} steps as expected, in {run.seconds:.0f} s"
    return Group(*_looked(run.looked, run.prefix), Text.assemble(mark(good == len(run.steps)), said))


def file_result(run: FileRun) -> RenderableType:
    """Outcomes, searches, facts and bytes."""
    listed = [Text(f"line {each.line}: {each.problem}") for each in problems(run.report)[:_SHOWN]]
    asked = [
        [str(each.line), each.query, str(each.found), "not found" if each.rank is None else f"number {each.rank}"]
        for each in run.searches
    ]
    said = f" {run.report.published} commands, in {run.seconds:.0f} s"
    return Group(
        *listed,
        _table("Outcomes", ["outcome", "count"], [[name, str(count)] for name, count in outcomes(run.report)]),
        _table("Searches in records' own words", ["line", "query", "found", "the record itself"], asked),
        *_looked(run.looked, run.prefix),
        Text.assemble(mark(run.passed), said),
    )


def _looked(looked: Looked, prefix: str) -> Iterator[RenderableType]:
    yield happened(looked.facts)
    yield from where_bytes_are(looked.searched, prefix)
    if left := looked.texts.left_out:
        yield Text(f"         {left} texts are part of what is stored in the clear by design, and were not looked for")


def happened(facts: LogFacts) -> RenderableType:
    """Facts by tenant, or in all where the tenants are too many for columns."""
    counts: Counter[tuple[str, str]] = facts.counts
    if len({tenant for tenant, _ in counts}) > _TENANTS:
        together: Counter[str] = Counter()
        for (_, fact), count in counts.items():
            together[fact] += count
        counts = Counter({("all tenants", fact): count for fact, count in together.items()})
    tenants = sorted({tenant for tenant, _ in counts})
    names = sorted({fact for _, fact in counts}, key=lambda fact: (fact.startswith("Command"), fact))
    rows = [[name, *(str(counts.get((tenant, name), "")) for tenant in tenants)] for name in names]
    return _table("What happened: the facts on memory-lifecycle", ["fact", *tenants], rows)


def where_bytes_are(searched: Searched, prefix: str) -> Iterator[RenderableType]:
    """A row per topic (its records as decoded, and its segment files), and one for everything else."""
    topics = sorted({each.topic for each in searched.places if each.topic is not None})
    by_name = {(each.group, each.topic): each for each in searched.places}
    rows = [_topic_row(searched, topic, prefix, by_name) for topic in topics]
    for group in (BROKER_FILES, REDIS, REDIS_FILES):
        if place := by_name.get((group, None)):
            rows.append([group, str(len(place.items)), _size(place.bytes), "", *_findings(searched, [place])])
    columns = ["where", "items", "decoded", "segment files", "plaintexts", "sealed bodies", "control"]
    yield _table("Where the bytes are", columns, rows)
    yield Text.assemble(mark(searched.clean), f" {searched.conclusion}")


def _topic_row(searched: Searched, topic: str, prefix: str, by_name: dict[tuple[str, str | None], Place]) -> list[str]:
    decoded, segments = by_name.get((RECORDS, topic)), by_name.get((SEGMENTS, topic))
    places = [each for each in (decoded, segments) if each is not None]
    return [
        f"topic {topic.removeprefix(prefix)}",
        "" if decoded is None else str(len(decoded.items)),
        "" if decoded is None else _size(decoded.bytes),
        "" if segments is None else _size(segments.bytes),
        *_findings(searched, places),
    ]


def _findings(searched: Searched, places: Sequence[Place]) -> list[str]:
    found = {index for place in places for index in place.indexes}
    sealed = {index for place in places for index in place.sealed}
    control = any(place.control for place in places)
    return [f"{len(found)} found", str(len(sealed)) if sealed else "", "found" if control else ""]


def _size(count: int) -> str:
    return f"{count / 1e3:,.1f} kB"


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> RenderableType:
    table = Table()
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return Group("", Text(title, style="bold"), table)

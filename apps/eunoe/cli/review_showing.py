"""How the review queue looks: as JSON documents, and for people.

A text that waits is nobody's friend: what a terminal would obey or hide (escape sequences, bidirectional marks, tags,
zero-width characters) is written out, and no line of it can be taken for one of ours.
"""

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from eunoe.cli.terminal import quoted, visible
from eunoe.client.review_shown import Changed, Relation, ShownConflict, ShownQuarantined, ShownSuspended, remaining
from eunoe.readmodels.review_items import SUSPENDED, Conflict, Suspended
from eunoe.schemas.instants import instant

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from eunoe.client.review_shown import Change, Compared, Member, Shown
    from eunoe.readmodels.recall.result import RecalledMemory
    from eunoe.readmodels.review_items import Item, Page, Quarantined
    from eunoe.schemas.ids import Millis

_WIDTH: Final = 100
_OTHER_SCOPE: Final = (
    "What gives way may have no reader who is none of what holds: an answer that is refused as other_scope names it, "
    "and it can be retracted instead (eunoe retract)."
)
_INSTANTS: Final = frozenset(
    {"queued_at", "reviewable_at", "observed_at", "created_at", "valid_from", "valid_until", "expires_at"}
)
_NAMES: Final = {"memory_class": "class", "claim_key": "key", "age": "age_ms", "wait": "wait_ms"}
_PARTS: Final = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000))
_MARKS: Final = {Changed.SAME: ("", ""), Changed.REMOVED: ("[-", "-]"), Changed.ADDED: ("{+", "+}")}


def page_document(page: "Page") -> dict[str, Any]:
    """``items``, ``cursor``, ``waiting``, ``examined``, ``position``."""
    document: dict[str, Any] = _told(msgspec.to_builtins(page))
    return document


def shown_document(shown: "Shown") -> dict[str, Any]:
    document: dict[str, Any] = _told(msgspec.to_builtins(shown))
    return document


def page_table(page: "Page", now: "Millis") -> "Table | str":
    if not page.items:
        return f"Nothing waits{'' if not page.waiting else ' that fits'}.  In the queue: {page.waiting}"
    from rich.table import Table

    more = "" if page.cursor is None else f"  more: --cursor {page.cursor}"
    table = Table("waits", caption=f"in the queue {page.waiting}{more}")
    table.add_column("memory", no_wrap=True, min_width=36)
    table.add_column("why")
    table.add_column("what")
    for each in page.items:
        table.add_row(words(now - each.queued_at), *_row(each, now))
    return table


def words(span: int) -> str:
    """A span of milliseconds by its largest unit, rounded down: ``3 hours``."""
    for name, size in _PARTS:
        count = span // size
        if count > 0:
            return f"{count} {name}{'' if count == 1 else 's'}"
    return "moments"


def shown_text(shown: "Shown", tenant: str, principal: str | None = None) -> "RenderableType":
    """For people; the exact ids and versions to decide about at its end, as ``principal`` (`--as`) who looks."""
    from rich.console import Group
    from rich.text import Text

    where = f"--tenant {tenant}" + ("" if principal is None else f" --as {principal}")
    match shown:
        case ShownConflict():
            lines = _conflict(shown, where)
        case ShownSuspended():
            lines = _suspended(shown, where)
        case ShownQuarantined():
            lines = _quarantined(shown, where)
    return Group(*(Text(each) for each in lines))


def _row(item: "Item", now: "Millis") -> tuple[str, str, str]:
    if isinstance(item, Conflict):
        ids = "\n".join(f"{each.memory_id}\n  version {each.version}" for each in item.members)
        return ids, "conflict", f"{len(item.members)} memories\nsubject {item.subject[:8]}"
    if isinstance(item, Suspended):
        return (
            f"{item.memory_id}\nversion {item.version}",
            "\n".join((SUSPENDED, *item.reasons, *_not_before(item, now))),
            f"sent back by {item.principal}\nsubject {item.subject[:8]}",
        )
    why = [*item.reasons, *_not_before(item, now)]
    what = [f"{item.source_kind} by {item.agent}", f"{item.kind}, {item.sensitivity}", f"subject {item.subject[:8]}"]
    what += [f"sent {item.alike_total} times"] if item.alike else []
    return f"{item.memory_id}\nversion {item.version}", "\n".join(why), "\n".join(what)


def _not_before(item: "Quarantined | Suspended", now: "Millis") -> list[str]:
    wait = remaining(item, now)
    return [f"not before {words(wait)} from now"] if wait else []


def _approvable(shown: "ShownQuarantined | ShownSuspended") -> Iterable[str]:
    when = f"in {words(shown.wait)}, from {instant(shown.item.reviewable_at)}" if shown.wait else "now"
    return _listed("may be approved", [when])


def _quarantined(shown: ShownQuarantined, where: str) -> Iterable[str]:
    item, body = shown.item, shown.body
    yield f"Quarantined memory {item.memory_id}, version {item.version}, waits for {words(shown.age)}"
    yield ""
    yield quoted(body.statement) if body is not None else f"  (withheld: {shown.withheld})"
    yield ""
    yield from _listed("source", _source(shown))
    yield from _listed("about", _about(item))
    yield from _listed("scope", _scope(item))
    found = [f"{each.detector} found {each.rule}: {each.verdict}" for each in item.findings]
    influence = ["would change rules, permissions or routing"] if item.policy_influence else []
    yield from _listed("waits for", [", ".join(item.reasons), *found, *influence])
    yield from _listed("sent as well as", _alike(item))
    for compared in shown.compared:
        yield from _compared(compared)
    if body is not None:
        yield from _corroborating(shown.corroborating)
    yield from _approvable(shown)
    yield ""
    yield from _decisions(shown, where)
    if item.alike:
        yield "With --alike, those sent as well are rejected with the decision; each may come from somebody else."


def _suspended(shown: ShownSuspended, where: str) -> Iterable[str]:
    item = shown.item
    yield f"Memory {item.memory_id}, version {item.version}, was in use and waits again, for {words(shown.age)}"
    yield ""
    yield "  (withheld)" if shown.record is None else quoted(shown.record.statement)
    yield ""
    yield from _listed("sent back by", [f"{item.principal}, for {', '.join(item.reasons)}"])
    yield from _listed("was", [] if shown.record is None else [_record(shown.record)])
    for compared in shown.compared:
        yield from _compared(compared)
    yield from _approvable(shown)
    yield ""
    yield from _decisions(shown, where)


def _decisions(shown: "ShownQuarantined | ShownSuspended", where: str) -> Iterable[str]:
    """The commands, each with what becomes of the records that it contradicts or replaces."""
    yield from textwrap.wrap(shown.notice, _WIDTH)
    replaced = [each.replace for each in shown.compared if each.relation is Relation.REPLACES]
    contradicted = [each.replace for each in shown.compared if each.relation is Relation.CONTRADICTS]
    if not replaced:
        yield f"  eunoe review approve {shown.decide} {where}"
    yield from (f"  eunoe review approve {shown.decide} --replaces {each} {where}" for each in replaced or contradicted)
    yield f"  eunoe review reject {shown.decide} {where} --reason CODE"
    if contradicted:
        yield from textwrap.wrap("What contradicts it and is not named stays too, as an open conflict.", _WIDTH)


def _conflict(shown: ShownConflict, where: str) -> Iterable[str]:
    yield f"Open conflict of {len(shown.members)} memories on one claim, for {words(shown.age)}"
    for each in shown.members:
        yield ""
        yield from _member(each)
    yield ""
    yield from textwrap.wrap(shown.notice, _WIDTH)
    for each in shown.members:
        others = (f"--over {other.memory_id}@{other.version}" for other in shown.members if other is not each)
        yield f"  eunoe resolve {each.memory_id}@{each.version} {' '.join(others)} {where}"
    yield from textwrap.wrap(_OTHER_SCOPE, _WIDTH)


def _member(member: "Member") -> Iterable[str]:
    yield f"{member.memory_id}, version {member.version}"
    if member.record is None:
        yield "  (withheld)"
        return
    yield quoted(member.record.statement)
    yield f"  {_record(member.record)}"
    if member.diff:
        yield f"  {_diff(member.diff)}"


def _compared(compared: "Compared") -> Iterable[str]:
    does = "would replace" if compared.relation is Relation.REPLACES else "contradicts"
    said = [f"{compared.memory_id}, version {compared.version}"]
    if compared.record is None:
        said.append("(withheld)")
    else:
        said += [visible(compared.record.statement), _record(compared.record)]
        said += [_diff(compared.diff)] if compared.diff else []
    yield from _listed(does, said)


def _corroborating(records: "Sequence[RecalledMemory]") -> Iterable[str]:
    said = [line for each in records for line in (f"{each.memory_id}: {visible(each.statement)}", f"  {_record(each)}")]
    yield from _listed("in use beside it", said or ["nothing of this subject and scope shares its words"])


def _source(shown: ShownQuarantined) -> Iterable[str]:
    item, body = shown.item, shown.body
    yield f"{item.source_kind}, by {item.principal} for agent {item.agent}, judged by policy {item.policy_version}"
    if item.observed_at is not None:
        yield f"observed {instant(item.observed_at)}"
    if body is None:
        return
    named = {"at": body.source_uri, "provenance": body.provenance, "external id": body.external_id}
    for name, value in named.items():
        if value is not None:
            yield f"{name} {visible(value)}"
    if body.event_ids:
        yield f"events {visible(', '.join(body.event_ids))}"
    if not (body.source_uri or body.provenance or body.event_ids):
        yield "no provenance"


def _about(item: "Quarantined") -> Iterable[str]:
    others = f", and {len(item.about)} more" if item.about else ""
    yield f"subject {item.subject}{others}"


def _alike(item: "Quarantined") -> Iterable[str]:
    yield from (f"{each.memory_id}, version {each.version}" for each in item.alike)
    more = item.alike_total - len(item.alike) - 1
    if more > 0:
        yield f"and {more} more"


def _scope(item: "Quarantined") -> Iterable[str]:
    shown_on = f", only on {', '.join(item.surfaces)}" if item.surfaces else ""
    yield f"{item.kind} ({item.memory_class}), {item.visibility}, for {', '.join(item.purposes)}{shown_on}"
    yield f"{item.sensitivity}, trust {item.trust}, {item.confirmation}, confidence {item.confidence:g}"
    yield f"expires {instant(item.expires_at)}"
    if item.circumstances:
        yield f"declared {', '.join(item.circumstances)}"


def _record(record: "RecalledMemory") -> str:
    return f"{record.source_kind}, trust {record.trust}, {record.confirmation}, since {instant(record.created_at)}"


def _diff(changes: "Sequence[Change]") -> str:
    """Word by word: ``[-taken out-]{+put in+}``."""
    return "".join(f"{_MARKS[each.change][0]}{visible(each.text)}{_MARKS[each.change][1]}" for each in changes)


def _listed(title: str, lines: Iterable[str]) -> Iterable[str]:
    for number, line in enumerate(lines):
        yield f"{title if number == 0 else '':<17}{line}"


def _told(value: Any) -> Any:
    """A document with instants as text, and the names that the other commands use."""
    match value:
        case dict():
            return {
                _NAMES.get(name, name): instant(each) if name in _INSTANTS else _told(each)
                for name, each in value.items()
            }
        case list() | tuple():
            return [_told(each) for each in value]
        case _:
            return value

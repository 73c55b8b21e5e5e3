"""How reasons, records and traces look: as JSON documents, and for people."""

from typing import TYPE_CHECKING, Any

import msgspec

from eunoe.cli.showing import freshness_document, record_document
from eunoe.cli.terminal import lines, visible
from eunoe.schemas.instants import instant

if TYPE_CHECKING:
    from rich.table import Table

    from eunoe.client.traces import ReadTrace, Traces
    from eunoe.readmodels.recall.inspecting import Inspection
    from eunoe.readmodels.recall.why import Why


def why_document(why: "Why") -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(why)
    document["freshness"] = freshness_document(why.freshness)
    return document


def why_text(why: "Why") -> str:
    if why.selected:
        said = f"Selected: rank {why.rank} of {why.ranked}."
    elif why.rank is not None:
        said = f"Not selected: {why.because}. Rank {why.rank} of {why.ranked}."
    else:
        said = f"Not selected: {why.because}."
    if why.terms:
        said += f"\nscore {why.score:.4f}" + "".join(
            f"\n  {each.amount:.4f}  {visible(each.name)}" for each in why.terms
        )
    if why.conflicts:
        said += f"\nin conflict with {', '.join(why.conflicts)}"
    return f"{said}\npolicy version {why.policy_version}, control offset {why.control_offset}"


def inspection_document(found: "Inspection") -> dict[str, Any]:
    return {
        "records": [{"status": each.status.value, **_held(record_document(each.record))} for each in found.records],
        "more": found.more,
        "freshness": freshness_document(found.freshness),
    }


def inspection_table(found: "Inspection") -> "Table | str":
    if not found.records:
        return "Nothing is held that you may see and that these filters let through."
    from rich.table import Table
    from rich.text import Text

    table = Table("statement", "provenance and trust")
    table.add_column("memory", no_wrap=True, min_width=36)
    for each in found.records:
        record = each.record
        source = record.source_uri or record.provenance or ", ".join(record.event_ids) or "unknown"
        built_on = "".join(f"\nbuilt on {one.memory_id}@{one.version}" for one in record.derived_from)
        state = each.status.value + (", in conflict" if record.conflicts else "")
        table.add_row(
            Text(lines(record.statement)),
            Text(f"{record.source_kind}\n{visible(source)}\n{record.trust}, {record.confirmation}"),
            f"{record.memory_id}\nrevision {record.version}, {state}\n"
            f"{record.memory_class}, {record.kind}\nexpires {(instant(record.expires_at) or '')[:10]}{built_on}",
        )
    if found.more:
        table.caption = "There are more; raise --limit or filter."
    return table


def traces_document(found: "Traces") -> dict[str, Any]:
    return {
        "traces": [_trace(each) for each in found.traces],
        "unreadable": found.unreadable,
        "unopened": found.unopened,
    }


def traces_table(found: "Traces") -> "Table | str":
    if not found.traces:
        return "No traces that you may see."
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column("read", no_wrap=True, min_width=36)
    table.add_column("asked, left out")
    table.add_column("delivered", no_wrap=True, min_width=36)
    for each in found.traces:
        trace = each.trace
        left_out = [f"{out.reason} {out.count}" for out in trace.excluded]
        left_out += [f"over budget {len(trace.skipped)}"] if trace.skipped else []
        who = f"{trace.principal} for {trace.agent or '-'}, {trace.purpose or '-'}"
        session = "" if trace.session_id is None else f"\nsession {trace.session_id}"
        table.add_row(
            f"{instant(trace.at)} {trace.kind.value}\n{who}\n{trace.trace_id}{session}",
            Text("\n".join(["(sealed)" if each.query is None else visible(each.query), *left_out])),
            "\n".join(f"{one.memory_id} v{one.version}" for one in trace.delivered) or "nothing",
        )
    return table


def _held(record: dict[str, Any]) -> dict[str, Any]:
    """Nothing was searched for, so there is no score and no reason."""
    return {name: value for name, value in record.items() if name not in ("score", "terms", "reasons")}


def _trace(read: "ReadTrace") -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(read.trace)
    del document["sealed"]
    document["at"] = instant(read.trace.at)
    document["limits"]["as_of"] = instant(read.trace.limits.as_of)
    document["context_layers_built"] = sorted({each.memory_class.value for each in read.trace.delivered})
    document["excluded"] = {each.reason: each.count for each in read.trace.excluded}
    return document | {"query": read.query, "subject": read.subject}

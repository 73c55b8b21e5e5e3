"""How results look: as JSON documents, and as tables for people. Instants are RFC 3339 in UTC in both."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from eunoe.cli.terminal import lines, visible
from eunoe.schemas.instants import instant

if TYPE_CHECKING:
    from rich.table import Table

    from eunoe.client.no_memory import NoMemory
    from eunoe.readmodels.history_reader import History
    from eunoe.readmodels.recall.result import Freshness, RecalledMemory, SearchResult
    from eunoe.schemas.outcomes import Outcome


def outcome_document(outcome: "Outcome") -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(outcome)
    document["decided_at"] = instant(outcome.decided_at)
    if outcome.retry_after is not None:
        document["retry_after"] = outcome.retry_after
    return document


def outcome_text(outcome: "Outcome") -> str:
    """One line: what became of the command, of which record, and why."""
    said = outcome.status.value
    if outcome.memory_id is not None:
        said += f"  memory {outcome.memory_id}"
    if outcome.version is not None:
        said += f"  version {outcome.version}"
    if outcome.would_be is not None:
        said += f"  would be {outcome.would_be}; memory only observes here, nothing is stored"
    if outcome.reason is not None:
        where = f" ({outcome.field})" if outcome.field else ""
        said += f"  reason {', '.join(outcome.reasons) or outcome.reason}{where}"
    if outcome.retry_after is not None:
        said += f"  try again in {outcome.retry_after / 1_000:.0f} s"
    if outcome.current_version is not None:
        said += f"  current version {outcome.current_version}"
    if outcome.first_command_id is not None:
        said += f"  first asked as {outcome.first_command_id}"
    if outcome.records is not None:
        said += f"  records {outcome.records}"
    if outcome.would_be is not None:
        said += f"  only observed: would have been {outcome.would_be}"
    if outcome.redacted:
        said += f"\nstored without: {', '.join(each.replace('_', ' ') for each in outcome.redacted)}"
    if outcome.superseded:
        said += f"\nin place of {', '.join(outcome.superseded)}"
        said += f" (settled by {', '.join(outcome.settled_by)})" if outcome.settled_by else ""
    if outcome.withdrawn:
        said += f"\nwithdrawn with it, for they were built on it: {', '.join(outcome.withdrawn)}"
    if outcome.conflicts:
        said += f"\nin conflict with {', '.join(outcome.conflicts)}: `eunoe resolve ONE@VERSION --over OTHER@VERSION`"
    return f"{said}\ncommand {outcome.command_id}  token {outcome.token}"


def search_document(result: "SearchResult") -> dict[str, Any]:
    return {
        "records": [record_document(each) for each in result.records],
        "excluded": dict(result.excluded),
        "examined": result.examined,
        "capped": result.capped,
        "skipped": [msgspec.to_builtins(each) for each in result.skipped],
        "used_tokens": result.used_tokens,
        "freshness": freshness_document(result.freshness),
        "token": result.token,
        "policy_version": result.policy_version,
        "policy_hash": result.policy_hash,
        "control_offset": result.control_offset,
        "trace_id": result.trace_id,
        "session_id": result.session_id,
        "traced": result.traced,
        "empty": None if result.empty is None else result.empty.value,
        "warnings": [each.value for each in result.warnings],
    }


def freshness_document(fresh: "Freshness") -> dict[str, Any]:
    return {
        "log_id": fresh.log_id,
        "partition": fresh.partition,
        "position": fresh.position,
        "log_time": instant(fresh.log_time),
        "lag_ms": fresh.lag,
    }


def no_memory_document(none: "NoMemory") -> dict[str, Any]:
    """Withheld is not empty: there is no list of what was found."""
    return {"no_memory": {"reason": none.reason, "fallback": none.fallback, "retryable": none.retryable}}


def no_memory_text(none: "NoMemory") -> str:
    again = "; asking again may succeed" if none.retryable else ""
    without = "" if none.fallback is None else f"\nWithout memory: {none.fallback}"
    return f"No memory now: {none.reason}{again}.{without}"


def search_table(result: "SearchResult") -> "Table | str":
    if not result.records:
        return _nothing(result)
    from rich.table import Table
    from rich.text import Text

    table = Table("score", "statement", caption=_caption(result))
    table.add_column("memory", no_wrap=True, min_width=36)
    table.add_column("why")
    for each in result.records:
        why = ", ".join(f"{term.name} {term.amount:.2f}" for term in each.terms[:6])
        named = f"{each.memory_id}\nversion {each.version}, {_state(each)}"
        table.add_row(f"{each.score:.2f}", Text(lines(each.statement)), named, Text(visible(why)))
    return table


def _state(record: "RecalledMemory") -> str:
    """What a reader must know before relying on it."""
    said = f"{record.confirmation}, {record.trust}"
    return said if not record.conflicts else f"{said}\nin conflict with\n" + "\n".join(record.conflicts)


def history_document(history: "History") -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(history)
    for entry in document["entries"]:
        entry["decided_at"] = instant(entry["decided_at"])
    return document


def history_table(history: "History") -> "Table | str":
    if not history.entries:
        return "Nothing is known of this record."
    from rich.table import Table

    table = Table("when", "what", "by", "version", "details")
    for entry in history.entries:
        said = [*entry.reasons]
        if entry.supersedes is not None:
            said.append(f"in place of {entry.supersedes}")
        if entry.superseded_by is not None:
            said.append(f"gave way to {entry.superseded_by}")
        if entry.derived_from:
            said.append(f"built on {', '.join(entry.derived_from)}")
        if entry.withdrawn_with is not None:
            said.append(f"was built on {entry.withdrawn_with}")
        if entry.conflicts:
            said.append(f"in conflict with {', '.join(entry.conflicts)}")
        if entry.settled_by:
            said.append(f"settled by {', '.join(entry.settled_by)}")
        said += [f"{each.detector} found {each.rule}: {each.verdict}" for each in entry.findings]
        if entry.trust is not None:
            said.append(f"trust {entry.trust}")
        if entry.confirmation is not None:
            said.append(entry.confirmation)
        if entry.imported_by is not None:
            said.append(f"brought in by {entry.imported_by} at {instant(entry.imported_at)}")
        version = "" if entry.version is None else str(entry.version)
        table.add_row(instant(entry.decided_at), entry.kind, entry.principal, version, "\n".join(said))
    return table


def counts_table(title: str, rows: Mapping[str, int]) -> "Table":
    from rich.table import Table

    table = Table(title, "count")
    for name, count in rows.items():
        table.add_row(name, str(count))
    return table


def record_document(record: "RecalledMemory") -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(record)
    for name in ("observed_at", "created_at", "valid_from", "valid_until", "expires_at"):
        document[name] = instant(document[name])
    document["class"] = document.pop("memory_class")
    document["key"] = document.pop("claim_key")
    document["rollback_ref"] = record.rollback_ref
    return document


def _nothing(result: "SearchResult") -> str:
    why = "" if result.empty is None else f" ({result.empty.value})"
    if result.empty is None and result.examined > sum(result.excluded.values()) + len(result.skipped):
        return f"Something matches, but no memory was asked for (limit 0).  {_caption(result)}"
    return f"Nothing found{why}.  {_caption(result)}"


def _caption(result: "SearchResult") -> str:
    excluded = ", ".join(f"{reason} {count}" for reason, count in result.excluded.items()) or "none"
    skipped = f"  skipped for the budget: {len(result.skipped)}" if result.skipped else ""
    return f"examined {result.examined}  excluded: {excluded}{skipped}"

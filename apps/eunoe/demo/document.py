"""A demo's result as one JSON document: names, codes and counts, never a text of a memory."""

from collections.abc import Iterator
from typing import Any

from eunoe.client.ingesting import LineProblem, Report
from eunoe.demo.own_file import FileRun
from eunoe.demo.run import SERVICES, Looked, ScenarioRun
from eunoe.demo.scenario import Scenario
from eunoe.operations.byte_search import CONTROL_FORMS, Place, Searched
from eunoe.stack.provider import Endpoints

WORDING = "unreadable through every read from this offset; the sealed text stays in the log until its key is destroyed"
"""What the moment of forgetting does. Destroying the keys, and proving it, follows (docs/erasure.md)."""


def scenario_document(scenario: Scenario, run: ScenarioRun, endpoints: Endpoints) -> dict[str, Any]:
    return {
        "demo": scenario.title,
        "passed": run.passed,
        "seconds": round(run.seconds, 1),
        "stack": endpoints.provider,
        "services": SERVICES,
        "steps": [step.document for step in run.steps],
        **looked_document(run.looked),
    }


def file_document(run: FileRun, endpoints: Endpoints) -> dict[str, Any]:
    report = run.report
    return {
        "demo": "a file of your own",
        "passed": run.passed,
        "seconds": round(run.seconds, 1),
        "stack": endpoints.provider,
        "services": SERVICES,
        "outcomes": dict(outcomes(report)),
        "problems": [{"line": each.line, "problem": each.problem} for each in problems(report)],
        "searches": [
            {"line": each.line, "query": each.query, "found": each.found, "rank": each.rank} for each in run.searches
        ],
        **looked_document(run.looked),
    }


def outcomes(report: Report) -> Iterator[tuple[str, int]]:
    """Name and count."""
    for name in ("published", "accepted", "quarantined", "duplicate", "done"):
        yield name, getattr(report, name)
    for reason, count in sorted(report.rejected.items()):
        yield f"rejected: {reason}", count
    yield "failed lines", len(report.failed)


def problems(report: Report) -> list[LineProblem]:
    """What was not sent and what was refused, by line."""
    return sorted((*report.failed, *report.refused), key=lambda each: each.line)


def looked_document(looked: Looked) -> dict[str, Any]:
    rows = looked.facts.rows
    return {
        "happened": [{"tenant": tenant, "fact": fact, "count": count} for tenant, fact, count in rows],
        "bytes": bytes_document(looked.searched) | {"in_the_clear_by_design": looked.texts.left_out},
    }


def bytes_document(searched: Searched) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for each in searched.texts:
        counts[each.kind] = counts.get(each.kind, 0) + 1
    return {
        "clean": searched.clean,
        "conclusion": searched.conclusion,
        "bytes": searched.bytes,
        "plaintexts": counts,
        "found": searched.found,
        "too_short": searched.too_short,
        "sealed_bodies": searched.sealed,
        "control": {
            "forms": sorted(CONTROL_FORMS),
            "found_in": list(searched.control_in),
            "missed_in": list(searched.missed),
        },
        "sealed_bodies_unseen_in": list(searched.unseen),
        "files_searched": searched.files,
        "places": [_place(searched, each) for each in searched.places],
    }


def _place(searched: Searched, place: Place) -> dict[str, Any]:
    return {
        "where": place.group,
        "topic": place.topic,
        "items": len(place.items),
        "bytes": place.bytes,
        "found": dict(searched.kinds(place)),
        "forms": sorted({form for forms in place.indexes.values() for form in forms}),
        "control": sorted(place.control & CONTROL_FORMS),
        "sealed_bodies": len(place.sealed),
    }

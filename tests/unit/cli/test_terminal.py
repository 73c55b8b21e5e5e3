"""Nothing that somebody wrote into a memory reaches a terminal as more than text."""

import io
import json
from typing import Any

import pytest
from rich.console import Console

from eunoe.cli.look_showing import inspection_table, traces_table, why_text
from eunoe.cli.options import Call
from eunoe.cli.showing import record_document, search_table
from eunoe.client.traces import ReadTrace, Traces
from eunoe.readmodels.recall.explain import Contribution
from eunoe.readmodels.recall.inspecting import Inspected, Inspection, Status
from eunoe.readmodels.recall.result import Freshness
from eunoe.readmodels.recall.why import Why
from eunoe.schemas.ids import LogId, Millis, Offset, Partition, PrincipalName, TenantId
from eunoe.schemas.traces import Limits, Trace, TraceKind
from eunoe.schemas.values import Sensitivity
from eunoe.testing.recalled import sample_recalled, sample_result

ESC, CSI, BELL, RLO, TAG, ZERO_WIDTH = "\x1b", "\x9b", "\x07", "\u202e", "\U000e0041", "\u200b"
HARM = f"red{ESC}[31m {ESC}]8;;http://evil.example{ESC}\\here{BELL} {CSI}2J {RLO}txt{TAG}{ZERO_WIDTH}"
FRESH = Freshness(log_id=LogId("l"), partition=Partition(0), position=Offset(1), log_time=None, lag=None)
NAMED = (Contribution(name=f"term:{HARM}", amount=0.2),)


def printed(thing: Any) -> str:
    out = io.StringIO()
    console = Console(file=out, width=400, color_system=None, highlight=False, emoji=False)
    console.print(thing, markup=False, soft_wrap=True)
    return out.getvalue()


def a_search() -> Any:
    return search_table(sample_result(sample_recalled(statement=HARM, terms=NAMED)))


def a_look() -> Any:
    records = [
        sample_recalled(statement=HARM, source_uri=HARM),
        sample_recalled(statement=HARM, source_uri=None, provenance=HARM),
        sample_recalled(statement=HARM, source_uri=None, provenance=None, event_ids=(HARM,)),
    ]
    held = tuple(Inspected(status=Status.ACTIVE, record=each) for each in records)
    return inspection_table(Inspection(records=held, more=False, freshness=FRESH))


def traces() -> Any:
    trace = Trace(
        trace_id="t",
        kind=TraceKind.SEARCHED,
        tenant=TenantId("acme"),
        principal=PrincipalName("dev-agent"),
        agent=None,
        purpose=None,
        at=Millis(0),
        limits=Limits(max_sensitivity=Sensitivity.PUBLIC, limit=1),
        policy_version=1,
        policy_hash="h",
        control_offset=Offset(0),
        delivered=(),
        position=Offset(0),
        lag=None,
        key_id="",  # type: ignore[arg-type]
        sealed=b"",
    )
    return traces_table(Traces(traces=(ReadTrace(trace=trace, query=HARM),)))


def reasons() -> str:
    return why_text(
        Why(
            memory_id=sample_recalled().memory_id,
            selected=True,
            because="selected",
            rank=1,
            ranked=1,
            score=0.2,
            terms=NAMED,
            conflicts=(),
            freshness=FRESH,
            policy_version=1,
            policy_hash="h",
            control_offset=0,
            max_sensitivity=Sensitivity.PUBLIC,
        )
    )


@pytest.mark.parametrize("shown", [a_search, a_look, traces, reasons])
def test_what_people_are_shown_obeys_nothing(shown: Any) -> None:
    text = printed(shown())
    assert "red" in text, "the text itself is there"
    for each in (ESC, CSI, BELL, RLO, TAG, ZERO_WIDTH):
        assert each not in text
    assert "\\u{001b}" in text, "and what was in it is seen"


def test_json_gives_the_text_back_and_is_harmless_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    call = Call(as_json=True, config=None, principal=None)
    call.show(record_document(sample_recalled(statement=f"Предпочитает чай {HARM}")), lambda: "")
    out = capsys.readouterr().out
    for each in (ESC, CSI, BELL, RLO, TAG, ZERO_WIDTH):
        assert each not in out
    assert "Предпочитает чай" in out
    assert json.loads(out)["statement"] == f"Предпочитает чай {HARM}"


def test_a_statement_keeps_its_lines() -> None:
    assert "one" in (text := printed(search_table(sample_result(sample_recalled(statement="one\ntwo")))))
    assert "\\u{000a}" not in text

"""What a report says of a fault: for how long nothing moved, and what workers said of themselves."""

from eunoe.testing.chaos.checker import Violation
from eunoe.testing.chaos.faults import Kind
from eunoe.testing.chaos.injecting import Injected
from eunoe.testing.chaos.report import Report, lines_of, seen_of
from eunoe.testing.chaos.schedule import Fault
from eunoe.testing.chaos.vitals import Vitals, leaked
from eunoe.testing.chaos.watching import Look, standstill

VITALS = Vitals(rss=100 << 20, sockets=20, threads=4, tasks=60)


def looks(*values: int | None) -> list[Look]:
    """One a second from 0 on, all decided and recalled alike."""
    return [Look(float(at), value, value, ("decide",) if value is None else ()) for at, value in enumerate(values)]


def test_the_longest_standstill_that_reaches_into_the_time_counts_from_its_beginning_on() -> None:
    seen = looks(1, 2, 3, 3, 3, 3, 7, 8, 8, 9)
    assert standstill(seen, "decided", 0, 9) == 4.0
    assert standstill(seen, "decided", 3, 4) == 3.0
    assert standstill(seen, "decided", 6, 9) == 2.0
    assert standstill(seen, "decided", 0, 1) == 1.0


def test_no_answer_is_no_progress_and_neither_is_a_value_that_fell() -> None:
    assert standstill(looks(5, None, None, 2, 4, 6), "decided", 0, 9) == 5.0


def test_what_stands_still_to_the_end_is_told() -> None:
    assert standstill(looks(1, 2, 2, 2), "recalled", 0, 9) == 2.0


def report(*violations: Violation) -> Report:
    fault = Fault(at=2.0, kind=Kind.BROKER_KILLED, seconds=1.0, draw=0)
    injected = Injected(fault=fault, began=102.0, ended=104.0, notes=("the broker answered",))
    seen = [
        Look(100.0 + at, value, value, ("decide",) if value is None else ())
        for at, value in enumerate((1, 2, None, None, 5, 6))
    ]
    return Report(
        seed=11,
        length=130.0,
        seconds=200.0,
        seen=seen_of([injected], seen, 100.0),
        counts={"commands": 5},
        load={"confirmed": 4},
        caught_up=1.5,
        survivor=VITALS,
        fresh=VITALS,
        joins=3,
        ended=(("shredder", 3),),
        checks=("idempotency held",),
        violations=violations,
    )


def test_a_report_says_what_was_injected_what_was_seen_and_the_seed() -> None:
    text = "\n".join(lines_of(report()))
    assert "broker killed" in text
    assert "2.0 s" in text
    assert "not ready: decide" in text
    assert "make chaos SEED=11" in text
    assert "not injected: failing over" in text
    assert "shredder (code 3)" in text
    assert "VIOLATION" not in text


def test_a_report_names_each_violation_under_its_check() -> None:
    broken = Violation(check="idempotency held", where="memory-lifecycle[1]@7", what="took effect twice")
    text = "\n".join(lines_of(report(broken)))
    assert "memory-lifecycle[1]@7: took effect twice" in text
    assert "1 VIOLATIONS" in text


def test_a_worker_like_a_fresh_one_has_leaked_nothing() -> None:
    assert list(leaked(VITALS, VITALS)) == []


def test_what_a_worker_has_too_much_of_is_named() -> None:
    grown = Vitals(rss=1_000 << 20, sockets=200, threads=40, tasks=600)
    assert [each.what.split()[1] for each in leaked(grown, VITALS)] == ["sockets,", "threads,", "tasks,", "MiB,"]

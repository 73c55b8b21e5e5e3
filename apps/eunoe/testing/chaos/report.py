"""What was injected, what was seen, and what of it must not be."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from eunoe.testing.chaos.checker import Violation
from eunoe.testing.chaos.faults import NOT_INJECTED
from eunoe.testing.chaos.injecting import Injected
from eunoe.testing.chaos.vitals import Vitals
from eunoe.testing.chaos.watching import Look, standstill

_AFTER_S: Final = 5.0
"""A member that is killed is missed up to a session later, but what waits for it stands still at once."""
_SHOWN: Final = 12


class Seen(Struct, frozen=True, kw_only=True):
    """One fault as it went. ``at`` and ``lasted``: seconds. ``deciding`` and ``projecting``: for how long they stood
    still from its beginning on, in a stretch that began by five seconds after it. ``unready``: what workers said of
    themselves then."""

    fault: str
    at: float
    lasted: float
    deciding: float
    projecting: float
    unready: tuple[str, ...]
    notes: tuple[str, ...]


class Report(Struct, frozen=True, kw_only=True):
    """``counts``: of the log, by what. ``load``: what became of the producers' commands. ``checks``: all that ran."""

    seed: int
    length: float
    seconds: float
    seen: tuple[Seen, ...]
    counts: Mapping[str, int]
    load: Mapping[str, int]
    caught_up: float
    survivor: Vitals | None
    fresh: Vitals | None
    joins: int
    ended: tuple[tuple[str, int | None], ...]
    checks: tuple[str, ...]
    violations: tuple[Violation, ...]
    looks: tuple[Look, ...] = ()
    skipped: tuple[str, ...] = NOT_INJECTED

    @property
    def document(self) -> Any:
        return msgspec.to_builtins(self)


def seen_of(injected: Sequence[Injected], looks: Sequence[Look], began: float) -> tuple[Seen, ...]:
    """By time. ``began``: when the load did."""
    return tuple(_seen(each, looks, began) for each in sorted(injected, key=lambda one: one.began))


def _seen(one: Injected, looks: Sequence[Look], began: float) -> Seen:
    last = one.ended + _AFTER_S
    during = [each for each in looks if one.began <= each.at <= one.ended + 2.0]
    return Seen(
        fault=one.fault.kind.value,
        at=round(one.began - began, 1),
        lasted=round(one.ended - one.began, 1),
        deciding=round(standstill(looks, "decided", one.began, last), 1),
        projecting=round(standstill(looks, "recalled", one.began, last), 1),
        unready=tuple(sorted({said for each in during for said in each.unready})),
        notes=one.notes,
    )


def lines_of(report: Report) -> Iterator[str]:
    """For people; fits 120 columns but for long reasons."""
    whole = f"the whole run took {report.seconds:.0f} s"
    yield f"chaos, seed {report.seed}: {len(report.seen)} faults in {report.length:.0f} s; {whole}"
    yield ""
    yield f"{'at':>6} {'for':>5}  {'injected':<32} {'no decision':>11} {'no recall':>9}  seen"
    for each in report.seen:
        stood = f"{each.deciding:>9.1f} s {each.projecting:>7.1f} s"
        yield f"{each.at:>6.1f} {each.lasted:>5.1f}  {each.fault:<32} {stood}  {'; '.join(each.notes)}"
        if each.unready:
            yield f"{'':>46}not ready: {', '.join(each.unready)}"
    yield ""
    yield f"log: {_listed(report.counts)}"
    yield f"producers: {_listed(report.load)}"
    yield f"caught up {report.caught_up:.1f} s after the load; the survivor joined its group {report.joins} times"
    if report.ended:
        yield f"ended by themselves and were started again: {_ends(report.ended)}"
    yield f"survivor: {report.survivor}; fresh: {report.fresh}"
    yield from (f"not injected: {each}" for each in report.skipped)
    yield ""
    broken = Counter(each.check for each in report.violations)
    for check in dict.fromkeys((*report.checks, *broken)):
        yield f"{'ok  ' if check not in broken else f'{broken[check]:>3} '} {check}"
        shown = [each for each in report.violations if each.check == check][:_SHOWN]
        yield from (f"       {each.where}: {each.what}" for each in shown)
    yield ""
    verdict = "nothing was lost, doubled or leaked" if not report.violations else f"{len(report.violations)} VIOLATIONS"
    yield f"{verdict}; to repeat it: make chaos SEED={report.seed}"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items()) or "nothing"


def _ends(ended: Sequence[tuple[str, int | None]]) -> str:
    return ", ".join(f"{name} (code {code})" for name, code in ended)

"""The diagram of the overview: producers → memory-events → decider → memory-lifecycle → projectors → readers."""

from collections.abc import Sequence
from typing import Final

from eunoe.console import words
from eunoe.console.snapshot import GroupLag, Snapshot
from eunoe.console.view import Badge, Flow, Stage, Tone, problem_words, worst
from eunoe.console.views import lag as lag_view
from eunoe.console.views import models as models_view
from eunoe.schemas.topics import Topic

DECIDE: Final = "decide"
_NOT_LOOKED: Final = Badge(Tone.UNKNOWN, "not known yet")


def flow(snapshot: Snapshot) -> Flow:
    return Flow(
        stages=(
            _producers(snapshot),
            _events(snapshot),
            _decider(snapshot),
            _lifecycle(snapshot),
            _projectors(snapshot),
            _readers(snapshot),
        )
    )


def _producers(snapshot: Snapshot) -> Stage:
    found, problem = snapshot.throughput.value, snapshot.throughput.problem
    rate = None if found is None or problem is not None else found.commands
    badge = _of(rate, "publishing", "quiet") if problem is None else Badge(Tone.UNKNOWN, "not known")
    return Stage(
        name="Producers",
        role="publish commands",
        badge=badge,
        facts=(_moved(rate, "published"),),
        spark=spark(() if found is None else found.commands_past),
        flow=_onward(rate),
    )


def _events(snapshot: Snapshot) -> Stage:
    group = _group(snapshot, DECIDE)
    facts: tuple[str, ...] = ("not known what waits",)
    if group is not None:
        age = lag_view.oldest(group)
        facts = (lag_view.waiting(group), *((f"oldest {words.seconds(age)}",) if age else ()))
    badge = _service(snapshot) or _backlog(group)
    return Stage(
        name="memory-events", role="commands, 30 days", badge=badge, facts=facts, is_topic=True, flow=_rate(group)
    )


def _decider(snapshot: Snapshot) -> Stage:
    group = _group(snapshot, DECIDE)
    facts = ("nothing known",) if group is None else (_moved(group.rate, "decided"), lag_view.owned(group))
    badge = _lag_problem(snapshot) or (_NOT_LOOKED if group is None else lag_view.badge(group.status))
    return Stage(name="Decider", role="judges each in order", badge=badge, facts=facts, flow=_rate(group), href="/lag")


def _lifecycle(snapshot: Snapshot) -> Stage:
    found = snapshot.throughput.value
    rate = None if found is None or snapshot.throughput.problem is not None else found.facts
    groups = _projecting(snapshot)
    totals = [each.total for each in groups]
    waits = "not known what waits"
    if groups and None not in totals:
        most = max(each or 0 for each in totals)
        waits = f"up to {words.many(most, 'record')} waiting" if most else "nothing waiting"
    return Stage(
        name="memory-lifecycle",
        role="facts, for ever",
        badge=_service(snapshot) or _of(rate, "growing", "quiet"),
        facts=(_moved(rate, "appended"), waits),
        is_topic=True,
        spark=spark(() if found is None else found.facts_past),
        flow=_onward(rate),
    )


def _projectors(snapshot: Snapshot) -> Stage:
    groups = _projecting(snapshot)
    if not groups:
        badge = _lag_problem(snapshot) or _NOT_LOOKED
        return Stage(
            name="Projectors",
            role="fold read models",
            badge=badge,
            facts=("nothing known",),
            flow=words.NONE,
            href="/lag",
        )
    tone = worst(tuple(lag_view.TONES.get(each.status, Tone.UNKNOWN) for each in groups))
    worse = [each for each in groups if lag_view.TONES.get(each.status, Tone.UNKNOWN) is tone]
    said = (
        worse[0].status
        if tone is Tone.OK
        else f"{words.named([each.name for each in worse], len(groups))} {worse[0].status}"
    )
    # Keys are few: what they move by says nothing of how fast facts are folded.
    rates = [each.rate for each in groups if each.rate is not None and each.topic.endswith(Topic.LIFECYCLE.value)]
    slowest = min(rates, default=None)
    return Stage(
        name="Projectors",
        role="fold read models",
        badge=_lag_problem(snapshot) or Badge(tone, said),
        facts=(_moved(slowest, "the slowest"), words.many(len(groups), "read model")),
        flow=_onward(slowest),
        href="/lag",
    )


def _readers(snapshot: Snapshot) -> Stage:
    found = snapshot.throughput.value
    rate = None if found is None or snapshot.throughput.problem is not None else found.reads
    part = snapshot.models
    if part.problem is not None:
        badge = Badge(Tone.BAD, problem_words(part.problem, snapshot.at))
    else:
        badge = _NOT_LOOKED if part.value is None else models_view.serving(part.value, snapshot.at)
    return Stage(
        name="Readers",
        role="filter and rank",
        badge=badge,
        facts=(_moved(rate, "traced"),),
        spark=spark(() if found is None else found.reads_past),
        href="/models",
    )


def spark(past: Sequence[float | None]) -> str:
    """Points of a polyline in a box of 100 by 24, newest at the right; nothing for what was never known."""
    known = [each for each in past if each is not None]
    if len(known) < 2:
        return ""
    top, step = max(*known, 1e-9), 100 / (len(known) - 1)
    return " ".join(f"{number * step:.1f},{23 - 22 * each / top:.1f}" for number, each in enumerate(known))


def _group(snapshot: Snapshot, name: str) -> GroupLag | None:
    """Nothing of it is known while lag cannot be measured: an old "nothing waits" would be a lie."""
    found = snapshot.lag
    return None if found.value is None or found.problem is not None else lag_view.named(found.value, name)


def _projecting(snapshot: Snapshot) -> tuple[GroupLag, ...]:
    found = snapshot.lag
    if found.value is None or found.problem is not None:
        return ()
    return tuple(each for each in found.value.groups if each.name != DECIDE)


def _rate(group: GroupLag | None) -> str:
    return words.NONE if group is None else _onward(group.rate)


def _onward(rate: float | None) -> str:
    return words.NONE if rate is None else words.rate(rate)


def _moved(rate: float | None, doing: str) -> str:
    return f"{words.rate(rate)} {doing}" if rate is not None else f"rate {words.UNKNOWN}"


def _of(rate: float | None, moving: str, still: str) -> Badge:
    if rate is None:
        return _NOT_LOOKED
    return Badge(Tone.OK, moving) if rate else Badge(Tone.PLAIN, still)


def _backlog(group: GroupLag | None) -> Badge:
    if group is None or group.total is None:
        return _NOT_LOOKED
    return Badge(Tone.PLAIN, "records wait") if group.total else Badge(Tone.OK, "nothing waits")


def _service(snapshot: Snapshot) -> Badge | None:
    problem = snapshot.throughput.problem
    return None if problem is None else Badge(Tone.BAD, problem_words(problem, snapshot.at))


def _lag_problem(snapshot: Snapshot) -> Badge | None:
    part = snapshot.lag
    return None if part.problem is None else Badge(Tone.BAD, problem_words(part.problem, snapshot.at))

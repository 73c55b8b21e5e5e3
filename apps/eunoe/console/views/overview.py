"""The overview: what answers, the flow, and one figure of every page."""

from eunoe.console import words
from eunoe.console.snapshot import Part, Snapshot
from eunoe.console.view import Badge, Page, Section, Tile, Tiles, Tone, problem_words, state_of, worst
from eunoe.console.views import control as control_view
from eunoe.console.views import lag as lag_view
from eunoe.console.views import models as models_view
from eunoe.console.views.flow import flow

_FLOW: str = "Rates are offsets a second over the last ten; the marker of a transaction takes one, too."


def page(snapshot: Snapshot) -> Page:
    parts: tuple[Part[object], ...] = (snapshot.throughput, snapshot.lag, snapshot.models)
    problems = [each for each in parts if each.problem is not None]
    state = state_of(problems[0] if problems else snapshot.lag, snapshot.at)
    return Page(
        name="overview",
        title="Overview",
        sections=(
            Section(
                id="services", title="What answers", state=_all(snapshot), blocks=(Tiles(tiles=_services(snapshot)),)
            ),
            Section(
                id="flow",
                title="The flow",
                state=state,
                lead=_FLOW,
                blocks=(flow(snapshot),),
            ),
            Section(
                id="figures",
                title="At a glance",
                state=Badge(Tone.PLAIN, f"as of {words.of_day(snapshot.at)}"),
                blocks=(Tiles(tiles=_figures(snapshot)),),
            ),
        ),
    )


def _all(snapshot: Snapshot) -> Badge:
    tones = tuple(each.badge.tone for each in _services(snapshot) if each.badge is not None)
    tone = worst(tones)
    said = {
        Tone.OK: "everything answers",
        Tone.PLAIN: "everything answers",
        Tone.UNKNOWN: "looking",
        Tone.WARNING: "something needs a look",
        Tone.BAD: "something does not answer",
    }
    return Badge(tone, said[tone])


def _services(snapshot: Snapshot) -> tuple[Tile, ...]:
    return (_kafka(snapshot), _redis(snapshot), _workers(snapshot), _control(snapshot))


def _kafka(snapshot: Snapshot) -> Tile:
    part = snapshot.throughput
    figure = words.UNKNOWN if part.value is None else words.many(part.value.partitions, "partition")
    log = "" if part.value is None else f"log {part.value.log_id}"
    return Tile(
        label="Kafka", figure=figure, note=log, badge=_answers(part, snapshot.at), stale=part.problem is not None
    )


def _redis(snapshot: Snapshot) -> Tile:
    part, figure, note = snapshot.store, words.UNKNOWN, ""
    if part.value is not None:
        figure = words.size(part.value.used)
        limit = f"of {words.size(part.value.limit)}" if part.value.limit else "no limit of memory"
        note = f"{limit}; {part.value.mode} {part.value.version}"
    badge = _answers(part, snapshot.at)
    if part.value is not None and not part.value.bound and part.problem is None:
        badge = Badge(Tone.WARNING, "answers; tied to no log, as after losing its data")
    return Tile(label="Redis", figure=figure, note=note, badge=badge, stale=part.problem is not None)


def _answers(part: Part[object], now: int) -> Badge:
    if part.problem is not None:
        return Badge(Tone.BAD, problem_words(part.problem, now))
    return Badge(Tone.UNKNOWN, "looking") if part.taken_at is None else Badge(Tone.OK, "answers")


def _workers(snapshot: Snapshot) -> Tile:
    part = snapshot.lag
    if part.value is None or part.problem is not None:
        badge = Badge(Tone.UNKNOWN, "not known")
        return Tile(label="Workers", figure=words.UNKNOWN, note="lag cannot be measured now", badge=badge, href="/lag")
    partitions = [each for group in part.value.groups for each in group.partitions]
    owned = sum(each.owner is not None for each in partitions)
    clients = len({each.owner for each in partitions if each.owner is not None})
    badge = Badge(Tone.OK, "every partition is owned")
    if not owned:
        badge = Badge(Tone.BAD, "no worker runs")
    elif owned < len(partitions):
        badge = Badge(Tone.WARNING, f"{words.many(len(partitions) - owned, 'partition')} without an owner")
    figure = words.many(clients, "process", "processes")
    return Tile(label="Workers", figure=figure, note=f"{owned} of {len(partitions)} owned", badge=badge, href="/lag")


def _control(snapshot: Snapshot) -> Tile:
    part = snapshot.control
    if part.value is None or part.problem is not None:
        badge = _answers(part, snapshot.at)
        return Tile(label="Switches", figure=words.UNKNOWN, badge=badge, href="/switches")
    policy = "no policy" if part.value.policy is None else f"policy {part.value.policy}"
    return Tile(
        label="Switches", figure=policy, note="in force", badge=control_view.in_short(part.value), href="/switches"
    )


def _figures(snapshot: Snapshot) -> tuple[Tile, ...]:
    now = snapshot.at
    lag, models, review = snapshot.lag.value, snapshot.models.value, snapshot.review.value
    erasures, refusals, letters = snapshot.erasures.value, snapshot.refusals.value, snapshot.letters.value
    decide = None if lag is None else lag_view.named(lag, "decide")
    oldest = min((each.oldest for each in review.reasons if each.oldest), default=None) if review else None
    return (
        _tile("Waiting to be decided", None if decide is None else decide.total, snapshot.lag, now, "/lag"),
        Tile(
            label="Read models",
            figure=words.UNKNOWN if models is None else str(len(models.models) - 1),
            badge=_badge(snapshot.models, now) or (models_view.serving(models, now) if models else None),
            stale=snapshot.models.problem is not None,
            href="/models",
        ),
        _tile(
            "Waiting for a person",
            None if review is None else review.items,
            snapshot.review,
            now,
            "/review",
            "" if oldest is None else f"oldest {words.ago(now, oldest)}",
        ),
        _tile(
            "Erasures in progress", None if erasures is None else erasures.total, snapshot.erasures, now, "/erasures"
        ),
        _tile(
            "Recent refusals",
            None if refusals is None else refusals.total,
            snapshot.refusals,
            now,
            "/refusals",
            "" if refusals is None else f"of {words.many(refusals.facts, 'fact')}",
        ),
        _tile(
            "Dead letters",
            None if letters is None else len(letters.letters),
            snapshot.letters,
            now,
            "/dead-letters",
            "" if not letters or not letters.letters else f"last {words.ago(now, letters.letters[0].at)}",
        ),
    )


def _tile(label: str, count: int | None, part: Part[object], now: int, href: str, note: str = "") -> Tile:
    return Tile(
        label=label,
        figure=words.number(count),
        note=note,
        badge=_badge(part, now),
        href=href,
        stale=part.problem is not None,
    )


def _badge(part: Part[object], now: int) -> Badge | None:
    return None if part.problem is None else Badge(Tone.BAD, problem_words(part.problem, now))

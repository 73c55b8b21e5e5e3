"""What pages say, from snapshots."""

import pytest
from msgspec.structs import replace

from eunoe.console.menu import PAGES
from eunoe.console.snapshot import Lag, Models, Part, Problem, Snapshot
from eunoe.console.view import Folded, Section, Table, Tiles, Tone
from eunoe.console.views import flow, lag, models, overview
from eunoe.schemas.ids import Millis

GROUP_PARTS = ("throughput", "store", "lag", "models", "control", "review", "erasures", "refusals", "letters")


def tones(snapshot: Snapshot) -> dict[str, tuple[Tone, str]]:
    return {each.name: (each.badge.tone, each.badge.words) for each in flow.flow(snapshot).stages}


def away(snapshot: Snapshot, part: str, who: str) -> Snapshot:
    problem = Problem(who=who, what="does not answer", since=Millis(snapshot.at - 12_000))
    return replace(snapshot, **{part: replace(getattr(snapshot, part), problem=problem)})


def test_the_flow_is_told_from_producers_to_readers(snapshot: Snapshot) -> None:
    stages = flow.flow(snapshot).stages
    assert [each.name for each in stages] == [
        "Producers",
        "memory-events",
        "Decider",
        "memory-lifecycle",
        "Projectors",
        "Readers",
    ]
    assert [each.flow for each in stages] == ["12.5/s", "12.5/s", "12.5/s", "25.0/s", "12.5/s", ""]
    assert tones(snapshot)["Decider"] == (Tone.OK, "ok")
    assert tones(snapshot)["Readers"] == (Tone.OK, "all fresh")


def test_every_state_has_words_beside_its_tone(snapshot: Snapshot) -> None:
    for page in PAGES.values():
        for section in page(snapshot).sections:
            assert section.state.words


def test_a_stalled_projector_is_named_in_the_flow(snapshot: Snapshot) -> None:
    assert snapshot.lag.value is not None
    decide, recall, review = snapshot.lag.value.groups
    stalled = replace(snapshot, lag=Part(value=Lag(groups=(decide, replace(recall, status="stalled"), review))))
    assert tones(stalled)["Projectors"] == (Tone.BAD, "recall stalled")


@pytest.mark.parametrize(
    ("part", "page", "who"),
    [
        ("lag", "lag", "Redis"),
        ("models", "models", "Redis"),
        ("control", "switches", "Kafka"),
        ("review", "review", "Redis"),
        ("erasures", "erasures", "Kafka"),
        ("refusals", "refusals", "Kafka"),
        ("letters", "dead-letters", "Kafka"),
    ],
)
def test_what_is_away_is_said_where_it_is_and_old_figures_stay(
    snapshot: Snapshot, part: str, page: str, who: str
) -> None:
    (fresh,) = PAGES[page](snapshot).sections
    (section,) = PAGES[page](away(snapshot, part, who)).sections
    assert (section.state.tone, section.stale) == (Tone.BAD, True)
    assert section.state.words == f"{who} does not answer (for 12 s); the figures are from before"
    assert len(section.blocks) == len(fresh.blocks) > 0
    assert (fresh.state.tone, fresh.state.words, fresh.stale) == (Tone.OK, "live", False)


@pytest.mark.parametrize("page", list(PAGES))
def test_before_the_first_look_every_page_is_readable(page: str) -> None:
    for section in PAGES[page](Snapshot(at=Millis(5))).sections:
        assert section.state.words


def test_without_redis_the_overview_says_so_and_goes_on_about_kafka(snapshot: Snapshot) -> None:
    gone = away(away(away(snapshot, "store", "Redis"), "lag", "Redis"), "models", "Redis")
    services, _, _ = overview.page(gone).sections
    kafka, redis, workers, _ = _tiles(services)
    assert services.state.tone is Tone.BAD
    assert (kafka, redis) == ((Tone.OK, "answers"), (Tone.BAD, "Redis does not answer (for 12 s)"))
    assert workers == (Tone.UNKNOWN, "not known")
    assert tones(gone)["Producers"] == (Tone.OK, "publishing")
    assert tones(gone)["memory-events"] == (Tone.UNKNOWN, "not known yet")
    assert tones(gone)["Readers"][0] is Tone.BAD
    assert [each.flow for each in flow.flow(gone).stages] == ["12.5/s", "–", "–", "25.0/s", "–", ""]


def _tiles(section: Section) -> list[tuple[Tone, str]]:
    (block,) = section.blocks
    assert isinstance(block, Tiles)
    return [(each.badge.tone, each.badge.words) for each in block.tiles if each.badge is not None]


def test_a_redis_that_lost_everything_is_no_silent_one(snapshot: Snapshot) -> None:
    assert snapshot.store.value is not None
    emptied = replace(snapshot, store=Part(value=replace(snapshot.store.value, bound=False), taken_at=snapshot.at))
    tone, said = _tiles(overview.page(emptied).sections[0])[1]
    assert (tone, said) == (Tone.WARNING, "answers; tied to no log, as after losing its data")


def test_workers_that_are_gone_are_missed(snapshot: Snapshot) -> None:
    assert snapshot.lag.value is not None
    orphaned = tuple(
        replace(group, status="stopped", partitions=tuple(replace(each, owner=None) for each in group.partitions))
        for group in snapshot.lag.value.groups
    )
    gone = replace(snapshot, lag=Part(value=Lag(groups=orphaned), taken_at=snapshot.at))
    assert _tiles(overview.page(gone).sections[0])[2] == (Tone.BAD, "no worker runs")
    assert tones(gone)["Decider"] == (Tone.BAD, "stopped")


def test_a_group_that_needs_a_look_is_unfolded(snapshot: Snapshot) -> None:
    assert snapshot.lag.value is not None
    decide, *rest = snapshot.lag.value.groups
    stalled = tuple(replace(each, status="stalled", lag=4, age=9.0) for each in decide.partitions)
    groups = (replace(decide, status="stalled", total=8, partitions=stalled), *rest)
    (section,) = lag.page(replace(snapshot, lag=Part(value=Lag(groups=groups)))).sections
    folded = [each for each in section.blocks if isinstance(each, Folded)]
    assert [each.open for each in folded] == [True, False, False]
    assert folded[0].facts[:2] == ("8 records waiting", "oldest 9.0 s")


def test_of_many_partitions_those_that_need_a_look_are_shown(snapshot: Snapshot) -> None:
    assert snapshot.lag.value is not None
    decide = snapshot.lag.value.groups[0]
    many = tuple(replace(decide.partitions[0], partition=number) for number in range(300))
    bad = replace(many[299], status="stopped")
    groups = (replace(decide, partitions=(*many[:299], bad)),)
    (section,) = lag.page(replace(snapshot, lag=Part(value=Lag(groups=groups)))).sections
    (folded,) = section.blocks
    assert isinstance(folded, Folded)
    assert len(folded.table.rows) == lag.SHOWN
    assert folded.table.rows[-1][0].text == "299"
    assert folded.table.more == "236 more partitions that need no look"


@pytest.mark.parametrize(
    ("age", "tone", "said"),
    [
        (400, Tone.OK, "fresh"),
        (30_000, Tone.WARNING, "behind"),
        (61_000, Tone.BAD, "too old to be read"),
        (None, Tone.WARNING, "being filled, 45 %"),
    ],
)
def test_freshness_is_judged_by_what_readers_do(snapshot: Snapshot, age: int | None, tone: Tone, said: str) -> None:
    assert snapshot.models.value is not None
    at = None if age is None else Millis(snapshot.at - age)
    each = replace(snapshot.models.value.models[1].partitions[0], caught_up_at=at, log_end=240)
    badge = models.freshness(each, 60.0, snapshot.at)
    assert (badge.tone, badge.words) == (tone, said)


def test_a_digest_column_comes_with_the_first_digest(snapshot: Snapshot) -> None:
    def columns(taken: Snapshot) -> list[str]:
        (section,) = models.page(taken).sections
        return [each.name for each in _table(section.blocks[1]).columns]

    assert snapshot.models.value is not None
    ledger, recall, review = snapshot.models.value.models
    digested = replace(recall, partitions=tuple(replace(each, digest="9f2c") for each in recall.partitions))
    with_digest = replace(snapshot, models=Part(value=Models(models=(ledger, digested, review), max_lag=60.0)))
    assert "digest" not in columns(snapshot)
    assert columns(with_digest)[-1] == "digest"


def test_a_generation_that_is_being_built_stands_beside_the_one_that_serves(snapshot: Snapshot) -> None:
    assert snapshot.models.value is not None
    ledger, recall, review = snapshot.models.value.models
    first = recall.partitions[0]
    building = replace(first, generation=2, role="being built", position=7, caught_up_at=None)
    both = replace(recall, partitions=(first, building, *recall.partitions[1:]))
    taken = replace(snapshot, models=Part(value=Models(models=(ledger, both, review), max_lag=60.0)))
    (section,) = models.page(taken).sections
    folded = section.blocks[1]
    assert isinstance(folded, Folded)
    assert (folded.badge.words, folded.open) == ("fresh", True)
    assert folded.facts[:2] == ("generation 1 in use", "2 being built")
    assert [(row[1].text, row[2].text, row[3].text) for row in folded.table.rows] == [
        ("fresh", "1", "110"),
        ("being built", "2", "7"),
        ("fresh", "1", "110"),
    ]
    assert models.serving(taken.models.value, taken.at).tone is Tone.OK  # type: ignore[arg-type]  # it was given one


def _table(block: object) -> Table:
    assert isinstance(block, Folded)
    return block.table


def test_a_line_of_rates_stays_in_its_box() -> None:
    assert flow.spark(()) == flow.spark((None, 3.0)) == ""
    points = [tuple(map(float, each.split(","))) for each in flow.spark((None, 0.0, 5.0, 10.0)).split()]
    assert points == [(0.0, 23.0), (50.0, 12.0), (100.0, 1.0)]
    assert flow.spark((0.0, 0.0)) == "0.0,23.0 100.0,23.0"

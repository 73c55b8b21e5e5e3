"""What the figures of a rebuild say of its bars."""

from eunoe.bench.derived_keys import DerivedKeys
from eunoe.bench.lifecycle_events import LifecycleEvents, ZipfTenants
from eunoe.bench.rebuild_report import Filled, Round, Sizes, report
from eunoe.schemas.ids import LogId, Millis, new_id


def filled(rate: float, end: int = 105) -> Filled:
    return Filled(
        live=100.0,
        rebuilt=rate,
        rested_s=0.5,
        prove_s=1.0,
        switch_s=0.1,
        items=10,
        found=5,
        redis_bytes=20_000,
        resident={"start": 50, "quarter": 90, "middle": 100, "end": end, "most": end},
        before=(0.001, 0.002),
        during=(0.004, 0.008),
    )


def bars(*rounds: Round) -> dict[str, tuple[float | None, bool]]:
    sizes = Sizes(events=tuple(each.events for each in rounds), repetitions=1, searches=2, partitions=1, seed=1)
    keys = DerivedKeys(log_id=LogId(new_id()), secret=bytes(32), expires_at=Millis(1), closing=False)
    made = LifecycleEvents(keys=keys, tenants=ZipfTenants(2), seed=1, made=rounds[-1].events)
    found = report(sizes, rounds, made, 1_000, 500)
    assert found.grids[0].rows[0][2] == 2_000
    assert {each.unit for each in found.figures} == {"facts/s", "ratio", "s", "ms"}
    return {each.name: (each.found, each.met) for each in found.bars}


def test_a_rebuild_that_keeps_up_and_stays_flat_meets_its_bars() -> None:
    found = bars(
        Round(events=100, read=1_000.0, models={"recall": filled(120.0)}),
        Round(events=1_000, read=1_000.0, models={"recall": filled(108.0)}),
    )
    assert found == {
        "100, recall, rebuild / live": (1.2, True),
        "100, recall, memory with all / with half of it folded": (1.05, True),
        "1,000, recall, rebuild / live": (1.08, True),
        "1,000, recall, memory with all / with half of it folded": (1.05, True),
        "recall, rate at the largest size / at the smallest": (0.9, True),
    }


def test_one_that_is_slow_grows_or_was_measured_at_one_size_does_not() -> None:
    found = bars(Round(events=100, read=1_000.0, models={"recall": filled(90.0, end=120)}))
    assert found == {
        "100, recall, rebuild / live": (0.9, False),
        "100, recall, memory with all / with half of it folded": (1.2, False),
        "recall, rate at the largest size / at the smallest": (None, False),
    }

"""Settings under which a destroyed key would stay are told, each by its name."""

from collections.abc import Mapping

import pytest

from eunoe.processors.shredding.cleaning import cleaning_of, problems_of
from eunoe.schemas.topics import QUICK_CLEANING, SPECS, Topic, specs_with

USUAL: Mapping[str, str] = SPECS[Topic.KEYS].config
QUICK: Mapping[str, str] = next(each.config for each in specs_with(QUICK_CLEANING) if each.topic is Topic.KEYS)
BROKERS = {"1": {"log.cleaner.enable": "true"}}


@pytest.mark.parametrize("config", [USUAL, QUICK])
def test_what_eunoe_sets_is_in_order(config: Mapping[str, str]) -> None:
    assert list(problems_of(config, BROKERS)) == []
    assert list(problems_of(config, {})) == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("cleanup.policy", "compact,delete"),
        ("cleanup.policy", "delete"),
        ("max.compaction.lag.ms", str(2**63 - 1)),
        ("max.compaction.lag.ms", "86400001"),
        ("min.compaction.lag.ms", "900001"),
        ("file.delete.delay.ms", "604800000"),
    ],
)
def test_what_would_keep_a_key_is_named(setting: str, value: str) -> None:
    found = list(problems_of({**USUAL, setting: value}, BROKERS))
    assert len(found) == 1
    assert found[0].startswith(f"{setting} is {value}")


def test_a_topic_with_kafkas_defaults_is_refused() -> None:
    assert len(list(problems_of({"cleanup.policy": "compact"}, BROKERS))) == 1


def test_a_broker_that_does_not_clean_is_named() -> None:
    assert list(problems_of(USUAL, {**BROKERS, "2": {"log.cleaner.enable": "false"}})) == [
        "log.cleaner.enable is false on broker 2"
    ]


def test_heartbeats_go_on_for_longer_than_cleaning_may_take() -> None:
    usual = cleaning_of(USUAL)
    assert (usual.segment, usual.lag, usual.file_delay) == (600_000, 900_000, 60_000)
    assert usual.settle >= 2 * usual.lag + usual.segment
    assert cleaning_of(QUICK).settle == 30_000, "a busy cleaner takes longer than its settings say"

"""Each alert on figures of its own: it fires when it is due, not before, and not on figures that are well.

By Prometheus's `promtool`, which no Python package brings; skipped where it is not installed (Debian: `prometheus`).
"""

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
ALERTS_FILE = ROOT / "deploy" / "prometheus" / "alerts.yml"
RULES = {rule["alert"]: rule for group in yaml.safe_load(ALERTS_FILE.read_text())["groups"] for rule in group["rules"]}
PROMTOOL = shutil.which("promtool")
pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="no promtool here (Debian's package prometheus brings it)")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600}
_EVERY_S: Final = 15


@dataclass(frozen=True)
class Case:
    """``bad``, ``well``: series and their values every 15 s in the notation of promtool. ``onset``: seconds by which
    the expression holds in ``bad``: a rate comes slowly. ``labels``: of the alert that comes, beside its own."""

    alert: str
    series: str
    bad: str
    well: str
    labels: dict[str, str] = field(default_factory=dict)
    onset: int = 0


def steady(value: str) -> str:
    return f"{value}x200"


def buckets(fast: int, slow: int) -> str:
    """Of `eunoe_write_to_readable_seconds`: writes a step that were readable within a second, and within 2.5."""
    return f"0+{fast}x200|0+{fast + slow}x200|0+{fast + slow}x200"


CASES: Final = [
    Case(
        "EunoeWorkerAway", 'up{job="eunoe",instance="a"}', steady("0"), steady("1"), {"job": "eunoe", "instance": "a"}
    ),
    Case(
        "EunoeNotReady",
        'eunoe_not_ready{instance="a",item="ledger"}',
        steady("1"),
        steady("0"),
        {"instance": "a", "item": "ledger"},
    ),
    Case(
        "EunoePartitionStuck",
        'eunoe_partition_unmoved_seconds{instance="a",service="decide",partition="3"}',
        steady("46"),
        steady("44"),
        {"service": "decide", "partition": "3"},
    ),
    Case(
        "EunoeNobodyDoes",
        "|".join(f'eunoe_lanes{{service="{each}"}}' for each in ("decide", "recall", "attest", "shred")),
        "|".join([*[steady("1")] * 3, "1 stale _x200"]),
        "|".join([steady("1")] * 4),
        {"service": "shred"},
        onset=15,
    ),
    Case(
        "EunoeLaneStalled",
        'eunoe_lanes{instance="a",service="recall",state="stalled"}',
        steady("1"),
        steady("0"),
        {"service": "recall"},
    ),
    Case(
        "EunoeLagGrows",
        'eunoe_consumer_lag_seconds{service="recall",partition="0"}',
        steady("61"),
        steady("59"),
        {"service": "recall", "partition": "0"},
    ),
    Case(
        "EunoeWritesNotReadable",
        'eunoe_write_unreadable_seconds{model="recall"}',
        steady("61"),
        steady("0"),
        {"model": "recall"},
    ),
    Case(
        "EunoeWriteToReadableSlow",
        "|".join(f'eunoe_write_to_readable_seconds_bucket{{le="{le}"}}' for le in ("1", "2.5", "+Inf")),
        buckets(fast=90, slow=10),
        buckets(fast=1_000, slow=1),
        onset=15,
    ),
    Case(
        "EunoeDeadLetters",
        'eunoe_dead_letters_total{reason="wrong_mac"}',
        "0+3x200",
        "0+1x200",
        {"reason": "wrong_mac"},
        onset=300,
    ),
    Case(
        "EunoeRedisLost",
        'eunoe_projection_healed{instance="a",model="recall"}',
        "0 1x200",
        steady("1"),
        {"model": "recall"},
        onset=15,
    ),
    Case("EunoeBrokerSilent", 'eunoe_not_ready{instance="a",item="kafka"}', steady("1"), steady("0")),
    Case(
        "EunoeLanesRestart",
        'eunoe_lane_restarts_total{service="recall",error="KeySourceUnavailable"}',
        "0+1x200",
        "1x200",
        {"service": "recall", "error": "KeySourceUnavailable"},
        onset=600,
    ),
    Case("EunoeSweepLate", 'eunoe_sweep_delay_seconds{partition="1"}', steady("301"), steady("1"), {"partition": "1"}),
    Case(
        "EunoeReviewWaits",
        'eunoe_review_age_seconds{reason="quarantined"}',
        steady("86401"),
        steady("86399"),
        {"reason": "quarantined"},
    ),
    Case(
        "EunoeErasureLate",
        'eunoe_erasure_stage_seconds{stage="scanned"}',
        steady("3601"),
        steady("20"),
        {"stage": "scanned"},
    ),
    Case(
        "EunoeKeysNotDestroyed",
        'eunoe_shred_oldest_seconds{partition="0"}',
        steady("301"),
        steady("5"),
        {"partition": "0"},
    ),
]


def waits(alert: str) -> int:
    """Seconds of its ``for``."""
    given = RULES[alert].get("for", "0s")
    return int(given[:-1]) * _UNITS[given[-1]]


def expected(case: Case) -> dict[str, Any]:
    rule = RULES[case.alert]
    return {"exp_labels": rule["labels"] | case.labels, "exp_annotations": rule["annotations"]}


def told(case: Case, values: str, at: int, alerts: list[dict[str, Any]]) -> dict[str, Any]:
    series = zip(case.series.split("|"), values.split("|"), strict=True)
    return {
        "interval": f"{_EVERY_S}s",
        "input_series": [{"series": each, "values": given} for each, given in series],
        "alert_rule_test": [{"eval_time": f"{at}s", "alertname": case.alert, "exp_alerts": alerts}],
    }


def scenarios(case: Case) -> list[dict[str, Any]]:
    due = case.onset + waits(case.alert)
    found = [told(case, case.bad, due, [expected(case)]), told(case, case.well, due, [])]
    if waits(case.alert):
        found.append(told(case, case.bad, waits(case.alert) - _EVERY_S, []))
    return found


def promtool(*arguments: str) -> "subprocess.CompletedProcess[str]":
    assert PROMTOOL is not None
    return subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, check=False, timeout=60)


def told_by_promtool(folder: Path, cases: list[dict[str, Any]]) -> "subprocess.CompletedProcess[str]":
    file = folder / "cases.yml"
    document = {"rule_files": [str(ALERTS_FILE)], "evaluation_interval": f"{_EVERY_S}s", "tests": cases}
    file.write_text(yaml.safe_dump(document))
    return promtool("test", "rules", str(file))


def test_prometheus_takes_the_rules() -> None:
    done = promtool("check", "rules", str(ALERTS_FILE))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(RULES)} rules found" in done.stdout


def test_every_alert_has_figures_here() -> None:
    assert {each.alert for each in CASES} == RULES.keys()


def test_each_alert_comes_when_it_is_due_and_not_when_all_is_well(tmp_path: Path) -> None:
    done = told_by_promtool(tmp_path, [each for case in CASES for each in scenarios(case)])
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_alert_that_does_not_come_is_noticed(tmp_path: Path) -> None:
    case = CASES[0]
    assert told_by_promtool(tmp_path, [told(case, case.well, 300, [expected(case)])]).returncode != 0

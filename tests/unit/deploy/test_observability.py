"""Dashboard and alerts as files: what they name exists, and each alert leads somewhere.

Whether an alert fires when it should is `test_alerts_fire.py`, which needs Prometheus."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from eunoe.runtime.metrics import METRICS, Kind

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
RULES = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
BOARD = json.loads((DEPLOY / "grafana" / "dashboards" / "eunoe.json").read_text())
_SUFFIX = {"_bucket": {"le"}, "_sum": set[str](), "_count": set[str]()}
_OF_PROMETHEUS = {"job", "instance"}


def expressions() -> Iterator[tuple[str, str]]:
    for rule in ALERTS:
        yield rule["alert"], rule["expr"]
    for panel in BOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def problems(expression: str) -> list[str]:
    """What a small reading of PromQL finds: unknown metrics and labels, brackets, a rate of no counter."""
    found = [] if balanced(expression) else ["brackets do not match"]
    allowed = set(_OF_PROMETHEUS)
    for name in re.findall(r"\beunoe_\w+", expression):
        base = next((name.removesuffix(each) for each in _SUFFIX if name.endswith(each)), name)
        metric = METRICS.get(name) or METRICS.get(base)
        if metric is None:
            found.append(f"no metric {name}")
            continue
        if metric.kind is Kind.HISTOGRAM:
            found += [] if name != base else [f"{name} is a histogram: name its bucket, sum or count"]
            allowed.add("le")
        allowed |= set(metric.labels)
    used = re.findall(r"[{,]\s*(\w+)\s*(?:=~|!~|!=|=)", expression)
    for group in re.findall(r"\bby \(([^)]*)\)", expression):
        used += [each.strip() for each in group.split(",")]
    found += [f"no label {each}" for each in used if each not in allowed]
    for name in re.findall(r"\brate\((\w+)", expression):
        if not name.endswith(("_total", "_bucket", "_sum", "_count")):
            found.append(f"{name} is no counter")
    return found


def balanced(expression: str) -> bool:
    expected: list[str] = []
    for each in expression:
        if each in "([{":
            expected.append({"(": ")", "[": "]", "{": "}"}[each])
        elif each in ")]}" and (not expected or expected.pop() != each):
            return False
    return not expected


@pytest.mark.parametrize(("where", "expression"), list(expressions()))
def test_every_expression_names_what_exists(where: str, expression: str) -> None:
    assert problems(expression) == [], where


@pytest.mark.parametrize(
    "wrong",
    [
        "eunoe_no_such_thing > 0",
        "sum by (tenant) (eunoe_lanes)",
        'eunoe_lanes{stat="stalled"} > 0',
        "rate(eunoe_lanes[5m])",
        "sum(eunoe_lanes",
        "eunoe_write_to_readable_seconds > 1",
    ],
)
def test_the_check_finds_what_is_wrong(wrong: str) -> None:
    assert problems(wrong)


@pytest.mark.parametrize("rule", ALERTS, ids=[each["alert"] for each in ALERTS])
def test_every_alert_is_whole_and_leads_to_a_runbook(rule: dict[str, Any]) -> None:
    assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"Eunoe[A-Za-z]+", rule["alert"])
    assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["annotations"]["summary"].endswith(".")
    runbook = ROOT / rule["annotations"]["runbook"]
    assert rule["alert"] in runbook.read_text(), f"{runbook.name} does not say that this alert leads there"


def test_alerts_and_panels_are_told_apart_by_name() -> None:
    assert len({each["alert"] for each in ALERTS}) == len(ALERTS)
    assert len({each["id"] for each in BOARD["panels"]}) == len(BOARD["panels"])


def test_compose_hands_over_what_is_provisioned() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for name in ("prometheus", "grafana"):
        for volume in services[name]["volumes"]:
            assert (ROOT / volume.split(":")[0]).exists(), volume
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    assert all((DEPLOY / "prometheus" / each).exists() for each in config["rule_files"])
    provider = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/eunoe.yml").read_text())["providers"][0]
    mounted = [each.split(":")[1] for each in services["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounted
    source = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())["datasources"][0]
    used = {each["datasource"]["uid"] for each in BOARD["panels"] if "datasource" in each}
    assert used == {source["uid"]}

"""A real Prometheus looks at a real worker: the shipped rules are evaluated, the dashboard's questions answered.

Skipped where Prometheus is not installed (Debian: `prometheus`). Whether each alert comes when it is due is
`unit/deploy/test_alerts_fire.py`.
"""

import asyncio
import json
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from aiokafka import AIOKafkaProducer

from eunoe.client.memory import Memory
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.topics import Topic, TopicNames
from eunoe.stack.ports import free_ports
from eunoe.testing.platform import Platform, WorkerProcess, install
from eunoe.testing.waiting import until

PROGRAM: Final = shutil.which("prometheus")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Prometheus here (Debian's package prometheus brings it)")

DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy"
ALERTS: Final = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())["groups"][0]["rules"]
BOARD: Final = json.loads((DEPLOY / "grafana" / "dashboards" / "eunoe.json").read_text())
PANELS: Final = [(panel["title"], target["expr"]) for panel in BOARD["panels"] for target in panel.get("targets", ())]
EMPTY: Final = {"Lane restarts a second"}
"""Of which there is nothing to show while all is well."""
PATIENCE: Final = 60.0
GIVEN: Final[dict[str, Any]] = {
    "tenant": "acme",
    "agent": "bot",
    "purposes": ["support"],
    "subject": "anna",
    "ttl": "P30D",
}


@dataclass(frozen=True, slots=True)
class Prometheus:
    address: str

    def ask(self, path: str, **asked: Any) -> Any:
        """What its API answers. Raises OSError where it does not, or refuses."""
        with urllib.request.urlopen(f"{self.address}/api/v1/{path}?{urllib.parse.urlencode(asked)}", timeout=10) as got:
            answer = json.loads(got.read())
        assert answer["status"] == "success", answer
        return answer["data"]

    def value(self, expression: str) -> list[Any]:
        return list(self.ask("query", query=expression)["result"])

    def alerts(self) -> dict[str, Any]:
        return {each["name"]: each for group in self.ask("rules")["groups"] for each in group["rules"]}


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[Prometheus]:
    """With the shipped configuration, but that it finds ``target`` and looks every second."""
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    (job,) = config["scrape_configs"]
    del job["dns_sd_configs"]
    job["static_configs"] = [{"targets": [target]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    shutil.copy(DEPLOY / "prometheus" / "alerts.yml", folder)
    (port,) = free_ports(1)
    assert PROGRAM is not None
    command = [PROGRAM, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        yield Prometheus(f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait()


async def told(ask: Callable[[], object]) -> None:
    """Waits until ``ask``, off the loop, is true; Prometheus needs a moment to answer at all."""

    async def once() -> bool:
        try:
            return bool(await asyncio.to_thread(ask))
        except OSError:
            return False

    await until(once, PATIENCE)


async def something_of_everything(platform: Platform) -> None:
    """What is accepted, waits, is refused, is a dead letter, is forgotten."""
    user, third = ({"kind": kind, "uri": "crm://1"} for kind in ("user_explicit", "third_party"))
    async with Memory.connect(replace(platform.settings, principal=PrincipalName("dev-agent"))) as agent:
        await agent.remember("Prefers tea.", source=user, **GIVEN)
        await agent.remember("Has a sister.", source=third, **(GIVEN | {"subject": "bob"}))
        refused = await agent.remember("Nobody knows this kind.", source=user, kind="unheard-of", **GIVEN)
        assert refused.refused
    async with Memory.connect(replace(platform.settings, principal=PrincipalName("dev-officer"))) as officer:
        await officer.forget_subject("anna", tenant="acme")
    producer = AIOKafkaProducer(bootstrap_servers=platform.settings.kafka)
    await producer.start()
    try:
        await producer.send_and_wait(platform.installation.topic(Topic.EVENTS), b"x", key=b"x", partition=0)
    finally:
        await producer.stop()


async def ready(worker: WorkerProcess) -> bool:
    return await asyncio.to_thread(worker.answers, "readyz")


@pytest.mark.timeout(240)
async def test_the_rules_are_evaluated_and_every_panel_has_something_to_show(
    kafka_bootstrap: str, redis_url: str, topic_names: TopicNames, tmp_path: Path
) -> None:
    platform = await install(kafka_bootstrap, redis_url, topic_names, tmp_path)
    (folder := tmp_path / "prometheus").mkdir()
    with platform.start_worker("decide,project,shred,attest") as worker:
        await until(lambda: ready(worker), PATIENCE)
        with prometheus(folder, f"127.0.0.1:{worker.port}") as server:
            await told(lambda: server.value('up{job="eunoe"} == 1'))
            await something_of_everything(platform)
            named = {name for _, expression in named_expressions() for name in re.findall(r"\beunoe_\w+", expression)}
            await told(lambda: not unknown(server, named))
            for title, expression in PANELS:
                if title not in EMPTY:
                    await told(partial(shown, server, expression))
            rules = await asyncio.to_thread(server.alerts)
            assert rules.keys() == {each["alert"] for each in ALERTS}
            assert {name: each.get("lastError") for name, each in rules.items() if each["health"] != "ok"} == {}
            assert [name for name, each in rules.items() if each["state"] == "firing"] == [], "all is well"
            await asyncio.to_thread(worker.stop)
            await told(lambda: server.alerts()["EunoeWorkerAway"]["state"] in ("pending", "firing"))


def named_expressions() -> Iterator[tuple[str, str]]:
    yield from ((each["alert"], each["expr"]) for each in ALERTS)
    yield from PANELS


def unknown(server: Prometheus, named: set[str]) -> set[str]:
    """Those of ``named`` that no worker has."""
    known = set(server.ask("metadata"))
    return {name for name in named if not known & {name, base(name)}}


def base(name: str) -> str:
    """Of a series of a histogram or a counter, the name under which its metadata stands."""
    return re.sub(r"_(bucket|sum|count|total)$", "", name)


def shown(server: Prometheus, expression: str) -> bool:
    """Whether a panel with it would draw anything, asked as Grafana asks."""
    now = time.time()
    found = server.ask("query_range", query=expression, start=now - 60, end=now, step=5)["result"]
    return any(value != "NaN" for series in found for _, value in series["values"])

"""The worker process: a Faust app as the shell around the services (ADR 0003).

Faust gives the lifecycle, signals and web server; it never touches a topic. *Measured*: without ``producer_only`` the
app joins a leader group; with it and a boot strategy without Kafka it opens no connection of its own,
and so it has no login.
"""

import asyncio
import json
import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import faust
from faust.app.base import BootStrategy
from faust.web.base import BlueprintManager
from faust.web.views import View
from faust.worker import Worker
from mode import Service
from prometheus_client import CONTENT_TYPE_LATEST

from eunoe.runtime.settings import Settings
from eunoe.worker.embedded import RunningServices, running_services
from eunoe.worker.ending import closed_in_time, end_in_time, end_in_time_when_told
from eunoe.worker.health import NOT_STARTED, readiness
from eunoe.worker.prometheus import PrometheusMeter
from eunoe.worker.roles import Accepted, Role

log = logging.getLogger(__name__)


class _NoKafka(BootStrategy):
    enable_kafka = False


class _App(faust.App):
    BootStrategy = _NoKafka
    producer_only = True


class _Worker(Worker):
    def install_signal_handlers(self) -> None:
        super().install_signal_handlers()
        end_in_time_when_told()


class RoleServices(Service):
    """Hosts the roles: starts them with the app, stops them with it, and crashes it when one of them dies."""

    def __init__(self, settings: Settings, roles: frozenset[Role], accepted: Accepted, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._context = running_services(settings, roles, accepted=accepted, meter=(meter := PrometheusMeter()))
        self._opened = False
        self._services_up = asyncio.Event()
        self.meter = meter
        self.running: RunningServices | None = None

    async def on_start(self) -> None:
        self.running = await self._context.__aenter__()
        self._opened = True
        self.meter.read_from(self.running.readings)
        self._services_up.set()

    async def on_stop(self) -> None:
        end_in_time()
        if self._opened:
            self._opened = False
            await closed_in_time(self._context.__aexit__(None, None, None))

    @Service.task  # a task of mode must not be called `loop`
    async def watch(self) -> None:
        await self._services_up.wait()
        assert self.running is not None
        await self.running.ended()

    def readiness(self) -> Mapping[str, Any]:
        running = self.running
        return readiness((), (NOT_STARTED,)) if running is None else readiness(running.items, running.failing())


def make_worker(settings: Settings, roles: frozenset[Role], accepted: Accepted) -> Worker:
    """The worker, to be run by ``execute_from_commandline``: it stops on SIGTERM and SIGINT and exits 0, or 1 after
    a crash."""
    app = _App(
        "eunoe",
        broker=[f"kafka://{each}" for each in settings.kafka.split(",")],
        autodiscover=False,
        datadir=str(Path(tempfile.gettempdir()) / "eunoe-faust"),
        web_host=settings.http_host,
        web_bind=settings.http_host,
        web_port=settings.http_port,
        web_in_thread=False,
    )
    services = RoleServices(settings, roles, accepted)
    _serve_pages(app, services)
    worker = _Worker(app, services, override_logging=False, redirect_stdouts=False, quiet=True)
    worker.spinner = None
    return worker


def _serve_pages(app: faust.App, services: RoleServices) -> None:
    # Faust's own pages (tables, router, statistics) would show nothing of ours, and more than anybody needs.
    app.web.blueprints = BlueprintManager([])

    async def metrics(view: View, request: Any) -> Any:
        return view.bytes(services.meter.page().encode(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def healthz(view: View, request: Any) -> Any:
        return view.text("alive\n")

    async def readyz(view: View, request: Any) -> Any:
        found = services.readiness()
        return view.text(json.dumps(found), content_type="application/json", status=200 if found["ready"] else 503)

    for page in (metrics, healthz, readyz):
        app.page(f"/{page.__name__}")(page)

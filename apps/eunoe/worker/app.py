"""The worker process: a Faust app as the shell around the services (ADR 0003).

Faust gives the lifecycle, signals and web server; it never touches a topic. *Measured*: without ``producer_only`` the app
joins a leader group; with it and a boot strategy without Kafka it opens no connection of its own.
"""

import asyncio
import json
import logging
import tempfile
from pathlib import Path
from typing import Any, Final

import faust
from faust.app.base import BootStrategy
from faust.web.base import BlueprintManager
from faust.worker import Worker
from mode import Service

from eunoe.runtime.settings import Settings
from eunoe.worker.embedded import RunningServices, running_services
from eunoe.worker.prometheus import PrometheusMeter
from eunoe.worker.roles import Accepted, Role

log = logging.getLogger(__name__)

_NOT_STARTED: Final = "the services are starting"


class _NoKafka(BootStrategy):  # type: ignore[misc]  # faust is untyped
    enable_kafka = False


class _App(faust.App):  # type: ignore[misc]  # faust is untyped
    BootStrategy = _NoKafka
    producer_only = True


class RoleServices(Service):  # type: ignore[misc]  # mode is untyped
    """Hosts the roles: starts them with the app, stops them with it, and crashes it when one of them dies."""

    def __init__(self, settings: Settings, roles: frozenset[Role], accepted: Accepted, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._context = running_services(settings, roles, accepted=accepted, meter=(meter := PrometheusMeter()))
        self._opened = False
        self.meter = meter
        self.running: RunningServices | None = None

    async def on_start(self) -> None:
        self.running = await self._context.__aenter__()
        self._opened = True
        self.meter.read_from(self.running.readings)

    async def on_stop(self) -> None:
        if self._opened:
            self._opened = False
            await self._context.__aexit__(None, None, None)

    @Service.task  # type: ignore[untyped-decorator]  # mode is untyped; it must not be called `loop`
    async def watch(self) -> None:
        while self.running is None:
            await asyncio.sleep(0.01)
        await self.running.ended()

    def problems(self) -> list[str]:
        return [_NOT_STARTED] if self.running is None else self.running.problems()


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
    return Worker(app, services, override_logging=False, redirect_stdouts=False, quiet=True)


def _serve_pages(app: faust.App, services: RoleServices) -> None:
    # Faust's own pages (tables, router, statistics) would show nothing of ours, and more than anybody needs.
    app.web.blueprints = BlueprintManager([])

    async def metrics(web: Any, request: Any) -> Any:
        return web.text(services.meter.page(), content_type="text/plain")

    async def healthz(web: Any, request: Any) -> Any:
        return web.text("alive\n")

    async def readyz(web: Any, request: Any) -> Any:
        problems = services.problems()
        body = json.dumps({"ready": not problems, "problems": problems})
        return web.text(body, content_type="application/json", status=503 if problems else 200)

    for path, page in (("/metrics", metrics), ("/healthz", healthz), ("/readyz", readyz)):
        app.page(path)(_faust_view(page))


def _faust_view(page: Any) -> Any:
    async def view(self: Any, request: Any) -> Any:
        return await page(self.web, request)

    return view

"""Apache Kafka as one KRaft node on loopback."""

import base64
import os
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from eunoe.stack.errors import StartFailed
from eunoe.stack.jars import kafka_jars
from eunoe.stack.java import find_java
from eunoe.stack.probes import kafka_answers
from eunoe.stack.service import Service

_FIXED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        # A topic exists because somebody applied it; a misspelt name is an error, not a new topic.
        "auto.create.topics.enable": "false",
        # One node: what the defaults want three of.
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        # 50 partitions of each would be opened, recovered and closed for nothing.
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        # After SIGKILL the broker's old registration must lapse before the new one is accepted.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        # Erasure waits for the cleaner; by default it looks every 15 s.
        "log.cleaner.backoff.ms": "1000",
        "log.cleaner.threads": "1",
        # Allocated at the start. The default of 128 MB would be a quarter of the heap.
        "log.cleaner.dedupe.buffer.size": "16777216",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "background.threads": "2",
    }
)

_LOGGING: Final = """\
status = warn
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1} %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""

_FORMAT_SECONDS: Final = 120.0


class Broker(Service):
    """Every setting that makes one node serve transactions.

    ``cache`` holds the downloaded jars; ``extra`` settings win over the ones above. ``file_delete_delay_ms`` is how
    long a removed segment stays on disk as ``*.deleted``: 60 s by default in Kafka, and erasure has to wait for it.
    ``advertised_port``: of a proxy on loopback. Whoever asks the broker on its port ``proxied`` is told to come through
    that one; `address`, and the broker itself, stay direct. ``disk``: a folder for its data, instead of its own one.
    """

    name = "kafka"
    port_names: tuple[str, ...] = ("client", "controller")
    start_seconds = 90.0
    stop_seconds = 20.0

    def __init__(
        self,
        directory: Path,
        *,
        cache: Path,
        file_delete_delay_ms: int = 1_000,
        heap: str = "512m",
        extra: Mapping[str, str] = MappingProxyType({}),
        advertised_port: int | None = None,
        disk: Path | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        super().__init__(directory, environ)
        self._cache = cache
        self._heap = heap
        self._disk = self.directory if disk is None else disk.absolute()
        self._advertised_port = advertised_port
        if advertised_port is not None:
            self.port_names = (*self.port_names, "proxied")
        self._extra = {"log.segment.delete.delay.ms": str(file_delete_delay_ms), **extra}

    @property
    def data(self) -> Path:
        """The log directory: one folder per topic partition."""
        return self._disk / "data"

    def answers(self) -> bool:
        return bool(self.address) and kafka_answers(self.address)

    def wipe(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)

    def prepare(self, ports_by_name: Mapping[str, int]) -> list[str]:
        (self.directory / "log4j2.properties").write_text(_LOGGING)
        self._write_properties(ports_by_name, self.data)
        if not (self.data / "meta.properties").exists():
            self._format(ports_by_name)
        return [*self._jvm(), "kafka.Kafka", str(self._properties)]

    @property
    def _properties(self) -> Path:
        return self.directory / "server.properties"

    def _jvm(self) -> list[str]:
        """Finds Java and the jars (a download, the first time); raises `StackError`."""
        java = find_java()
        return [
            str(java),
            f"-Xmx{self._heap}",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",  # writes outside the folder
            f"-Dlog4j2.configurationFile={self.directory / 'log4j2.properties'}",
            f"-Djava.io.tmpdir={self.directory}",
            "-cp",
            f"{kafka_jars(self._cache, java)}/*",
        ]

    def _write_properties(self, ports_by_name: Mapping[str, int], data: Path) -> None:
        client, controller = ports_by_name["client"], ports_by_name["controller"]
        settings = {
            **_FIXED,
            "listeners": f"PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{client}",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "log.dirs": str(data),
        }
        if self._advertised_port is not None:
            proxied = {
                "listeners": f"PROXIED://127.0.0.1:{ports_by_name['proxied']}",
                "advertised.listeners": f"PROXIED://127.0.0.1:{self._advertised_port}",
                "listener.security.protocol.map": "PROXIED:PLAINTEXT",
            }
            settings |= {name: f"{settings[name]},{more}" for name, more in proxied.items()}
        settings |= self._extra
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    def _format(self, ports_by_name: Mapping[str, int]) -> None:
        """Format under another name and rename: a format that was killed is not taken for a whole one."""
        fresh = self._disk / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        self.wipe()
        self._write_properties(ports_by_name, fresh)
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A")
        command = [*self._jvm(), "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self._properties)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_FORMAT_SECONDS, env=dict(self._environ), check=False
            )
        except subprocess.TimeoutExpired:
            raise StartFailed(self.name, "formatting took too long", self.log, "") from None
        if done.returncode != 0:
            raise StartFailed(self.name, "formatting failed", self.log, (done.stderr + done.stdout)[-2_000:])
        fresh.rename(self.data)
        self._write_properties(ports_by_name, self.data)

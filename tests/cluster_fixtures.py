"""A real Redis Cluster of three masters, from the redis-server that the local stack runs; no redis-cli is needed."""

import asyncio
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from redis import Redis
from redis.exceptions import RedisError

from eunoe.stack.ports import free_ports
from eunoe.stack.redis_program import find_redis_server

_SLOTS: Final = 16_384
_DEADLINE_S: Final = 30.0
_POLL_S: Final = 0.05
_BATCH: Final = 100


@dataclass(slots=True)
class Node:
    """One redis-server with an append-only file that is written at every command."""

    directory: Path
    port: int
    bus: int
    clustered: bool = True
    node_timeout_ms: int = 5_000
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def data(self) -> Path:
        return self.directory / "appendonlydir"

    @property
    def client(self) -> Redis:
        return Redis(port=self.port, socket_timeout=_DEADLINE_S)

    def ask(self, *command: Any) -> Any:
        with self.client as client:
            return client.execute_command(*command)

    def start(self) -> None:
        """Returns once it answers (and has read its file)."""
        self.directory.mkdir(parents=True, exist_ok=True)
        settings = {
            "port": self.port,
            "bind": "127.0.0.1",
            "dir": self.directory,
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
            "daemonize": "no",
        }
        if self.clustered:
            settings |= {
                "cluster-enabled": "yes",
                "cluster-port": self.bus,
                "cluster-node-timeout": self.node_timeout_ms,
                "cluster-replica-validity-factor": 0,  # a replica takes over however long it heard nothing
                "cluster-require-full-coverage": "no",  # who is still there answers, however long a test takes
                "cluster-config-file": "nodes.conf",
            }
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(find_redis_server()), *(str(part) for name, to in settings.items() for part in (f"--{name}", to))],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait(self._answers)

    def stop(self) -> None:
        """Killed, as by a power cut; the file has all it acknowledged."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def saved(self) -> Path:
        """A copy of its files as they are now, to go back to (`roll_back`)."""
        copy = self.directory / f"saved-{time.monotonic_ns()}"
        shutil.copytree(self.data, copy)
        return copy

    def roll_back(self, saved: Path) -> None:
        """Stopped, its data as it was when ``saved``, started again."""
        self.stop()
        shutil.rmtree(self.data)
        shutil.copytree(saved, self.data)
        self.start()

    def cut_off(self) -> None:
        """This replica follows its master no more, for it does not get in: what it has is all that it will have."""
        self.ask("CONFIG", "SET", "masterauth", "not-the-password")
        self.ask("CONFIG", "SET", "repl-timeout", 1)
        master = self._replication["master_port"]
        with Redis(port=int(master), socket_timeout=_DEADLINE_S) as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "replica")
        wait(lambda: self._replication["master_link_status"] == "down")

    def follows(self) -> bool:
        """Whether it is a replica that has all its master had."""
        told = self._replication
        return bool(told["role"] == "slave" and told["master_link_status"] == "up")

    @property
    def written(self) -> int:
        """How much of the master's stream of writes it has, in bytes."""
        told = self._replication
        return int(told["master_repl_offset" if told["role"] == "master" else "slave_repl_offset"])

    @property
    def _replication(self) -> dict[str, Any]:
        told: dict[str, Any] = self.ask("INFO", "replication")
        return told

    def _answers(self) -> bool:
        try:
            return bool(self.ask("PING"))
        except RedisError:
            return False


@dataclass(slots=True)
class ThreeNodes:
    """Partitions of the tests lie on all of them, for hash tags spread."""

    nodes: Sequence[Node]
    """Those that were begun as masters."""
    replicas: Sequence[Node] = ()
    """One of each of ``nodes``, in their order, or none."""

    @property
    def url(self) -> str:
        return self.nodes[0].url

    @property
    def all(self) -> Sequence[Node]:
        return [*self.nodes, *self.replicas]

    def form(self) -> None:
        """Everybody meets everybody, slots are given out, and all agree that all is well."""
        first, *others = self.all
        for node in others:
            first.ask("CLUSTER", "MEET", "127.0.0.1", node.port, node.bus)
        count = len(self.nodes)
        for at, node in enumerate(self.nodes):
            node.ask("CLUSTER", "ADDSLOTSRANGE", _SLOTS * at // count, _SLOTS * (at + 1) // count - 1)
        self.settled()
        for node, replica in zip(self.nodes, self.replicas, strict=False):
            replica.ask("CLUSTER", "REPLICATE", _text(node.ask("CLUSTER", "MYID")))
        for replica in self.replicas:
            wait(replica.follows)

    def settled(self) -> None:
        wait(lambda: all(self._well(node) for node in self.all))

    def replica_of(self, node: Node) -> Node:
        return self.replicas[self.nodes.index(node)]

    def failed_over(self, node: Node) -> None:
        """Returns once the replica of ``node``, which was killed, is master in its place and everybody else says so."""
        replica = self.replica_of(node)
        living = [each for each in self.all if each is not node]
        wait(lambda: all(self._owned_by(replica, seen_by) for seen_by in living))

    def owner(self, slot: int) -> Node:
        return next(each for each in self.nodes if slot in self._slots(each))

    def begin_move(self, slot: int) -> "Move":
        """From its owner to the next node. No key has moved."""
        source = self.owner(slot)
        target = self.nodes[(self.nodes.index(source) + 1) % len(self.nodes)]
        move = Move(self, slot, source, target)
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", move.id_of(source))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", move.id_of(target))
        return move

    def _slots(self, node: Node) -> set[int]:
        ranges = node.ask("CLUSTER", "SLOTS")
        return {slot for first, last, master, *_ in ranges if master[1] == node.port for slot in range(first, last + 1)}

    def _owned_by(self, owner: Node, seen_by: Node) -> bool:
        """Whether ``owner`` has slots, and all slots have a master that is not known to be down."""
        told = {line.split(":")[0]: line.split(":")[-1] for line in _text(seen_by.ask("CLUSTER", "INFO")).split("\r\n")}
        masters = {master[1] for _, _, master, *_ in seen_by.ask("CLUSTER", "SLOTS")}
        return told.get("cluster_slots_ok") == str(_SLOTS) and owner.port in masters

    def _well(self, node: Node) -> bool:
        try:
            told = {
                line.split(":")[0]: line.split(":")[-1] for line in _text(node.ask("CLUSTER", "INFO")).split("\r\n")
            }
        except RedisError:
            return False
        known = told.get("cluster_known_nodes") == str(len(self.all))
        return told.get("cluster_state") == "ok" and told.get("cluster_slots_ok") == str(_SLOTS) and known


@dataclass(slots=True)
class Move:
    """A slot on its way, as ``redis-cli --cluster reshard`` does it."""

    cluster: ThreeNodes
    slot: int
    source: Node
    target: Node

    def keys(self) -> list[bytes]:
        """Those that have not left yet, a few of them."""
        return list(self.source.ask("CLUSTER", "GETKEYSINSLOT", self.slot, _BATCH))

    def carry(self, keys: Sequence[bytes]) -> None:
        if keys:
            self.source.ask("MIGRATE", "127.0.0.1", self.target.port, "", 0, 30_000, "KEYS", *keys)

    def finish(self) -> None:
        """What is left, and then the slot is the target's."""
        while keys := self.keys():
            self.carry(keys)
        for node in (self.target, self.source, *self.cluster.nodes):
            node.ask("CLUSTER", "SETSLOT", self.slot, "NODE", self.id_of(self.target))
        self.cluster.settled()

    def id_of(self, node: Node) -> str:
        return _text(node.ask("CLUSTER", "MYID"))


def wait(question: Callable[[], bool]) -> None:
    """Raises TimeoutError after half a minute."""
    deadline = time.monotonic() + _DEADLINE_S
    while not question():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(_POLL_S)


@contextmanager
def started(directory: Path, count: int, *, clustered: bool, node_timeout_ms: int = 5_000) -> Iterator[Sequence[Node]]:
    """Killed by their own handles at the end of the block."""
    ports = free_ports(2 * count)
    nodes = [
        Node(directory / f"node-{each}", ports[2 * each], ports[2 * each + 1], clustered, node_timeout_ms)
        for each in range(count)
    ]
    try:
        for node in nodes:
            node.start()
        yield nodes
    finally:
        for node in nodes:
            node.stop()


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeNodes]:
    """Shared: who stops a node or moves a slot leaves it whole."""
    with started(tmp_path_factory.mktemp("redis-cluster"), 3, clustered=True) as nodes:
        cluster = ThreeNodes(nodes)
        cluster.form()
        yield cluster


@pytest.fixture
def redis_replicated(tmp_path: Path) -> Iterator[ThreeNodes]:
    """Three masters with a replica each, of this test's own: who fails over cannot leave it as it was."""
    with started(tmp_path / "redis-replicated", 6, clustered=True, node_timeout_ms=2_000) as nodes:
        cluster = ThreeNodes(nodes[:3], nodes[3:])
        cluster.form()
        yield cluster


@pytest.fixture
def redis_node(tmp_path: Path) -> Iterator[Node]:
    """A single server with a file, of this test's own."""
    with started(tmp_path / "redis", 1, clustered=False) as nodes:
        yield nodes[0]


async def off_loop(work: Callable[..., Any], *arguments: Any) -> Any:
    """In a thread: what is tested goes on meanwhile."""
    return await asyncio.to_thread(work, *arguments)


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value

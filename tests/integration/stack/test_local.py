"""The local provider with real processes: found again, cleaned up, ended, and nothing else touched."""

import asyncio
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from redis import Redis

from eunoe.runtime.kafka import topic_admin
from eunoe.stack import processes
from eunoe.stack.errors import StartFailed
from eunoe.stack.local import LocalOptions, LocalStack
from eunoe.stack.probes import kafka_answers, redis_answers, wait_until
from eunoe.stack.redis_server import RedisServer


def pids(stack: LocalStack) -> tuple[int | None, ...]:
    return tuple(each.pid for each in stack.status())


def test_a_second_up_finds_the_first_and_down_ends_it(tmp_path: Path) -> None:
    first, second = LocalStack(tmp_path), LocalStack(tmp_path)
    try:
        endpoints = first.up()
        running = pids(first)
        assert second.up() == endpoints
        assert pids(second) == running

        # From another object, as from another process: nothing but the folder is shared.
        assert second.down() == ("kafka", "redis")
        assert not kafka_answers(endpoints.kafka)
        assert not redis_answers(endpoints.redis)
        assert second.down() == ()
    finally:
        first.kill()


def test_several_ups_at_once_start_one_stack(tmp_path: Path) -> None:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(LocalStack(tmp_path).up())) for _ in range(3)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 3
        assert len(set(found)) == 1
        assert all(each.state == "running" for each in LocalStack(tmp_path).status())
    finally:
        LocalStack(tmp_path).kill()


def test_what_crashed_is_started_again_with_its_data_and_on_its_ports(tmp_path: Path) -> None:
    stack = LocalStack(tmp_path)
    try:
        before = stack.up()
        with Redis.from_url(before.redis) as redis:
            redis.set("kept", "yes")
            redis.execute_command("WAITAOF", 1, 0, 5_000)
        redis_pid, broker_pid = stack.redis_server.record, stack.broker.record
        assert redis_pid is not None
        assert broker_pid is not None
        # Its record stays, as after a crash.
        processes.stop("redis", redis_pid, 0)

        assert LocalStack(tmp_path).up() == before
        assert stack.broker.record == broker_pid
        with Redis.from_url(before.redis) as redis:
            assert redis.get("kept") == b"yes"
    finally:
        stack.kill()


async def test_a_killed_broker_serves_again_what_was_committed(own_stack: LocalStack) -> None:
    async with topic_admin(own_stack.kafka) as admin:
        await admin.create("t", 1, 1, {})
    producer = AIOKafkaProducer(bootstrap_servers=own_stack.kafka, transactional_id="one")
    await producer.start()
    try:
        async with producer.transaction():
            await producer.send_and_wait("t", b"committed")
    finally:
        await producer.stop()

    # A commit is answered before its markers are written, and a broker killed in between may take minutes to write them
    # (seen once): what is tested here is what was readable.
    assert await _first_committed(own_stack) == b"committed"
    own_stack.broker.kill()
    assert not own_stack.broker.answers()
    own_stack.broker.start()
    assert await _first_committed(own_stack) == b"committed"


async def _first_committed(stack: LocalStack) -> bytes:
    consumer = AIOKafkaConsumer(bootstrap_servers=stack.kafka, isolation_level="read_committed")
    await consumer.start()
    try:
        consumer.assign([TopicPartition("t", 0)])
        await consumer.seek_to_beginning()
        async with asyncio.timeout(60):
            return bytes((await consumer.getone()).value)
    finally:
        await consumer.stop()


def test_everything_is_bound_to_loopback(own_stack: LocalStack) -> None:
    """Any other address of this machine refuses, where 127.0.0.1 accepts."""
    ports = [*own_stack.broker.ports.values(), *own_stack.redis_server.ports.values()]
    assert len(ports) == 3
    for port in ports:
        with socket.create_connection(("127.0.0.1", port), 2):
            pass
        # Bound to 0.0.0.0, it would answer on the whole of 127.0.0.0/8.
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", port), 2)


@pytest.fixture
def redis_server(tmp_path: Path) -> RedisServer:
    return RedisServer(tmp_path / "redis", append_only=False)


def test_redis_can_be_killed_and_comes_back_empty(redis_server: RedisServer) -> None:
    try:
        redis_server.start()
        url = redis_server.url
        with Redis.from_url(url) as redis:
            redis.set("a", 1)
        assert redis_server.kill()
        assert not redis_server.answers()
        assert not redis_server.kill()

        redis_server.start()
        assert redis_server.url == url
        with Redis.from_url(url) as redis:
            assert redis.dbsize() == 0
            assert redis.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
            redis.set("a", 1)
        redis_server.restart(empty=True)
        with Redis.from_url(url) as redis:
            assert redis.dbsize() == 0
    finally:
        redis_server.kill()


def test_a_paused_redis_does_not_answer_until_it_goes_on(redis_server: RedisServer) -> None:
    try:
        redis_server.start()
        record = redis_server.record
        redis_server.pause()
        assert redis_server.status().state == "not answering"
        redis_server.resume()
        assert wait_until(redis_server.answers, 5)
        assert redis_server.record == record
    finally:
        redis_server.kill()


def test_an_interrupt_before_its_record_leaves_no_process(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawned: list[int] = []

    def interrupted(process: subprocess.Popen[bytes]) -> None:
        spawned.append(process.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(processes, "record_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        redis_server.start()
    assert processes.start_time(spawned[0]) is not None
    redis_server.kill()
    assert processes.start_time(spawned[0]) is None


def test_a_port_that_was_taken_meanwhile_is_replaced(redis_server: RedisServer) -> None:
    try:
        redis_server.start()
        before = redis_server.ports["client"]
        redis_server.stop()
        with socket.create_server(("127.0.0.1", before)):
            redis_server.start()
        assert redis_server.ports["client"] != before
    finally:
        redis_server.kill()


def test_a_folder_may_be_relative_to_where_it_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    server = RedisServer(Path("there"), append_only=True)
    try:
        server.start()
        with Redis.from_url(server.url) as redis:
            assert redis.config_get("dir") == {"dir": str(tmp_path / "there" / "data")}
    finally:
        server.kill()


def test_a_service_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    options = LocalOptions(append_only=False, broker_settings=(("num.io.threads", "none"),))
    stack = LocalStack(tmp_path, options)
    with pytest.raises(StartFailed, match=r"num\.io\.threads") as failed:
        stack.up()
    assert failed.value.service == "kafka"
    assert all(each.state == "stopped" for each in stack.status())

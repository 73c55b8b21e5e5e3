"""Redis's own files are written anew before a receipt says so: what was deleted is not left in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from eunoe.processors.attesting.redis_files import rewritten
from eunoe.stack.redis_server import RedisServer

GONE, STAYS = b"canary-of-somebody-who-was-forgotten", b"canary-of-somebody-who-stays"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "redis"


@pytest.fixture
def server(folder: Path) -> Iterator[RedisServer]:
    server = RedisServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()


def kinds_that_hold(folder: Path, what: bytes) -> set[str]:
    return {each.suffix for each in folder.rglob("*") if each.suffix in (".aof", ".rdb") and what in each.read_bytes()}


async def test_what_was_deleted_is_not_left_in_the_append_only_file_or_the_snapshot(
    server: RedisServer, folder: Path
) -> None:
    async with Redis.from_url(server.url) as redis:
        await redis.config_set("save", "3600 1")
        await redis.mset({"gone": GONE, "stays": STAYS})
        await redis.save()
        await redis.delete("gone")
        assert kinds_that_hold(folder, GONE) == {".aof", ".rdb"}, "the control: a deletion leaves it there"
        check = await rewritten(redis)
        assert check["passed"], check
        assert "append-only file and snapshot written anew" in check["check"]
        assert kinds_that_hold(folder, GONE) == set()
        assert kinds_that_hold(folder, STAYS) == {".rdb"}, "the control: what lives is in what was written"


async def test_without_the_right_to_write_them_anew_the_check_has_not_passed(server: RedisServer) -> None:
    async with Redis.from_url(server.url) as redis:
        await redis.execute_command("ACL", "SETUSER", "reader", "on", ">x", "+info", "+config|get")  # type: ignore[no-untyped-call]
    async with Redis.from_url(server.url.replace("://", "://reader:x@")) as reader:
        check = await rewritten(reader)
    assert not check["passed"]
    assert "were not written anew (NoPermissionError)" in check["check"]

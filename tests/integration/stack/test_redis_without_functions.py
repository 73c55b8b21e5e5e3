"""A Redis whose Functions are not to be had is refused at the start, with what to do."""

from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from redis.asyncio import Redis

from eunoe.runtime.redis.connect import connect
from eunoe.runtime.redis.errors import FunctionsUnavailable


async def test_functions_that_are_not_allowed_are_missed_at_once(redis_url: str, redis_client: Redis) -> None:
    parts = urlsplit(redis_url)
    urls = {}
    client: Any = redis_client  # this method of it is untyped
    for name, rule in (("allowed", "+@all"), ("forbidden", "-function")):
        await client.execute_command("ACL", "SETUSER", name, "reset", "on", ">pass", "~*", "&*", "+@all", rule)
        urls[name] = urlunsplit(parts._replace(netloc=f"{name}:pass@{parts.netloc.rpartition('@')[2]}"))
    try:
        connected = await connect(urls["allowed"])
        await connected.aclose()
        with pytest.raises(FunctionsUnavailable, match="FUNCTION"):
            await connect(urls["forbidden"])
    finally:
        await client.execute_command("ACL", "DELUSER", "allowed", "forbidden")

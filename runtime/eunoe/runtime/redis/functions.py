"""Redis Functions under names that contain their hash.

A library is loaded where it is missing and never replaced: an older worker goes on with its own version beside a newer
one. Each owner writes only its own Lua; `digest.lua` and `apply.lua` are put in front, so that the rules of digest and
watermark exist once.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import NoPermissionError, ResponseError

from eunoe.runtime.redis.errors import FunctionsUnavailable, LibraryMissing

_SHARED: Final = ("apply", "read", "items", "counting")
_READ_ONLY: Final = frozenset({"read", "items", "counting"})
_IN_FRONT: Final = ("digest.lua", "apply.lua")


def lua(package: str, name: str) -> str:
    """The text of a Lua file that is shipped beside the code."""
    return (resources.files(package) / name).read_text("utf-8")


@dataclass(frozen=True, slots=True)
class FunctionLibrary:
    """``functions`` names the Lua functions of ``source`` to register (name -> whether it only reads)."""

    name: str
    source: str = ""
    functions: Mapping[str, bool] = field(default_factory=dict)

    @property
    def text(self) -> str:
        body = "".join(lua("eunoe.runtime.redis", each) for each in _IN_FRONT) + self.source
        names = self._names
        digest = hashlib.sha256((body + repr(sorted(names.items()))).encode()).hexdigest()[:12]
        registered = "\n".join(
            f"redis.register_function{{function_name='{self.name}_{name}_{digest}', callback=whole({name})"
            + (", flags={'no-writes'}}" if reads else "}")
            for name, reads in sorted(names.items())
        )
        return f"#!lua name={self.name}_{digest}\n{body}\n{registered}\n"

    @property
    def _names(self) -> dict[str, bool]:
        return {each: each in _READ_ONLY for each in _SHARED} | dict(self.functions)

    def load(self) -> "LoadedFunctions":
        """The callable form; nothing is sent until the first call."""
        text = self.text
        digest = text.split("\n", 1)[0].rpartition("_")[2]
        reading = frozenset(name for name, reads in self._names.items() if reads)
        return LoadedFunctions(self.name, digest, text, reading)


class LoadedFunctions:
    """Calls a library's functions, loading it on a server that does not have it (a new, restarted or flushed one)."""

    def __init__(self, name: str, digest: str, text: str, reading: frozenset[str] = frozenset()) -> None:
        self._name = name
        self._digest = digest
        self._text = text
        self._reading = reading

    def function(self, name: str) -> str:
        """The registered name, for pipelines."""
        return f"{self._name}_{name}_{self._digest}"

    async def ensure(self, redis: "Redis") -> None:
        """Load the library where it is missing. Raises `FunctionsUnavailable` where there are no Functions, and
        `LibraryMissing` where this user of Redis may not load one."""
        try:
            await redis.function_load(self._text)
        except NoPermissionError as error:
            raise LibraryMissing(f"{self._name}_{self._digest}") from error
        except ResponseError as error:
            if "already exists" in str(error):
                return
            if "unknown command" in str(error).lower():
                raise FunctionsUnavailable from error
            raise

    async def call(self, redis: "Redis", name: str, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """One call; the library is loaded first where it is missing."""
        try:
            return await self._called(redis, name, keys, args)
        except ResponseError as error:
            if not is_missing_function(error):
                raise
        await self.ensure(redis)
        return await self._called(redis, name, keys, args)

    async def _called(self, redis: "Redis", name: str, keys: Sequence[str], args: Sequence[Any]) -> Any:
        # FCALL needs the right to write its keys, whatever the function does with them.
        call = redis.fcall_ro if name in self._reading else redis.fcall
        return await call(self.function(name), len(keys), *keys, *args)


def is_missing_function(error: Exception) -> bool:
    """Whether Redis answered that it does not have the function."""
    return "Function not found" in str(error)

"""The stack that `eunoe up` left behind, for the other commands: one small file in its folder."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from eunoe.stack import places
from eunoe.stack.provider import PROVIDERS, Endpoints

_FILE = "stack.json"


def remember_stack(endpoints: Endpoints) -> None:
    """Called by `up`. The file is for its owner only: a Redis URL may hold a password."""
    endpoints.directory.mkdir(parents=True, exist_ok=True)
    fresh = endpoints.directory / f"{_FILE}.{os.getpid()}.new"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(endpoints.as_json(), file)
    fresh.replace(endpoints.directory / _FILE)


def forget_stack(directory: Path) -> None:
    """Called by `down`."""
    (directory / _FILE).unlink(missing_ok=True)


def remembered_stack(directory: Path) -> Endpoints | None:
    """What the last `up` in ``directory`` said, whether or not it still runs; None without one."""
    try:
        stored = json.loads((directory / _FILE).read_text())
        provider = next(name for name in PROVIDERS if name == stored["provider"])
        return Endpoints(kafka=str(stored["kafka"]), redis=str(stored["redis"]), provider=provider, directory=directory)
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, StopIteration):
        return None


def current_endpoints(environ: Mapping[str, str] = os.environ) -> Endpoints | None:
    """Where a command should connect: EUNOE_KAFKA and EUNOE_REDIS, each winning over what `up` left behind.

    None when neither says it. Nothing is asked whether it answers.
    """
    directory = places.stack_directory(environ)
    left = remembered_stack(directory)
    kafka = environ.get("EUNOE_KAFKA") or (left.kafka if left else "")
    redis = environ.get("EUNOE_REDIS") or (left.redis if left else "")
    if not (kafka and redis):
        return None
    provider = left.provider if left and (kafka, redis) == (left.kafka, left.redis) else "external"
    return Endpoints(kafka=kafka, redis=redis, provider=provider, directory=directory)

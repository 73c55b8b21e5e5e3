"""What `eunoe up` leaves behind in the stack's folder, for the commands that come after it.

``stack.json`` says which stack runs, for `down` and `status`; ``settings.toml`` is a file of settings (see
``eunoe.runtime.settings``), for everybody else.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from eunoe.runtime.settings import Settings, load_settings
from eunoe.runtime.settings_here import left_settings
from eunoe.stack.errors import NoStackHere
from eunoe.stack.provider import PROVIDERS, Endpoints

_FILE = "stack.json"


def settings_file(directory: Path) -> Path:
    """What `up` left, for `stack_settings`."""
    return left_settings(directory)


def stack_settings(environ: Mapping[str, str], config: Path | None, directory: Path) -> Settings:
    """The settings of a command that needs Kafka or Redis: variables, ``config``, then what `up` left in ``directory``.

    Raises `NoStackHere` where none of them says where those are, and `SettingsError`.
    """
    left = settings_file(directory)
    named = any(environ.get(each) for each in ("EUNOE_KAFKA", "EUNOE_REDIS"))
    if not (named or config is not None or left.is_file()):
        raise NoStackHere(directory)
    return load_settings(environ, config, fallback=left)


def remember_stack(endpoints: Endpoints) -> None:
    """Called by `up`."""
    _write(endpoints.directory / _FILE, json.dumps(endpoints.as_json()))


def remember_settings(directory: Path, settings: Mapping[str, str | int | list[str]]) -> None:
    """Called by `up`, once the stack can be worked with."""
    # A JSON text, whole number or list of texts is one in TOML, too.
    lines = (f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in settings.items())
    _write(settings_file(directory), "# Written by `eunoe up`, removed by `eunoe down`.\n" + "".join(lines))


def forget_stack(directory: Path) -> None:
    """Called by `down`."""
    settings_file(directory).unlink(missing_ok=True)
    (directory / _FILE).unlink(missing_ok=True)


def remembered_stack(directory: Path) -> Endpoints | None:
    """What the last `up` in ``directory`` said, whether or not it still runs; None without one."""
    try:
        stored = json.loads((directory / _FILE).read_text())
        provider = next(name for name in PROVIDERS if name == stored["provider"])
        return Endpoints(kafka=str(stored["kafka"]), redis=str(stored["redis"]), provider=provider, directory=directory)
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, StopIteration):
        return None


def _write(path: Path, text: str) -> None:
    """Whole or not at all, and for its owner only: a Redis URL may hold a password."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)

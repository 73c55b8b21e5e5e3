"""Where the stack keeps things: downloads per user, state per project folder."""

import os
from collections.abc import Mapping
from pathlib import Path

from eunoe.runtime.settings_here import state_directory


def cache_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Downloads, shared by all projects of the user: EUNOE_CACHE, else eunoe in XDG_CACHE_HOME, else in ~/.cache."""
    if chosen := environ.get("EUNOE_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "eunoe"


def stack_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """State of the stack started from here: EUNOE_DIRECTORY, else .eunoe under the current folder."""
    return state_directory(environ)

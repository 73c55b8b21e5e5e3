"""The settings of a program started where `eunoe up` was called: those that the command line has there."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from eunoe.runtime.settings import SettingProblem, Settings, SettingsError, load_settings
from eunoe.schemas.ids import PrincipalName


def state_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """State of the stack started from here: EUNOE_DIRECTORY, else .eunoe under the current folder."""
    return Path(environ.get("EUNOE_DIRECTORY") or ".eunoe").expanduser().absolute()


def left_settings(directory: Path) -> Path:
    """The file of settings that `eunoe up` leaves in its state directory."""
    return directory / "settings.toml"


def settings_here(principal: str | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Variables, then what `eunoe up` left here. ``principal``: who calls, instead of whom these say.

    Raises `SettingsError`, also where nothing says where Kafka and Redis are.
    """
    left = left_settings(state_directory(environ))
    if not (any(environ.get(each) for each in ("EUNOE_KAFKA", "EUNOE_REDIS")) or left.is_file()):
        problem = f"is not set, and `eunoe up` has left nothing in {left.parent}"
        raise SettingsError((SettingProblem("EUNOE_KAFKA", problem),))
    settings = load_settings(environ, None, fallback=left)
    return settings if principal is None else replace(settings, principal=PrincipalName(principal))

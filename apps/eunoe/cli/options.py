"""What every command takes, and what it gets of it: the settings of this call and a place to say something."""

import asyncio
import functools
import os
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from eunoe.cli.terminal import json_text
from eunoe.stack.places import stack_directory

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from eunoe.runtime.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the command line. ``principal``: who `--as` says calls."""

    as_json: bool
    config: Path | None
    principal: str | None

    def settings(self) -> "Settings":
        """Variables, `--config`, then what `eunoe up` left behind. Raises `NoStackHere` or `SettingsError`."""
        from eunoe.schemas.ids import PrincipalName
        from eunoe.stack.found import stack_settings

        environ = dict(os.environ)
        if self.principal is not None:
            environ["EUNOE_PRINCIPAL"] = self.principal
        settings = stack_settings(environ, self.config, stack_directory())
        if self.principal is None:
            return settings
        return replace(settings, principal=PrincipalName(self.principal))

    def show(self, document: Any, people: "Callable[[], RenderableType | str]") -> None:
        """The result: one JSON document on stdout, or what ``people`` makes for them."""
        if self.as_json:
            click.echo(json_text(document))
            return
        from rich.console import Console

        Console(highlight=False, emoji=False).print(people(), markup=False, soft_wrap=True)

    @property
    def aside(self) -> "Console":
        """Where progress and remarks go: stderr."""
        from rich.console import Console

        return Console(stderr=True, highlight=False, emoji=False)


def common(function: Callable[..., None]) -> Callable[..., None]:
    """`--json`, `--config` and `--as`; the command gets a `Call` as its first argument."""

    @click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout; everything else on stderr.")
    @click.option(
        "--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Settings file (TOML)."
    )
    @click.option("--as", "principal", metavar="NAME", help="Who calls.  [default: EUNOE_PRINCIPAL]")
    @functools.wraps(function)
    def with_call(as_json: bool, config: Path | None, principal: str | None, /, **rest: Any) -> None:
        function(Call(as_json=as_json, config=config, principal=principal), **rest)

    # click hands over by name; the wrapper keeps its own three apart from the command's.
    @functools.wraps(with_call)
    def by_name(**given: Any) -> None:
        with_call(given.pop("as_json"), given.pop("config"), given.pop("principal"), **given)

    return by_name


tenant_option = click.option("--tenant", required=True, help="Whose memory.")


class Seconds(click.ParamType):
    """How long to wait. click's own ranges let NaN and infinity through, and neither is ever over."""

    name = "SECONDS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from eunoe.producers import checks
        from eunoe.producers.errors import CallerError

        try:
            found = checks.seconds("timeout", float(value))
        except CallerError as error:
            self.fail(error.problem, param, ctx)
        except ValueError:
            self.fail("must be a number of seconds", param, ctx)
        return found or self.fail("must be above 0", param, ctx)


timeout_option = click.option("--timeout", type=Seconds(), default=15.0, show_default=True, help="How long to wait.")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end in a loop of its own."""
    return asyncio.run(work)


def read_statement(text: str) -> str:
    """The argument, or with ``-`` what comes on stdin: an argument stays in the shell's history."""
    return sys.stdin.read().rstrip("\n") if text == "-" else text

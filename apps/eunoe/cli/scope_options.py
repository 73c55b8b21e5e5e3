"""The options that say who reads, for what, and what is left out; `search` and `why` take the same ones."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from eunoe.cli.options import tenant_option

Command = Callable[..., None]


class Instant(click.ParamType):
    """RFC 3339 with an offset, as milliseconds."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from eunoe.client.lines import millis

        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            self.fail("must be RFC 3339, such as 2026-11-30T09:00:00Z", param, ctx)
        if at.tzinfo is None:
            self.fail("has no offset: nobody knows when that is; end it with Z or +01:00", param, ctx)
        return millis(at)


class Duration(click.ParamType):
    """ISO 8601 without years and months, as milliseconds."""

    name = "DURATION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from eunoe.schemas.durations import BadDuration, duration_millis

        try:
            return duration_millis(value)
        except BadDuration as error:
            self.fail(str(error), param, ctx)


class TrustName(click.ParamType):
    """untrusted, asserted, verified, or low, medium, high for the same three."""

    name = "TRUST"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from eunoe.schemas.values import Trust

        named = dict(zip(("low", "medium", "high"), Trust, strict=True)) | {each.value: each for each in Trust}
        if value in named:
            return named[value]
        self.fail(f"{value!r} is none of {', '.join(named)}", param, ctx)


class Member(click.ParamType):
    """A value of one of the contract's vocabularies, which is imported when it is needed."""

    def __init__(self, name: str, module: str, vocabulary: str) -> None:
        self.name = name
        self._module = module
        self._vocabulary = vocabulary

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        import importlib

        members = getattr(importlib.import_module(self._module), self._vocabulary)
        try:
            return members(value)
        except ValueError:
            self.fail(f"{value!r} is none of {', '.join(each.value for each in members)}", param, ctx)


MEMORY_CLASS = Member("CLASS", "eunoe.schemas.values", "MemoryClass")
SENSITIVITY = Member("SENSITIVITY", "eunoe.schemas.values", "Sensitivity")


def scope_options(function: Command) -> Command:
    """Who reads and within which limits: the arguments of `Memory.search` by name."""
    for option in reversed(
        (
            tenant_option,
            click.option("--agent", required=True, help="Who asks."),
            click.option("--purpose", required=True, help="What for."),
            click.option("--subject", help="Only about this person."),
            click.option("--surface", help="Where the answer will be shown."),
            click.option(
                "--class", "classes", type=MEMORY_CLASS, multiple=True, help="Only of this class; repeatable."
            ),
            click.option("--min-trust", "trust_min", type=TrustName(), help="Only what is trusted at least so far."),
            click.option("--max-sensitivity", type=SENSITIVITY, help="Only what is protected at most so far."),
            click.option("--max-age", type=Duration(), help="Only what is not older, such as P30D."),
            click.option("--require-provenance", is_flag=True, help="Only what says where it comes from."),
            click.option("--limit", type=click.IntRange(0, 100), default=10, show_default=True, help="0: only counts."),
            click.option("--budget", type=click.IntRange(0), help="Tokens; what does not fit is skipped."),
            click.option("--as-of", type=Instant(), help="Judge expiry and validity at that time."),
            click.option("--after", help="A token: wait until that write is in."),
        )
    ):
        function = option(function)
    return function


def limits_of(given: dict[str, Any]) -> dict[str, Any]:
    """The options as keyword arguments: none given is no limit, not an empty one."""
    found = dict(given)
    found["classes"] = found.get("classes") or None
    if found.get("trust_min") is None:
        found.pop("trust_min", None)
    return found

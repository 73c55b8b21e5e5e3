"""Which provider serves here. External if named, else containers if an engine answers, else processes."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

from eunoe.runtime.brokers import SecurityProtocol
from eunoe.stack import places
from eunoe.stack.compose import ComposeStack, engine_answers, find_compose_file
from eunoe.stack.errors import Attempt, ProgramMissing, StackUnavailable, UnknownProvider
from eunoe.stack.external import ExternalStack
from eunoe.stack.local import USUAL, LocalOptions, LocalStack, check_programs
from eunoe.stack.provider import PROVIDERS, ProviderName, Stack


def choose_stack(
    directory: Path | None = None,
    options: LocalOptions = USUAL,
    environ: Mapping[str, str] = os.environ,
) -> Stack:
    """The first provider that can serve, or the one EUNOE_STACK names. Starts nothing.

    Raises `StackUnavailable`, with a reason and a remedy for each provider tried, or `UnknownProvider`.
    """
    place = (directory or places.stack_directory(environ)).absolute()
    attempts: list[Attempt] = []
    for provider in _wanted(environ):
        found = _try(provider, place, options, environ)
        if not isinstance(found, Attempt):
            return found
        attempts.append(found)
    raise StackUnavailable(tuple(attempts))


def named_stack(
    provider: ProviderName,
    directory: Path,
    environ: Mapping[str, str] = os.environ,
) -> Stack:
    """The stack that an earlier `up` started, to look at it or to stop it. Needs none of the programs to start one."""
    if provider == "local":
        return LocalStack(directory, environ=environ)
    return choose_stack(directory, environ={**environ, "EUNOE_STACK": provider})


def _wanted(environ: Mapping[str, str]) -> tuple[ProviderName, ...]:
    name = environ.get("EUNOE_STACK", "")
    if not name:
        return PROVIDERS
    for provider in PROVIDERS:
        if provider == name:
            return (provider,)
    raise UnknownProvider(name, PROVIDERS)


def _try(provider: ProviderName, directory: Path, options: LocalOptions, environ: Mapping[str, str]) -> Stack | Attempt:
    match provider:
        case "external":
            return _external(directory, environ)
        case "compose":
            return _compose(directory)
        case "local":
            return _local(directory, options, environ)
        case _:
            assert_never(provider)


def _external(directory: Path, environ: Mapping[str, str]) -> ExternalStack | Attempt:
    missing = [name for name in ("EUNOE_KAFKA", "EUNOE_REDIS") if not environ.get(name)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        return Attempt(
            "external", f"{' and '.join(missing)} {verb} not set", "Set both to use a running Kafka and Redis."
        )
    protocol = environ.get("EUNOE_KAFKA_SECURITY_PROTOCOL", "").upper()
    login = protocol not in ("", SecurityProtocol.PLAINTEXT)
    return ExternalStack(environ["EUNOE_KAFKA"], environ["EUNOE_REDIS"], directory, asks_for_login=login)


def _compose(directory: Path) -> ComposeStack | Attempt:
    compose_file = find_compose_file(Path.cwd())
    if compose_file is None:
        return Attempt("compose", "no docker-compose.yml here", "Run from a clone of the repository.")
    if not engine_answers():
        return Attempt("compose", "no Docker engine answers", "Install and start Docker with its compose plugin.")
    return ComposeStack(compose_file, directory)


def _local(directory: Path, options: LocalOptions, environ: Mapping[str, str]) -> LocalStack | Attempt:
    try:
        check_programs(environ)
    except ProgramMissing as missing:
        return Attempt("local", f"no {missing.program} ({'; '.join(missing.looked_in)})", missing.remedy)
    return LocalStack(directory, options, environ)

"""`eunoe up`, `down`, `status` and `topics apply`."""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn

import click
from redis.asyncio import Redis
from redis.exceptions import RedisError
from rich.console import Console
from rich.table import Table

from eunoe.runtime.errors import RuntimeFault, WorldFault
from eunoe.runtime.installation import Installation, bind_redis, open_installation
from eunoe.runtime.kafka import TopicsApplied, apply_topics, topic_admin
from eunoe.runtime.settings import Settings, SettingsError, load_settings
from eunoe.stack.choose import choose_stack, named_stack
from eunoe.stack.development import SECRETS_FOLDER, apply_development, cleaned_quickly, remembered
from eunoe.stack.errors import StackError, UnknownProvider
from eunoe.stack.external import without_credentials
from eunoe.stack.found import (
    forget_stack,
    remember_settings,
    remember_stack,
    remembered_stack,
    settings_file,
    stack_settings,
)
from eunoe.stack.places import stack_directory
from eunoe.stack.provider import Endpoints, ServiceStatus
from eunoe.stack.worker_process import Workers

REFUSED: Final = 1
WRONG_USAGE: Final = 2
UNREACHABLE: Final = 3
_READY_SECONDS: Final = 30.0

_errors = Console(stderr=True, highlight=False)
_people = Console(highlight=False)

_json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
_config_option = click.option(
    "--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Settings file (TOML)."
)


@click.command()
@_json_option
@_config_option
@click.option("--no-workers", is_flag=True, help="Start no worker.")
def up(as_json: bool, config: Path | None, no_workers: bool) -> None:
    """Start Kafka, Redis and workers (or find those that run), create the topics, and say where they are."""
    with _exit_codes(as_json):
        settings = load_settings(os.environ, config, fallback=settings_file(stack_directory()))
        with _errors.status("Starting Kafka and Redis (the first time downloads about 58 MB) …"):
            endpoints = choose_stack().up()
            remember_stack(endpoints)
            prepare(replace(settings, kafka=endpoints.kafka, redis=endpoints.redis), endpoints)
        if not no_workers and endpoints.provider != "compose":  # there, they are services of the compose file
            start_workers(endpoints.directory, config)
    if as_json:
        click.echo(json.dumps({**endpoints.as_json(), "redis": without_credentials(endpoints.redis)}))
    else:
        _people.print(f"Kafka   {endpoints.kafka}\nRedis   {without_credentials(endpoints.redis)}")
        _people.print(f"from    {endpoints.provider}\nstate   {endpoints.directory}", soft_wrap=True)


@click.command()
@_json_option
def down(as_json: bool) -> None:
    """Stop what `up` started here, and nothing else. Data stays."""
    directory = stack_directory()
    with _exit_codes(as_json):
        left = remembered_stack(directory)
        provider = left.provider if left else "local"
        stopped = (*Workers(directory).stop(), *named_stack(provider, directory).down())
        forget_stack(directory)
    if as_json:
        click.echo(json.dumps({"stopped": list(stopped), "provider": provider}))
    else:
        _people.print(f"Stopped {' and '.join(stopped)}." if stopped else "Nothing of ours was running.")


@click.command()
@_json_option
def status(as_json: bool) -> None:
    """Show the stack. Exits 3 when a part of it does not answer, 1 when a worker is not ready, and says why."""
    directory = stack_directory()
    with _exit_codes(as_json):
        left = remembered_stack(directory)
        provider = left.provider if left else "local"
        workers = Workers(directory)
        services = (*named_stack(provider, directory).status(), *workers.status())
        problems = workers.problems()
    if as_json:
        listed = [
            {"service": each.service, "state": each.state, "address": each.address, "pid": each.pid}
            for each in services
        ]
        document = {"provider": provider, "directory": str(directory), "services": listed}
        document["problems"] = [problem for _, problem in problems]
        click.echo(json.dumps(document))
    else:
        _people.print(_table(services))
        for worker, problem in problems:
            _people.print(f"{worker}: {problem}", markup=False, soft_wrap=True)
    if any(each.state != "running" for each in services):
        raise SystemExit(UNREACHABLE)
    if problems:
        raise SystemExit(REFUSED)


@click.group()
def topics() -> None:
    """The topics of an installation."""


@topics.command("apply")
@_json_option
@_config_option
@click.option("--partitions", type=click.IntRange(1, 4096), help="Of new topics; for ever.  [default: 16]")
@click.option("--replication", type=int, default=1, show_default=True, help="Of new topics; -1: the broker's default.")
def apply(as_json: bool, config: Path | None, partitions: int | None, replication: int) -> None:
    """Create the topics that are missing, check the others, and open the log. Changes nothing that exists."""
    with _exit_codes(as_json):
        settings = stack_settings(os.environ, config, stack_directory())
        if partitions is not None:
            settings = replace(settings, partitions=partitions)
        applied, installation = asyncio.run(_apply(settings, replication))
    if as_json:
        document = {
            "created": list(applied.created),
            "existing": list(applied.existing),
            "partitions": installation.partitions,
            "log_id": installation.log_id,
        }
        click.echo(json.dumps(document))
    else:
        _people.print(f"{len(applied.created)} topics created, {len(applied.existing)} as they should be.")


def start_workers(directory: Path, config: Path | None) -> None:
    """The workers of the stack, or those that run; returns when every partition they were given is worked on.

    A partition that needs a person does not undo `up`: it is named on stderr. Raises `StackError`.
    """
    workers = Workers(directory, config)
    with _errors.status("Starting workers …"):
        workers.start()
        unready = workers.unready(_READY_SECONDS)
    for each in unready:
        _errors.print(f"eunoe: {each.name} is not ready; http://{each.address}/readyz says why", markup=False)


def prepare(settings: Settings, endpoints: Endpoints) -> None:
    """Everything between a running stack and one that can be worked with; called by `up` each time, repeat-safe.

    The one place where `up` goes beyond topics: a development policy is applied here, and what it needs the other
    commands to know (key files, signers) goes into the settings that are remembered.
    """
    found = named_stack(endpoints.provider, endpoints.directory).log_directories()
    settings = replace(settings, kafka_log_dirs=settings.kafka_log_dirs or found)
    if endpoints.provider == "local":  # ours alone: what is forgotten here may be gone within seconds
        settings = cleaned_quickly(settings)
    prepared = asyncio.run(_prepare(settings, endpoints.directory))
    remember_settings(endpoints.directory, remembered(prepared))


async def _prepare(settings: Settings, directory: Path) -> Settings:
    _, installation = await _apply(settings, replication=1)
    return await apply_development(settings, installation, directory / SECRETS_FOLDER)


async def _apply(settings: Settings, replication: int) -> tuple[TopicsApplied, Installation]:
    async with topic_admin(settings.brokers) as admin:
        applied = await apply_topics(admin, settings.topics, settings.partitions, replication, settings.topic_specs)
    installation = await open_installation(settings.brokers, settings.topics)
    async with Redis.from_url(settings.redis) as redis:
        await bind_redis(redis, installation)
    return applied, installation


def _table(services: tuple[ServiceStatus, ...]) -> Table:
    table = Table("service", "state", "address", "process")
    for each in services:
        table.add_row(each.service, each.state, each.address or "-", str(each.pid or "-"))
    return table


@contextmanager
def _exit_codes(as_json: bool) -> Iterator[None]:
    """Turn what can go wrong into the exit codes of the command line and a text on stderr, never a traceback."""
    try:
        yield
    except (UnknownProvider, SettingsError) as error:
        _fail(error, WRONG_USAGE, as_json)
    except (StackError, WorldFault, RedisError) as error:
        _fail(error, UNREACHABLE, as_json)
    except RuntimeFault as error:
        _fail(error, REFUSED, as_json)


def _fail(error: Exception, code: int, as_json: bool) -> NoReturn:
    _errors.print(f"eunoe: {error}", markup=False)
    if as_json:
        document: dict[str, Any] = {"error": type(error).__name__, "message": str(error)}
        click.echo(json.dumps(document))
    raise SystemExit(code)

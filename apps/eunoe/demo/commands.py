"""`eunoe demo`: the main job on the example scenario, or on the user's own file."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click

T = TypeVar("T")

_PLACES: Final = (
    Path(__file__).resolve().parents[3] / "examples" / "support",  # a clone
    Path(__file__).resolve().parent / "support",  # a wheel brings it along
)


@click.command()
@click.option(
    "--input",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Lines for `eunoe ingest` instead of the example scenario.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--scenario", type=click.Path(exists=True, file_okay=False, path_type=Path), hidden=True)
def demo(file: Path | None, as_json: bool, scenario: Path | None) -> None:
    """The main job on an example, or on your own file, and a search for every plaintext in Kafka and Redis.

    Starts a Kafka and a Redis of its own and ends them (or uses EUNOE_KAFKA and EUNOE_REDIS, and takes away what it
    made). Exits 1 if anything is not as expected.
    """
    passed = _on_file(file, as_json) if file is not None else _on_scenario(scenario or _example(), as_json)
    raise SystemExit(0 if passed else 1)


def _example() -> Path:
    for place in _PLACES:
        if place.is_dir():
            return place
    raise click.UsageError("the example scenario is not part of this installation; use --input FILE")


def _on_scenario(folder: Path, as_json: bool) -> bool:
    from eunoe.demo.document import scenario_document
    from eunoe.demo.run import SERVICES, run_scenario
    from eunoe.demo.scenario import ScenarioError, read_scenario
    from eunoe.demo.showing import StepLines, console, scenario_result
    from eunoe.demo.stand import stack_of_demo

    out = console()
    try:
        scenario = read_scenario(folder)
        with _started(stack_of_demo()) as (endpoints, own):
            if not as_json:
                said = f"{scenario.title}\nKafka and Redis: {_stack(own)}; services: {SERVICES}"
                out.print(said, style="dim", soft_wrap=True)
            tell = (lambda _: None) if as_json else StepLines(out)
            run = asyncio.run(run_scenario(endpoints, scenario, tell, own=own))
    except ScenarioError as error:
        raise click.UsageError(str(error)) from None
    if as_json:
        _print(scenario_document(scenario, run, endpoints))
        return run.passed
    out.print(scenario_result(run))
    return run.passed


@contextmanager
def _started(stack: AbstractContextManager[T]) -> Iterator[T]:
    """Says that it takes a while, until it is there."""
    from eunoe.demo.showing import console

    with ExitStack() as closing:
        with console(stderr=True).status("Starting Kafka and Redis (the first time downloads about 58 MB) …"):
            there = closing.enter_context(stack)
        yield there


def _stack(own: bool) -> str:
    return "started for this demo, gone after it" if own else "those of EUNOE_KAFKA and EUNOE_REDIS"


def _print(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document, ensure_ascii=False))


def _on_file(file: Path, as_json: bool) -> bool:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from eunoe.demo.document import file_document
    from eunoe.demo.own_file import run_file
    from eunoe.demo.run import SERVICES
    from eunoe.demo.showing import console, file_result
    from eunoe.demo.stand import stack_of_demo

    out, aside = console(), console(stderr=True)
    lines = file.read_bytes().split(b"\n")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with _started(stack_of_demo()) as (endpoints, own):
        if not as_json:
            out.print(f"Kafka and Redis: {_stack(own)}; services: {SERVICES}", style="dim", soft_wrap=True)
        with Progress(*columns, console=aside, disable=not aside.is_terminal) as bar:
            task = bar.add_task("commands", total=sum(1 for line in lines if line.strip()))
            work = run_file(endpoints, lines, own=own, progress=lambda steps: bar.advance(task, steps))
            run = asyncio.run(work)
    if as_json:
        _print(file_document(run, endpoints))
    else:
        out.print(file_result(run))
    return run.passed

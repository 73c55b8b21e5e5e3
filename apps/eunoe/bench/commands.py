"""`eunoe bench NAME`: each benchmark on a stack of its own, or on the one that EUNOE_KAFKA and EUNOE_REDIS name."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import IO, Any

import click

from eunoe.bench.figures import Findings
from eunoe.bench.ground import Ground, endpoints, prepared

Progress = Callable[[str], None]
Work = Callable[[Ground, Progress], Awaitable[Findings]]


@click.group()
def bench() -> None:
    """The benchmarks: ratios to a baseline of the same run, the raw figures, and the bars that must be reached."""


def _json_option(function: Callable[..., None]) -> Callable[..., None]:
    return click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")(function)


def _size(
    name: str, *, default: int, help: str, least: int = 1
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(name, type=click.IntRange(min=least), default=default, show_default=True, help=help)


def _perform(work: Work, *, as_json: bool, partitions: int = 1) -> None:
    """Run on a stack, show what was found. Missing a bar is a finding, not a failure."""
    from eunoe.bench.machine import describe
    from eunoe.worker.collecting import collect_rarely

    def progress(text: str) -> None:
        click.echo(text, err=True)

    async def measured() -> dict[str, Any]:
        async with prepared(where, partitions=partitions) as ground:
            machine = await describe(ground.redis, where.provider)
            return (await work(ground, progress)).document(machine)

    progress("starting Kafka and Redis")
    collect_rarely()
    with endpoints() as where:
        document = asyncio.run(measured())
    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False))
    else:
        from eunoe.bench.showing import show

        show(document)


def _several_batches(records: int, batch: int) -> None:
    """A rate is taken between batches; two of them are hardly one."""
    if records < 3 * batch:
        raise click.BadParameter(f"at least three batches of {batch} are needed", param_hint="--records")


@bench.command()
@_json_option
@click.option("--conversation", "names", multiple=True, help="Only this one (repeatable).  [default: all five]")
def locomo(as_json: bool, names: tuple[str, ...]) -> None:
    """Evidence recall on LoCoMo beside bm25s. The data is read from EUNOE_LOCOMO."""
    from eunoe.bench.locomo import run_all
    from eunoe.bench.locomo_data import CHOSEN_ON, HELD_OUT, LocomoAbsent, load, locomo_folder
    from eunoe.bench.locomo_report import report

    try:
        conversations = load(locomo_folder(), names or CHOSEN_ON + HELD_OUT)
    except LocomoAbsent as absent:
        raise click.UsageError(str(absent)) from None

    async def work(ground: Ground, progress: Progress) -> Findings:
        runs, figures = await run_all(ground, conversations, progress)
        return report(conversations, runs, figures)

    _perform(work, as_json=as_json, partitions=2)


@bench.command()
@_json_option
@_size("--records", default=6_000, help="Commands in a slice.")
@_size("--repetitions", default=5, help="Of every contender, turn about.")
@_size("--agent-records", default=1_500, least=150, help="Commands for the Faust agent, each time.")
@click.option("--seed", default=1, show_default=True, help="Of the text.")
def decide(as_json: bool, records: int, repetitions: int, agent_records: int, seed: int) -> None:
    """Deciding, durable and transactional, beside a bare copy loop and a plain Faust agent."""
    from eunoe.bench.decide import measure
    from eunoe.bench.decide_report import Sizes

    sizes = Sizes(records=records, repetitions=repetitions, agent_records=min(agent_records, records), seed=seed)

    async def work(ground: Ground, progress: Progress) -> Findings:
        _several_batches(records, ground.settings.decide_batch)
        return await measure(ground, sizes, progress)

    _perform(work, as_json=as_json)


@bench.command()
@_json_option
@_size("--rounds", default=20, help="Over both halves, for the time.")
def admission(as_json: bool, rounds: int) -> None:
    """What the detectors catch of the project's corpus, in both halves, and how long they look. Needs no stack."""
    from eunoe.bench.admission import measure
    from eunoe.bench.machine import describe_alone
    from eunoe.bench.showing import show
    from eunoe.runtime.principals import sample_development_policy

    document = measure(sample_development_policy(), rounds).document(describe_alone())
    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False))
    else:
        show(document)


@bench.command()
@_json_option
@_size("--records", default=8_000, help="Records in memory-lifecycle.")
@_size("--repetitions", default=5, help="Of every contender, turn about.")
@click.option("--seed", default=1, show_default=True, help="Of the text.")
def project(as_json: bool, records: int, repetitions: int, seed: int) -> None:
    """Projecting into `recall` beside a pipeline with one Redis command per posting."""
    from eunoe.bench.project import measure
    from eunoe.bench.project_report import Sizes

    sizes = Sizes(records=records, repetitions=repetitions, seed=seed)

    async def work(ground: Ground, progress: Progress) -> Findings:
        _several_batches(records, ground.settings.project_batch)
        return await measure(ground, sizes, progress)

    _perform(work, as_json=as_json)


@bench.command()
@_json_option
@click.option(
    "--records", "scopes", type=click.IntRange(min=100), multiple=True, default=(1_000, 10_000, 100_000),
    show_default=True, help="Records in a tenant's scope (repeatable).",
)  # fmt: skip
@_size("--queries", default=200, help="In each round, of each ranking.")
@_size("--rounds", default=3, help="In each scope.")
@_size("--exact", default=50, help="Queries asked again without a cap.")
@click.option("--seed", default=1, show_default=True, help="Of text and queries.")
def search(  # click hands over by name
    as_json: bool, scopes: tuple[int, ...], queries: int, rounds: int, exact: int, seed: int
) -> None:
    """Searching scopes of 1,000 to 100,000 records of Zipf-distributed text."""
    from eunoe.bench.search import SearchBench, Sizes
    from eunoe.bench.search_report import report

    sizes = Sizes(
        scopes=tuple(sorted(set(scopes))), queries=queries, rounds=rounds, exact=min(exact, queries), seed=seed
    )

    async def work(ground: Ground, progress: Progress) -> Findings:
        return report(sizes, await SearchBench(ground=ground, sizes=sizes, progress=progress).run())

    _perform(work, as_json=as_json)


@bench.command("end-to-end")
@_json_option
@_size("--backlog", default=10_000, help="Commands to measure the stages' capacity with.")
@_size("--seconds", default=30, help="How long to publish at half of it.")
@_size("--probes", default=20, help="Commands a second that are searched for.")
@_size("--partitions", default=2, help="Of the topics.")
@click.option("--seed", default=1, show_default=True, help="Of the text.")
def end_to_end(  # click hands over by name
    as_json: bool, backlog: int, seconds: int, probes: int, partitions: int, seed: int
) -> None:
    """From publishing to retrieving, at half the slowest stage's capacity."""
    from eunoe.bench.end_to_end import measure
    from eunoe.bench.end_to_end_report import Sizes

    sizes = Sizes(backlog=backlog, seconds=seconds, probes=probes, partitions=partitions, seed=seed)
    _perform(lambda ground, progress: measure(ground, sizes, progress), as_json=as_json, partitions=partitions)


@bench.command()
@_json_option
@click.option(
    "--subjects", type=click.IntRange(min=1), multiple=True, default=(1, 10, 100), show_default=True,
    help="People forgotten at once (repeatable).",
)  # fmt: skip
@_size("--records", default=3, help="Of each person.")
@_size("--repetitions", default=3, help="Of every size.")
@_size("--partitions", default=2, help="Of the topics.")
@click.option("--seed", default=1, show_default=True, help="Of the text.")
def erasure(  # click hands over by name
    as_json: bool, subjects: tuple[int, ...], records: int, repetitions: int, partitions: int, seed: int
) -> None:
    """From the command that forgets somebody to each receipt."""
    from eunoe.bench.erasure import measure
    from eunoe.bench.erasure_report import Sizes

    sizes = Sizes(
        subjects=tuple(sorted(set(subjects))),
        records=records,
        repetitions=repetitions,
        partitions=partitions,
        seed=seed,
    )
    _perform(lambda ground, progress: measure(ground, sizes, progress), as_json=as_json, partitions=partitions)


@bench.command()
@_json_option
@click.option(
    "--events", type=click.IntRange(min=500), multiple=True, default=(100_000, 1_000_000), show_default=True,
    help="Facts in memory-lifecycle (repeatable).",
)  # fmt: skip
@_size("--repetitions", default=1, help="Of every contender, in every size.")
@_size("--searches", default=300, least=20, help="Before the rebuild; while it runs there are ten a second.")
@_size("--partitions", default=4, help="Of the topics.")
@click.option("--seed", default=1, show_default=True, help="Of the facts.")
def rebuild(  # click hands over by name
    as_json: bool, events: tuple[int, ...], repetitions: int, searches: int, partitions: int, seed: int
) -> None:
    """Rebuilding `recall` and `history` beside live projecting, with searches while it runs."""
    from eunoe.bench.rebuild import measure
    from eunoe.bench.rebuild_report import Sizes

    sizes = Sizes(
        events=tuple(sorted(set(events))),
        repetitions=repetitions,
        searches=searches,
        partitions=partitions,
        seed=seed,
    )
    _perform(lambda ground, progress: measure(ground, sizes, progress), as_json=as_json, partitions=partitions)


@bench.command()
@_json_option
@click.argument("files", type=click.File("rb"), nargs=-1, required=True)
def render(as_json: bool, files: tuple[IO[bytes], ...]) -> None:
    """Markdown of results that `--json` printed, as docs/benchmarks.md has it."""
    from eunoe.bench.showing import render as rendered

    markdown = rendered(json.loads(each.read()) for each in files)
    click.echo(json.dumps({"markdown": markdown}) if as_json else markdown, nl=as_json)

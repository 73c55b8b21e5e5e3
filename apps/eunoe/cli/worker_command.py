"""`eunoe worker`: a worker in the foreground."""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from eunoe.cli.options import Call, common, run

if TYPE_CHECKING:
    from eunoe.runtime.settings import Settings
    from eunoe.worker.roles import Role


@click.command()
@click.option("--roles", help="Of decide, project, shred, attest.  [default: all; attest if its settings are there]")
@click.option(
    "--accept-bad",
    multiple=True,
    metavar="P:FROM-TO",
    help="Go on over these unusable records of partition P, as the error that stopped it says; repeatable.",
)
@click.option("--http-port", type=click.IntRange(1, 65_535), help="Of its web pages.  [default: the setting http_port]")
@common
def worker(call: Call, roles: str | None, accept_bad: tuple[str, ...], http_port: int | None) -> None:
    """Run a worker until SIGTERM or Ctrl-C. Serves /metrics, /healthz and /readyz.

    Exits 0 when told to stop, and 1 when a service died. Log lines go to stderr and hold no memory content.
    """
    from eunoe.worker.ending import end_well_when_told

    end_well_when_told()
    from eunoe.worker.app import make_worker
    from eunoe.worker.collecting import collect_rarely
    from eunoe.worker.roles import ALL, Role, parse_accepted, parse_roles

    wanted = ALL if roles is None else parse_roles(roles)
    accepted, settings = parse_accepted(accept_bad), call.settings()
    if roles is None and settings.attest_key is None:
        wanted -= {Role.ATTEST}
        call.aside.print("no EUNOE_ATTEST_KEY: this worker proves no erasures; another one with the role attest must")
    if http_port is not None:
        settings = replace(settings, http_port=http_port)
    run(_can_start(settings, wanted))
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    # aiokafka logs what it retries as errors; what it gives up on, a lane or membership of ours reports.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    for noisy in ("faust", "mode", "aiohttp"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    made = make_worker(settings, wanted, accepted)
    collect_rarely()
    made.execute_from_commandline()


async def _can_start(settings: "Settings", roles: "frozenset[Role]") -> None:
    """Say what is missing before Faust does, whose errors are tracebacks."""
    from eunoe.worker.attest import check_attest_settings
    from eunoe.worker.foundation import open_foundation
    from eunoe.worker.older_log import check_erasure_ledger
    from eunoe.worker.roles import Role

    if Role.ATTEST in roles:
        check_attest_settings(settings)
    async with open_foundation(settings) as foundation:
        await check_erasure_ledger(settings, foundation)

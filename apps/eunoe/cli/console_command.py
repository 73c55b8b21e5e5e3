"""`eunoe console`: the operators' web page."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from eunoe.cli.options import Call, common, run

if TYPE_CHECKING:
    from eunoe.console.access import Access

TOKEN_VARIABLE: Final = "EUNOE_CONSOLE_TOKEN"


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Off loopback a token is needed.")
@click.option("--port", type=click.IntRange(0, 65_535), default=6067, show_default=True, help="0: any that is free.")
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="EUNOE_CONSOLE_TOKEN_FILE",
    help=f"Holds the token that viewers must bring.  [default: the variable {TOKEN_VARIABLE}]",
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another name to answer to; repeatable.")
@common
def console(call: Call, host: str, port: int, token_file: Path | None, allow_host: tuple[str, ...]) -> None:
    """Serve a page with flow, lag, read models, switches, review, erasures, refusals and dead letters.

    Until SIGTERM or Ctrl-C. It shows figures and states, never what is remembered or about whom, and changes nothing.
    """
    from eunoe.console.serve import address_of, listening, serve
    from eunoe.console.sources import all_sources

    settings = call.settings()
    token = _token(token_file)
    _check(host, token, allow_host)
    try:
        bound = listening(host, port)
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host} port {port}: {error.strerror}") from None
    access = _access(host, bound.getsockname()[1], token, allow_host)
    address = address_of(bound)
    needed = "; a token is needed" if token else ""
    call.show({"address": address, "token_needed": token is not None}, lambda: f"{address}{needed}")
    run(serve(bound, access, all_sources(settings)))


def _token(file: Path | None) -> str | None:
    """From the file, else the variable; None without either. Never from an argument, which everybody on the machine
    can read."""
    from eunoe.console.access import BadToken, checked_token

    where = TOKEN_VARIABLE if file is None else str(file)
    text = os.environ.get(TOKEN_VARIABLE) if file is None else file.read_text("utf-8", "replace")
    if not text:
        if file is not None:
            raise click.UsageError(f"{where}: is empty")
        return None
    try:
        return checked_token(text)
    except BadToken as bad:
        raise click.UsageError(f"{where}: {bad}") from None


def _check(host: str, token: str | None, hosts: tuple[str, ...]) -> None:
    from eunoe.console.access import is_loopback

    # Who comes by another name came through a proxy, from wherever that is reached.
    away = [each for each in (host, *hosts) if not is_loopback(each)]
    if token is None and away:
        raise click.UsageError(
            f"{away[0]} may be reached from other machines, so a token is needed: set {TOKEN_VARIABLE} or name a "
            "--token-file (`openssl rand -hex 32` makes one)"
        )


def _access(host: str, port: int, token: str | None, hosts: tuple[str, ...]) -> "Access":
    from eunoe.console.access import Access

    return Access.of(host, port, token, hosts)

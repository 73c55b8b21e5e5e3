"""Two people for a policy that changes who may destroy: `eunoe policy agree`, and what `policy apply` makes of it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from eunoe.cli.options import Call, common, run
from eunoe.schemas.control import Approval

if TYPE_CHECKING:
    from eunoe.runtime.agreement import SignedBytes
    from eunoe.runtime.control_state import ControlState
    from eunoe.runtime.installation import Installation
    from eunoe.runtime.settings import Settings
    from eunoe.schemas.policy import Policy


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@common
def agree(call: Call, file: Path) -> None:
    """Agree to FILE in the place of the policy in force, under your own signature; what is printed goes to whoever
    calls `eunoe policy apply FILE --agreed …`.

    Where the policy in force asks for two people, a policy that changes who may destroy, review or export, or what that
    takes, needs as many owners of people who may erase in every tenant. Publishes nothing. Once another policy is in
    force, it counts for nothing.
    """
    from eunoe.schemas.policy_file import read_policy

    body = file.read_bytes()
    read_policy(body, str(file))
    made = run(_agree(call.settings(), body))
    click.echo(msgspec.json.encode(made))


def agreed_in(file: Path) -> Approval:
    """What `agree` printed. Raises ``click.UsageError`` where it is something else."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Approval)
    except msgspec.DecodeError as error:
        raise click.UsageError(f"{file} is not what `eunoe policy agree` prints: {error}") from None


def enough_agreed(
    settings: "Settings",
    state: "ControlState",
    installation: "Installation",
    body: bytes,
    new: "Policy",
    given: tuple[Approval, ...],
) -> tuple[Approval, ...]:
    """``given``, with the caller's own where it is needed. Raises ``ClickException`` where that is not enough."""
    from eunoe.runtime.agreement import missing_for_policy, owners_of
    from eunoe.schemas.control import POLICY

    def missing(approvals: tuple[Approval, ...]) -> str | None:
        return missing_for_policy(approvals, body, state.in_force(POLICY), state.policy, new, installation.log_id)

    problem, approvals = missing(given), given
    if problem is not None:
        signed = _signed(state, installation, body)
        mine = _mine(settings, signed)
        if mine is not None and owners_of((mine,), signed, state.policy) - owners_of(given, signed, state.policy):
            approvals = (*given, mine)
            problem = missing(approvals)
    if problem is None:
        return approvals
    said = f"{new.title}, version {new.version}, is not published: {problem}"
    raise click.ClickException(f"{said} (each runs `eunoe policy agree FILE`; --agreed names what it printed)")


def _mine(settings: "Settings", signed: "SignedBytes") -> Approval | None:
    from eunoe.crypto.errors import SecretUnusable
    from eunoe.runtime.clock import SystemClock
    from eunoe.runtime.principals import approval

    try:
        who, now = settings.principal, SystemClock().now()
        return None if who is None else approval(settings, who, now, signed)
    except (ValueError, SecretUnusable):
        return None  # the caller only publishes, and others agree


def _signed(state: "ControlState", installation: "Installation", body: bytes) -> "SignedBytes":
    from eunoe.schemas.control import POLICY, signed_policy_bytes

    replaces = state.in_force(POLICY)
    return lambda approval: signed_policy_bytes(body, replaces, approval, installation.log_id)


async def _agree(settings: "Settings", body: bytes) -> Approval:
    from eunoe.runtime.agreement import owner_of
    from eunoe.runtime.clock import SystemClock
    from eunoe.runtime.control import following_control
    from eunoe.runtime.installation import read_installation
    from eunoe.runtime.principals import approval
    from eunoe.runtime.settings import SettingProblem, SettingsError

    if settings.principal is None:
        raise SettingsError((SettingProblem("EUNOE_PRINCIPAL", "must say who agrees (--as NAME)"),))
    installation = await read_installation(settings.brokers, settings.topics)
    async with following_control(settings.brokers, installation, settings.control_signers) as follower:
        signed = _signed(follower.state, installation, body)
        try:
            made = approval(settings, settings.principal, SystemClock().now(), signed)
            owner_of(made, signed, follower.state.policy)
        except ValueError as refused:
            raise click.ClickException(str(refused)) from None
        return made

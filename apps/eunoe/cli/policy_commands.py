"""`eunoe policy`: publish, check, show and try the policy."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.options import Call, common, run
from eunoe.cli.policy_agreement import agree, agreed_in, enough_agreed
from eunoe.cli.policy_reevaluation import reevaluate
from eunoe.cli.policy_simulation import simulate
from eunoe.cli.policy_tables import effective, effective_text

if TYPE_CHECKING:
    from eunoe.runtime.control import ControlFollower
    from eunoe.runtime.control_state import ControlState
    from eunoe.runtime.settings import Settings
    from eunoe.schemas.control import Approval
    from eunoe.schemas.ids import Offset
    from eunoe.schemas.policy import Policy

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_file = click.argument("file", type=_FILE)


@click.group()
def policy() -> None:
    """The policy that decides every write."""


policy.add_command(agree)
policy.add_command(simulate)
policy.add_command(reevaluate)


_elsewhere = click.option(
    "--other-detectors", is_flag=True, help="The workers have detectors that are not installed here."
)


class PolicyGaps(click.ClickException):
    """The policy speaks of detectors that nobody here has."""


@policy.command()
@_file
@_elsewhere
@common
def check(call: Call, file: Path, other_detectors: bool) -> None:
    """Validate FILE: every problem with its line, and every detector or class it names that there is not.

    What is allowed and dangerous is a warning. Publishes nothing.
    """
    from eunoe.client.policy_dangers import dangers_of

    checked = _read(file, file.read_bytes())
    _check_gaps(checked, other_detectors)
    warnings = dangers_of(checked)
    said = [f"warning: {each}" for each in warnings]
    said.append(f"{file} is valid: version {checked.version}, {checked.title}.")
    call.show({**_document(checked), "warnings": list(warnings)}, lambda: "\n".join(said))


@policy.command()
@_file
@click.option("--reason", help="Why, for the log.")
@click.option("--agreed", multiple=True, type=_FILE, metavar="FILE", help="What `eunoe policy agree` printed.")
@_elsewhere
@common
def apply(call: Call, file: Path, reason: str | None, agreed: tuple[Path, ...], other_detectors: bool) -> None:
    """Publish FILE, signed with the installation's control key, in place of the policy in force now.

    Needs the right to operate on every tenant under the policy in force, whatever FILE grants; the first policy of an
    installation needs the key alone. One that changes who may destroy, or what that takes, needs two people, where the
    policy in force asks for two: see `eunoe policy agree`. Its version must be above that in force. The file that is in
    force already is not published again.
    """
    body = file.read_bytes()
    read = _read(file, body)
    _check_gaps(read, other_detectors)
    given = tuple(agreed_in(each) for each in agreed)
    offset, published = run(_apply(call.settings(), read, body, reason, given))
    said = "is in force" if published else "is in force already; nothing was published. It is"
    call.show(
        {**_document(read), "control_offset": offset, "published": published},
        lambda: (
            f"Version {read.version} ({read.title}) {said} from control offset {offset}.\n"
            "What is stored already is judged by it with `eunoe policy reevaluate --tenant TENANT`."
        ),
    )


@policy.command()
@common
def show(call: Call) -> None:
    """The policy in force: its file, as it was published, and what holds where it says nothing."""
    state = run(_state(call.settings()))
    if state.policy is None:
        raise click.ClickException("no policy is in force; publish one with `eunoe policy apply FILE`")
    text = state.adopted["policy"].record.body.decode()
    found = state.policy
    document = {
        **_document(found),
        "control_offset": state.in_force("policy"),
        "text": text,
        "effective": effective(found),
    }
    call.show(document, lambda: f"{text}\n{effective_text(found)}")


def _check_gaps(policy: "Policy", other_detectors: bool) -> None:
    from eunoe.client.policy_gaps import gaps_of

    if not other_detectors and (gaps := gaps_of(policy)):
        raise PolicyGaps("\n".join((*gaps, "(--other-detectors, where only the workers have them)")))


def _read(file: Path, body: bytes) -> "Policy":
    from eunoe.schemas.policy_file import read_policy

    return read_policy(body, str(file))


def _document(found: "Policy") -> dict[str, Any]:
    return {"version": found.version, "title": found.title, "hash": found.hash}


async def _state(settings: "Settings") -> "ControlState":
    from eunoe.runtime.control import following_control
    from eunoe.runtime.installation import read_installation

    installation = await read_installation(settings.brokers, settings.topics)
    async with following_control(settings.brokers, installation, settings.control_signers) as follower:
        return follower.state


def _check_right(follower: "ControlFollower", settings: "Settings") -> None:
    from eunoe.client.switching import SwitchRefused, may_operate
    from eunoe.runtime.settings import SettingProblem, SettingsError

    if settings.principal is None:
        raise SettingsError((SettingProblem("EUNOE_PRINCIPAL", "must say who calls (--as NAME)"),))
    try:
        may_operate(follower, settings, settings.principal)
    except SwitchRefused as refused:
        said = f"{settings.principal} may not change the policy: {refused.reason} (the right to operate)"
        raise click.ClickException(said) from None


async def _apply(
    settings: "Settings", new: "Policy", body: bytes, reason: str | None, given: "tuple[Approval, ...]"
) -> "tuple[Offset, bool]":
    """From which control offset it is in force, and whether this call put it there."""
    from eunoe.runtime.clock import SystemClock
    from eunoe.runtime.control import following_control, publish_control
    from eunoe.runtime.installation import read_installation
    from eunoe.runtime.policy_version import would_change
    from eunoe.runtime.principals import control_signer
    from eunoe.runtime.settings import SettingProblem, SettingsError
    from eunoe.schemas.control import POLICY

    if settings.control_key is None:
        raise SettingsError((SettingProblem("EUNOE_CONTROL_KEY", "must name the key that signs control records"),))
    signer = control_signer(settings.control_key)
    installation = await read_installation(settings.brokers, settings.topics)
    async with following_control(settings.brokers, installation, settings.control_signers) as follower:
        if not would_change(follower.state, new):
            return follower.state.in_force(POLICY), False
        if follower.state.policy is not None:
            _check_right(follower, settings)
        approvals = enough_agreed(settings, follower.state, installation, body, new, given)
        state = await publish_control(
            settings.brokers,
            follower,
            installation,
            signer=signer,
            clock=SystemClock(),
            name=POLICY,
            body=body,
            reason=reason,
            by=settings.principal,
            approvals=approvals,
        )
        return state.in_force(POLICY), True

"""Putting a policy or a switch in force as an operator does, without the command line."""

from eunoe.runtime.clock import SystemClock
from eunoe.runtime.control import following_control, publish_control
from eunoe.runtime.installation import Installation
from eunoe.runtime.principals import control_signer
from eunoe.runtime.settings import Settings


async def put_in_force(
    settings: Settings, installation: Installation, name: str, body: bytes, reason: str | None = None
) -> None:
    """``body`` under ``name`` on ``memory-control``. Returns once it is written; who follows it adopts it after."""
    assert settings.control_key is not None
    async with following_control(settings.kafka, installation, settings.control_signers) as follower:
        await publish_control(
            settings.kafka,
            follower,
            installation,
            signer=control_signer(settings.control_key),
            clock=SystemClock(),
            name=name,
            body=body,
            reason=reason,
        )


def changed(text: str, *changes: tuple[str, str]) -> str:
    """``text`` with each first ``old`` replaced by its ``new``; all of them are there."""
    for old, new in changes:
        assert old in text, f"no {old!r}"
        text = text.replace(old, new, 1)
    return text

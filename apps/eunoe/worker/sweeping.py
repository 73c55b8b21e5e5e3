"""Sends the sweeper's proposals: commands like any other, under the sweeper's own principal and secret."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from eunoe.processors.sweeper import Publish
from eunoe.runtime.principals import SWEEPER, secrets_of
from eunoe.runtime.publish import CommandPublisher, NotSent
from eunoe.runtime.signing import EnvelopeMaker, Signers
from eunoe.worker.foundation import Foundation

log = logging.getLogger(__name__)

_VALID_MS: Final = 3_600_000
"""How long a proposal may wait to be judged: several windows, so that a backlog does not make it a dead letter."""
_CLOSE_S: Final = 1.0
"""A worker does not wait longer for what is proposed again by whoever sweeps next."""


@asynccontextmanager
async def sweeper_publisher(foundation: Foundation) -> AsyncIterator[Publish]:
    """What the sweepers publish with. Raises ``SecretUnusable`` where the sweeper's secret cannot be read."""
    settings, installation = foundation.settings, foundation.installation
    signers = Signers(SWEEPER, secrets_of(settings, SWEEPER))
    envelopes = EnvelopeMaker(installation, signers, foundation.clock, _VALID_MS)
    publisher = CommandPublisher(settings.brokers, installation, envelopes, settings.delivery_timeout, _CLOSE_S)
    try:
        await publisher.start()
        yield publisher.publish
    finally:
        try:
            await publisher.stop()
        except NotSent as unsent:
            log.info("the sweeper closes: %s; it is proposed again", unsent)

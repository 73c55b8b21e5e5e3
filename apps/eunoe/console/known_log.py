"""Which installation this is, read once for all parts, and noticed when it becomes another one."""

import asyncio
import time
from typing import Final

from aiokafka.errors import KafkaError

from eunoe.runtime.errors import RuntimeFault
from eunoe.runtime.installation import Installation, read_installation
from eunoe.runtime.settings import Settings

_FRESH_S: Final = 10.0
_FAILED_S: Final = 1.0
"""So long a failure is told to everybody who asks: else each part would wait for the broker after the one before."""
_WAIT_S: Final = 5.0


class LogChanged(Exception):
    """The topics were recreated: what is open looks at a log that is no more."""


class KnownLog:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = asyncio.Lock()
        self._found: Installation | None = None
        self._at = 0.0
        self._failed: tuple[float, RuntimeFault | KafkaError] | None = None

    async def read(self) -> Installation:
        """As it is, at most some seconds ago. Raises what `read_installation` raises."""
        async with self._lock:
            if self._failed is not None and time.monotonic() - self._failed[0] < _FAILED_S:
                raise self._failed[1]
            if self._found is None or time.monotonic() - self._at > _FRESH_S:
                try:
                    self._found = await read_installation(self._settings.brokers, self._settings.topics, _WAIT_S)
                except (RuntimeFault, KafkaError) as error:
                    self._failed = (time.monotonic(), error)
                    raise
                self._at = time.monotonic()
            return self._found

    @property
    def current(self) -> Installation | None:
        """As last read; None before the first time."""
        return self._found

    def still(self, installation: Installation) -> None:
        """Raises `LogChanged` where another one is known by now."""
        if self._found is not None and self._found.log_id != installation.log_id:
            raise LogChanged

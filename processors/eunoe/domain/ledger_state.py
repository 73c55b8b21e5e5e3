"""The ledger as a fold: which entries a command asks for, and what an event makes of the entries it touches.

Both `wanted` and `folds` are asked again with what was loaded until they want nothing more: the first answer is what
the command or event itself names, a later one what a loaded record names (its subjects, the record it would replace).
"""

from collections.abc import Mapping

from eunoe.domain.entries import Entry, LedgerKey
from eunoe.domain.known import Known
from eunoe.schemas.commands import Command
from eunoe.schemas.events import Event
from eunoe.schemas.ids import CommandId

Entries = Mapping[LedgerKey, Entry | None]
"""What was loaded; None: looked for and not there."""


def wanted(command_id: CommandId, command: Command, entries: Entries) -> tuple[LedgerKey, ...]:
    """The keys still missing from ``entries`` to judge the command; empty when it can be judged."""
    raise NotImplementedError


def known(command_id: CommandId, command: Command, entries: Entries) -> Known:
    """What `decide` is told, once `wanted` is empty."""
    raise NotImplementedError


def folds(event: Event, entries: Entries) -> tuple[LedgerKey, ...]:
    """The keys still missing from ``entries`` to fold the event; always a part of what its command wanted."""
    raise NotImplementedError


def fold(entries: Entries, event: Event) -> dict[LedgerKey, Entry]:
    """The new values of all entries the event changes. Raises `ImpossibleFact`."""
    raise NotImplementedError

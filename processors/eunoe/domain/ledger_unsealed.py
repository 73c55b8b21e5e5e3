"""What a draft asks of the ledger once its body was opened: who makes its claim, and was its value forgotten before.

Both are told by digests that are keyed under the subject's root, so neither can be asked before, nor after the person
was forgotten.
"""

from msgspec.structs import replace

from eunoe.domain.entries import ForgottenValue, LedgerKey, value_key
from eunoe.domain.known import Digests, Known
from eunoe.domain.ledger_indexes import contesting
from eunoe.domain.ledger_questions import with_rivals
from eunoe.domain.ledger_records import Entries, find
from eunoe.schemas.commands import Command, CorrectMemory, RememberMemory, RestoreMemory


def unsealed(command: Command, known: Known, digests: Digests | None, entries: Entries) -> tuple[LedgerKey, ...]:
    """The keys still missing from ``entries``; asked again until empty. ``known``: from before the body was opened."""
    if digests is None:
        return ()
    missing = contesting(command.tenant, digests, entries)
    value = _value(command, known, digests)
    return missing if value is None or value in entries else (*missing, value)


def with_unsealed(known: Known, command: Command, digests: Digests | None, entries: Entries) -> Known:
    """``known`` with what `unsealed` asked for."""
    if digests is None:
        return known
    value = _value(command, known, digests)
    forgotten = value is not None and find(entries, value, ForgottenValue) is not None
    return replace(with_rivals(known, command, digests, entries), value_forgotten=forgotten)


def _value(command: Command, known: Known, digests: Digests) -> LedgerKey | None:
    """Asked only about people of whom something was forgotten: for everybody else it would be one more round trip."""
    if not isinstance(command, RememberMemory | CorrectMemory | RestoreMemory) or not digests.content_hash:
        return None
    if known.subject is None or not known.subject.forgotten_values:
        return None
    return value_key(command.tenant, digests.content_hash)

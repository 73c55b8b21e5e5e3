"""What of a record leaves one installation and enters another: one fact, in the form that is signed.

Left out is what belongs to an installation: pseudonyms, generations, keys, sealed bytes, positions. What they stand for
is in: the plain names, the text, and who decided it when. Whoever exports makes the statement from the log, whoever
decides an import makes it again from the command and the opened body: equal bytes, or the signature does not fit.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from eunoe.schemas.canonical_json import canonical_json
from eunoe.schemas.commands import Draft, MemoryBody
from eunoe.schemas.ids import MemoryId, TenantId
from eunoe.schemas.restored import Restored

_OF_INSTALLATION: Final = frozenset(
    {"memory_id", "subject", "generation", "about", "key_id", "body_version", "body", "confidence"}
)


def restored_statement(
    tenant: TenantId, memory_id: MemoryId, draft: Draft | None, body: MemoryBody | None, restored: Restored
) -> dict[str, Any]:
    """``draft`` and ``body``: of the fact that begins a record. The confidence is text: a fraction has no one form."""
    return {
        "tenant": tenant,
        "memory_id": memory_id,
        "draft": None if draft is None else _draft(draft),
        "body": None if body is None else _body(body),
        "fact": msgspec.to_builtins(restored),
    }


def restored_bytes(
    tenant: TenantId, memory_id: MemoryId, draft: Draft | None, body: MemoryBody | None, restored: Restored
) -> bytes:
    """What is signed of it, without its label."""
    salt = "" if body is None else body.salt
    return salted(restored_statement(tenant, memory_id, draft, body, restored), salt)


def salted(statement: Mapping[str, Any], salt: str) -> bytes:
    """A signature lies in the clear as long as commands are kept. Were it over the statement alone, whoever guesses the
    text could try it against the signature after the text was destroyed; the salt is sealed with the text.
    """
    return canonical_json({"statement": statement, "salt": salt})


def _body(body: MemoryBody) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(body)
    return {name: value for name, value in plain.items() if name != "salt"}


def _draft(draft: Draft) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(draft)
    kept = {name: value for name, value in plain.items() if name not in _OF_INSTALLATION}
    return kept | {"confidence": repr(draft.confidence)}

"""The ids of eunoe, each a type of its own, and how they are made.

Ids are text in canonical form: they are keys in Redis and in JSON far more often than they are numbers. New ids are
UUIDv7 (time-ordered); an id that must come out the same twice is a uuid5 of what it depends on.
"""

import hashlib
import re
import secrets
import time
import uuid
from typing import Final, NewType

TenantId = NewType("TenantId", str)
AgentId = NewType("AgentId", str)
MemoryId = NewType("MemoryId", str)
CommandId = NewType("CommandId", str)
MessageId = NewType("MessageId", str)
EventId = NewType("EventId", str)
KeyId = NewType("KeyId", str)
LogId = NewType("LogId", str)
PrincipalName = NewType("PrincipalName", str)
SecretId = NewType("SecretId", str)
Pseudonym = NewType("Pseudonym", str)
"""A subject as the log knows it: 32 hex digits, keyed under the tenant key. Never the subject's own name."""
Bucket = NewType("Bucket", str)
"""What a data key serves beside its subject: a month of ``expires_at`` (``2027-05``) or one record (its memory id)."""
Partition = NewType("Partition", int)
Offset = NewType("Offset", int)
Millis = NewType("Millis", int)
"""An instant: milliseconds since 1970-01-01T00:00:00Z."""

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_INCARNATION: Final = re.compile(_NAME.pattern + r"#(?:[2-9]|[1-9][0-9]{1,5})")
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
NIL: Final = "00000000-0000-0000-0000-000000000000"
"""In the form of a UUID and the id of nothing: what a program sends that forgot to set one."""
_NAMESPACE: Final = uuid.UUID("6f1d3c1e-6f0a-5c0f-9b0e-0d7f5d6c6e01")


def is_name(text: str) -> bool:
    """Whether ``text`` may name a tenant, agent, purpose, principal or surface; matched whole, never as a prefix."""
    return _NAME.fullmatch(text) is not None


def incarnation_name(tenant: TenantId, incarnation: int) -> TenantId:
    """What a policy calls an incarnation of a tenant: ``acme`` the first, ``acme#2`` the second."""
    return tenant if incarnation == 1 else TenantId(f"{tenant}#{incarnation}")


def tenant_of(name: TenantId) -> TenantId:
    """The tenant in an `incarnation_name`."""
    return TenantId(name.partition("#")[0])


def is_incarnation_name(text: str) -> bool:
    """Whether `incarnation_name` could have made it of a tenant's name."""
    return is_name(text) or _INCARNATION.fullmatch(text) is not None


def is_uuid(text: str) -> bool:
    """Whether ``text`` is a UUID in canonical lower-case form that may be an id: any but the nil UUID."""
    return _UUID.fullmatch(text) is not None and text != NIL


def uuid7(at: Millis, random: bytes) -> str:
    """A UUIDv7 (RFC 9562 §5.7) of the instant ``at`` and ten random bytes."""
    value = (at & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(random[:10], "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


def new_id() -> str:
    """A fresh UUIDv7 from the wall clock. For the edges (producer, decider's shell); pure code is handed its ids."""
    return uuid7(Millis(time.time_ns() // 1_000_000), secrets.token_bytes(10))


def derived_id(*parts: str) -> str:
    """The uuid5 of ``parts``: the same parts, the same id, in every process.

    Written out (RFC 9562 §5.5), for it is made for every event: `uuid.uuid5` took two to five times as long (measured).
    """
    name = hashlib.sha1(_NAMESPACE.bytes + "\x1f".join(parts).encode(), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(name[16], 16) & 3]
    return f"{name[:8]}-{name[8:12]}-5{name[13:16]}-{variant}{name[17:20]}-{name[20:32]}"

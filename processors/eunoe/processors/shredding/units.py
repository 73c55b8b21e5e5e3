"""What is to be destroyed, in units: a key, the key of one record, all of a subject's generation, all of a tenant."""

from typing import assert_never

from msgspec import Struct

from eunoe.schemas.ids import KeyId, MemoryId, Pseudonym, TenantId

_SEPARATOR = "|"
"""In no name, id, pseudonym or number."""


class OneKey(Struct, frozen=True):
    """A key whose time is over: of a month, of a day."""

    key_id: KeyId


class OneRecord(Struct, frozen=True):
    """The key that serves this record alone, if it has one."""

    tenant: TenantId
    memory_id: MemoryId


class Generation(Struct, frozen=True):
    """Every key of the generation, and of every single record that is about the person."""

    tenant: TenantId
    subject: Pseudonym
    generation: int


class Incarnation(Struct, frozen=True):
    """Every key that this incarnation of a tenant was ever given, its own too."""

    tenant: TenantId
    number: int


Unit = OneKey | OneRecord | Generation | Incarnation


def member(unit: Unit) -> str:
    """The unit as a member of a Redis set; `unit_of` reads it."""
    match unit:
        case OneKey(key_id):
            return _SEPARATOR.join(("k", key_id))
        case OneRecord(tenant, memory_id):
            return _SEPARATOR.join(("m", tenant, memory_id))
        case Generation(tenant, subject, generation):
            return _SEPARATOR.join(("g", tenant, subject, str(generation)))
        case Incarnation(tenant, number):
            return _SEPARATOR.join(("t", tenant, str(number)))
        case _:
            assert_never(unit)


def unit_of(text: str) -> Unit:
    """Raises ValueError for what `member` did not make."""
    match text.split(_SEPARATOR):
        case ["k", key_id]:
            return OneKey(KeyId(key_id))
        case ["m", tenant, memory_id]:
            return OneRecord(TenantId(tenant), MemoryId(memory_id))
        case ["g", tenant, subject, generation]:
            return Generation(TenantId(tenant), Pseudonym(subject), int(generation))
        case ["t", tenant, number]:
            return Incarnation(TenantId(tenant), int(number))
    raise ValueError("not a unit of work")

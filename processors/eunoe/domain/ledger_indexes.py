"""Who makes a claim or says the same words: the indexes of the ledger, and the records that they lead to."""

from eunoe.domain.entries import ClaimState, LedgerKey, claim_key, memory_key, words_key
from eunoe.domain.known import Digests
from eunoe.domain.ledger_records import Entries, find, of_record, record, record_closed
from eunoe.domain.memory import MemoryState
from eunoe.schemas.ids import MemoryId, TenantId


def contesting(tenant: TenantId, digests: Digests | None, entries: Entries) -> tuple[LedgerKey, ...]:
    """The keys still missing from ``entries`` to know who makes this claim or says these words already: asked again
    until empty.

    What a draft says is sealed, so it is known only once the body was opened.
    """
    if digests is None:
        return ()
    keys = of_claim(tenant, digests.claim_ref, entries)
    if digests.content_hash:
        keys += of_index(tenant, words_key(tenant, digests.content_hash), entries)
    return tuple(key for key in keys if key not in entries)


def of_claim(tenant: TenantId, claim_ref: bytes | None, entries: Entries) -> list[LedgerKey]:
    """`of_index` of a claim; none where none is made."""
    if claim_ref is None:
        return []
    return of_index(tenant, claim_key(tenant, claim_ref), entries)


def of_index(tenant: TenantId, index: LedgerKey, entries: Entries) -> list[LedgerKey]:
    """The index, the records in it, and what each of these names in turn: as far as is loaded."""
    keys = [index]
    if index in entries:
        for each in _members(index, entries):
            key = memory_key(tenant, each)
            keys.append(key)
            if key in entries:
                keys += of_record(find(entries, key, MemoryState), entries)
    return keys


def _members(index: LedgerKey, entries: Entries) -> tuple[MemoryId, ...]:
    claim = find(entries, index, ClaimState)
    return () if claim is None else claim.members


def rivals(
    tenant: TenantId, claim_ref: bytes | None, entries: Entries, without: set[MemoryId]
) -> tuple[MemoryState, ...]:
    """The readable records that make the claim, once `contesting` is empty."""
    return () if claim_ref is None else readable(tenant, claim_key(tenant, claim_ref), entries, without)


def readable(tenant: TenantId, index: LedgerKey, entries: Entries, without: set[MemoryId]) -> tuple[MemoryState, ...]:
    """The records in an index of which nobody was forgotten."""
    found = (record(entries, tenant, each) for each in _members(index, entries) if each not in without)
    return tuple(each for each in found if each is not None and not record_closed(each, entries))

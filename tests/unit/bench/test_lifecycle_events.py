"""The story that is rebuilt: its shares, and that keys and records fit together."""

from collections import Counter

import pytest

from eunoe.bench.derived_keys import DerivedKeys, is_forgotten
from eunoe.bench.lifecycle_events import LifecycleEvents, ZipfTenants
from eunoe.crypto.errors import KeyClosed
from eunoe.runtime.clock import SystemClock
from eunoe.schemas.events import MemoryAccepted, SubjectForgotten
from eunoe.schemas.ids import LogId, Millis, new_id


def keys() -> DerivedKeys:
    expires_at = Millis(SystemClock().now() + 90 * 86_400_000)
    return DerivedKeys(log_id=LogId(new_id()), secret=bytes(range(32)), expires_at=expires_at, closing=False)


async def test_shares_are_kept_and_whoever_must_be_is_forgotten_at_every_size() -> None:
    known = keys()
    story = LifecycleEvents(keys=known, tenants=ZipfTenants(20), seed=1)
    met: set[tuple[str, str]] = set()
    forgotten: set[tuple[str, str]] = set()
    tenants: Counter[str] = Counter()
    for total in (1_500, 3_000):
        async for event in story.up_to(total):
            tenant, fact = event.header.tenant, event.fact
            tenants[tenant] += 1
            if isinstance(fact, MemoryAccepted):
                assert (tenant, fact.draft.subject) not in forgotten, "nobody writes of the forgotten"
                met.add((tenant, fact.draft.subject))
            elif isinstance(fact, SubjectForgotten):
                forgotten.add((tenant, fact.subject))
        assert story.made == total
        assert forgotten == {each for each in met if is_forgotten(each[1])}  # type: ignore[arg-type]
    assert story.superseded / 3_000 == pytest.approx(0.05, rel=0.25)
    assert story.expired / 3_000 == pytest.approx(0.02, rel=0.35)
    assert len(forgotten) == story.forgotten > 0
    assert tenants["bench-0"] > 5 * tenants["bench-19"]


async def test_another_process_opens_what_was_sealed_until_it_is_forgotten() -> None:
    known = keys()
    story = LifecycleEvents(keys=known, tenants=ZipfTenants(20), seed=2)
    before = DerivedKeys.of(known.log_id, known.task, closing=False)
    after = DerivedKeys.of(known.log_id, known.task, closing=True)
    closed = 0
    async for event in story.up_to(2_000):
        if isinstance(event.fact, MemoryAccepted):
            draft, tenant = event.fact.draft, event.header.tenant
            claim = (tenant, draft.key_id, draft.subject, draft.generation, draft.expires_at)
            cipher = await before.keyring.data_cipher(*claim)
            assert cipher.open(draft.memory_id, draft.body_version, draft.body)
            if is_forgotten(draft.subject):
                closed += 1
                with pytest.raises(KeyClosed):
                    await after.keyring.data_cipher(*claim)
    assert closed > 0

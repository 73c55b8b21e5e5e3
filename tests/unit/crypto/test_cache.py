import pytest

from eunoe.crypto.cache import AgedCache, CacheLimits, Owner
from eunoe.schemas.ids import Millis, Pseudonym, TenantId

ACME = TenantId("acme")
ANNA: Owner = (ACME, Pseudonym("a" * 32))
BORIS: Owner = (ACME, Pseudonym("b" * 32))
OTHER: Owner = (TenantId("globex"), Pseudonym("a" * 32))


class Clock:
    now = 1_000

    def __call__(self) -> Millis:
        return Millis(self.now)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> AgedCache[str, int]:
    return AgedCache(CacheLimits(entries=3, age=100), clock)


def test_the_least_recently_used_leaves_where_the_cache_is_full(cache: AgedCache[str, int]) -> None:
    for number, key in enumerate("abc"):
        cache.put(key, number, ANNA)
    assert cache.get("a") == 0
    cache.put("d", 3, ANNA)
    assert [cache.get(key) for key in "abcd"] == [0, None, 2, 3]
    assert len(cache) == 3


def test_many_puts_stay_within_the_count(cache: AgedCache[str, int]) -> None:
    for number in range(1_000):
        cache.put(str(number % 7), number, (ACME, Pseudonym(str(number))))
        assert len(cache) <= 3
    assert len(cache._by_owner) <= 3


def test_an_entry_leaves_at_its_age_however_often_it_is_used(cache: AgedCache[str, int], clock: Clock) -> None:
    cache.put("a", 1, ANNA)
    clock.now += 99
    assert cache.get("a") == 1
    clock.now += 1
    assert cache.get("a") is None
    assert len(cache) == 0


def test_a_clock_that_steps_back_makes_nothing_younger(cache: AgedCache[str, int], clock: Clock) -> None:
    cache.put("a", 1, ANNA)
    clock.now -= 1
    assert cache.get("a") is None


def test_a_subject_leaves_at_once_and_only_it(cache: AgedCache[str, int]) -> None:
    cache.put("a", 1, ANNA)
    cache.put("b", 2, BORIS)
    cache.put("c", 3, OTHER)
    cache.drop_subject(ANNA)
    assert [cache.get(key) for key in "abc"] == [None, 2, 3]


def test_a_tenant_leaves_at_once_and_only_it(cache: AgedCache[str, int]) -> None:
    cache.put("a", 1, ANNA)
    cache.put("b", 2, (ACME, None))
    cache.put("c", 3, OTHER)
    cache.drop_tenant(ACME)
    assert [cache.get(key) for key in "abc"] == [None, None, 3]


def test_an_entry_put_again_belongs_to_its_new_owner(cache: AgedCache[str, int]) -> None:
    cache.put("a", 1, ANNA)
    cache.put("a", 2, BORIS)
    cache.drop_subject(ANNA)
    assert cache.get("a") == 2


@pytest.mark.parametrize("limits", [CacheLimits(entries=0), CacheLimits(age=0)])
def test_a_cache_without_room_is_refused(limits: CacheLimits) -> None:
    with pytest.raises(ValueError, match="at least one"):
        AgedCache[str, int](limits, Clock())

"""The document of /readyz names each item, and what fails it."""

from eunoe.worker.health import Failing, Item, readiness


def test_every_item_that_is_answered_for_is_named() -> None:
    found = readiness((Item.STARTED, Item.MOVING), ())
    assert found == {"ready": True, "items": {"started": True, "moving": True}, "problems": [], "failing": []}


def test_what_fails_is_named_with_its_place_and_reason() -> None:
    found = readiness((Item.STARTED,), (Failing(Item.MOVING, "recall partition 3", "has not moved for 50 s"),))
    assert not found["ready"]
    assert found["items"] == {"started": True, "moving": False}
    assert found["problems"] == ["recall partition 3: has not moved for 50 s"]
    assert found["failing"] == [{"item": "moving", "where": "recall partition 3", "why": "has not moved for 50 s"}]

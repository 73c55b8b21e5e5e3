"""The document of /readyz names each item, and what fails it."""

import pytest

from eunoe.runtime.settings import SettingsError, load_settings
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


def test_a_partition_may_not_be_called_stuck_before_a_killed_broker_can_be_back() -> None:
    assert load_settings({"EUNOE_STUCK_AFTER": "PT31S"}).stuck_after == 31_000
    with pytest.raises(SettingsError, match="EUNOE_STUCK_AFTER: must be longer than PT30S"):
        load_settings({"EUNOE_STUCK_AFTER": "PT30S"})

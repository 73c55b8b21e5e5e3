"""What is in force: only what a control signer signed for this log, made against what is in force."""

from dataclasses import replace as with_fields

import msgspec
import pytest
from msgspec.structs import replace

from eunoe.crypto.signatures import Ed25519Signer
from eunoe.runtime.control_state import NOTHING, ControlState, Ignored, after, signers_of, switch_body
from eunoe.runtime.principals import sample_development_text
from eunoe.runtime.setting_values import ControlSigner
from eunoe.schemas.control import POLICY, ControlRecord, Switch, signed_control_bytes
from eunoe.schemas.ids import LogId, Millis, Offset, SecretId, TenantId, new_id
from eunoe.schemas.values import Writing
from eunoe.testing.samples import SAMPLE_TIME

DEVELOPMENT = sample_development_text()
LOG = LogId(new_id())
OURS = Ed25519Signer(SecretId("control-1"), b"1" * 32)
THEIRS = Ed25519Signer(SecretId("control-1"), b"2" * 32)
STRANGER = Ed25519Signer(SecretId("stranger"), b"3" * 32)
SIGNERS = signers_of((ControlSigner(OURS.secret_id, OURS.verifier().public),))
ACME, OTHER = TenantId("acme"), TenantId("other")
OFF = switch_body(Switch(reads=False, writes=False))


def signed(
    name: str, body: bytes, replaces: int = NOTHING, by: Ed25519Signer = OURS, log: LogId = LOG
) -> ControlRecord:
    record = ControlRecord(
        name=name,
        body=body,
        replaces=Offset(replaces),
        made_at=Millis(SAMPLE_TIME),
        signer=by.secret_id,
        signature=b"",
    )
    return replace(record, signature=by.sign(signed_control_bytes(record, log)))


def adopt(state: ControlState, offset: int, record: ControlRecord) -> ControlState:
    found = after(state, Offset(offset), record, LOG, SIGNERS)
    assert isinstance(found, ControlState), found
    return found


def ignored(state: ControlState, offset: int, record: ControlRecord) -> str:
    found = after(state, Offset(offset), record, LOG, SIGNERS)
    assert isinstance(found, Ignored)
    return found.problem


def test_reads_and_writes_are_allowed_until_a_switch_says_otherwise() -> None:
    state = ControlState()
    assert state.reads_allowed(ACME)
    assert state.writing(ACME) is Writing.ON


def test_a_switch_is_for_one_tenant_and_for_one_direction() -> None:
    state = adopt(ControlState(), 0, signed("switch/acme", switch_body(Switch(writes=False))))
    assert (state.reads_allowed(ACME), state.writing(ACME)) == (True, Writing.OFF)
    assert (state.reads_allowed(OTHER), state.writing(OTHER)) == (True, Writing.ON)


def test_a_switch_for_all_holds_beside_a_tenants_own() -> None:
    state = adopt(ControlState(), 0, signed("switch/*", switch_body(Switch(reads=False))))
    state = adopt(state, 1, signed("switch/acme", switch_body(Switch(reads=True, writes=False))))
    assert (state.reads_allowed(ACME), state.writing(ACME)) == (False, Writing.OFF)
    assert (state.reads_allowed(OTHER), state.writing(OTHER)) == (False, Writing.ON)


def test_of_two_made_against_the_same_the_first_wins() -> None:
    state = adopt(ControlState(), 4, signed("switch/acme", OFF))
    assert "stale: made against offset -1, but 4 is in force" in ignored(state, 5, signed("switch/acme", OFF))
    state = adopt(state, 6, signed("switch/acme", switch_body(Switch()), replaces=4))
    assert state.reads_allowed(ACME)
    assert state.in_force("switch/acme") == 6


def test_a_record_against_one_that_never_was_is_stale() -> None:
    assert "stale" in ignored(ControlState(), 0, signed("switch/acme", OFF, replaces=7))


def test_names_are_replaced_each_by_itself() -> None:
    state = adopt(ControlState(), 0, signed("switch/acme", OFF))
    state = adopt(state, 1, signed("switch/other", OFF))
    assert state.in_force("switch/acme") == 0
    assert state.in_force("switch/other") == 1
    assert state.in_force(POLICY) == NOTHING


@pytest.mark.parametrize("by", [THEIRS, STRANGER])
def test_who_is_no_control_signer_changes_nothing(by: Ed25519Signer) -> None:
    adopt(ControlState(), 0, signed("switch/acme", OFF))
    assert "not signed by" in ignored(ControlState(), 0, signed("switch/acme", OFF, by=by))


def test_a_record_signed_for_another_log_changes_nothing() -> None:
    assert "not signed by" in ignored(ControlState(), 0, signed("switch/acme", OFF, log=LogId(new_id())))


@pytest.mark.parametrize(
    "change",
    [{"name": "switch/*"}, {"body": b"{}"}, {"replaces": 3}, {"reason": "x"}, {"made_at": 1}, {"signature": b""}],
)
def test_every_field_is_under_the_signature(change: dict[str, object]) -> None:
    record = signed("switch/acme", OFF)
    tampered = msgspec.structs.replace(record, **change)
    assert "not signed by" in ignored(ControlState(), 0, tampered)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        (POLICY, b"version = 1\n"),
        (POLICY, b"\xff\xff"),
        (POLICY, DEVELOPMENT.replace("version = 1", f"version = {2**64}").encode()),
        (POLICY, b"a = " + b"[" * 100_000),
        ("switch/acme", b"off"),
        ("switch/acme", b'{"reads": "no"}'),
        ("switch/acme", b""),
        ("switch/a b", OFF),
        ("switch/", OFF),
        ("", OFF),
        ("surprise", OFF),
    ],
)
def test_a_record_that_is_not_valid_leaves_the_old_one_in_force(name: str, body: bytes) -> None:
    state = adopt(ControlState(), 0, signed("switch/acme", OFF))
    assert ignored(state, 1, signed(name, body, replaces=state.in_force(name)))
    assert not state.reads_allowed(ACME)


def test_a_policy_that_is_valid_comes_into_force() -> None:
    """The control of the one above."""
    state = adopt(ControlState(), 0, signed(POLICY, DEVELOPMENT.encode()))
    assert state.policy is not None


def test_a_snapshot_never_changes() -> None:
    state = adopt(ControlState(), 0, signed("switch/acme", OFF))
    adopt(state, 1, signed("switch/acme", switch_body(Switch()), replaces=0))
    assert not state.reads_allowed(ACME)
    with pytest.raises((AttributeError, TypeError)):
        state.switches["acme"] = Switch()  # type: ignore[index]  # that is what is tested
    assert with_fields(state) == state


def test_a_switch_of_one_purpose_holds_for_that_purpose_alone() -> None:
    state = adopt(ControlState(), 0, signed("switch/acme/sales", switch_body(Switch(reads=False, writes=False))))
    assert (state.reads_allowed(ACME, "sales"), state.writing(ACME, ("sales",))) == (False, Writing.OFF)
    assert (state.reads_allowed(ACME, "support"), state.writing(ACME, ("support",))) == (True, Writing.ON)
    assert state.writing(ACME, ("support", "sales")) is Writing.OFF
    assert (state.reads_allowed(ACME), state.reads_allowed(OTHER, "sales")) == (True, True)
    state = adopt(state, 1, signed("switch/*/support", switch_body(Switch(observe=True))))
    assert state.writing(OTHER, ("support",)) is Writing.OBSERVE
    assert state.writing(ACME, ("support", "sales")) is Writing.OFF


@pytest.mark.parametrize("name", ["switch/acme/", "switch/acme/a b", "switch/a/b/c", "switch//sales"])
def test_a_switch_of_a_bad_name_changes_nothing(name: str) -> None:
    assert ignored(ControlState(), 0, signed(name, switch_body(Switch(reads=False))))

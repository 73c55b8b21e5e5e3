"""An envelope says who sends a command, and its MAC covers everything that it says."""

from typing import Any

import pytest
from msgspec.structs import replace

from eunoe.crypto.signatures import Ed25519Signer, HmacSecret
from eunoe.runtime.clock import ManualClock
from eunoe.runtime.installation import Installation
from eunoe.runtime.signing import RECORD_LIMIT, EnvelopeMaker, MissingSecret, RecordTooLarge, Signers
from eunoe.schemas.codec import COMMANDS, ENVELOPES
from eunoe.schemas.commands import (
    Command,
    ConfirmMemory,
    ExpireMemory,
    ForgetMemory,
    ForgetSubject,
    IssueKey,
    PromoteMemory,
    ReadmitSubject,
    RejectMemory,
    RememberMemory,
    RetractMemory,
)
from eunoe.schemas.envelope import signed_bytes
from eunoe.schemas.ids import CommandId, LogId, MemoryId, Millis, PrincipalName, Pseudonym, SecretId, TenantId
from eunoe.schemas.topics import TopicNames
from eunoe.testing.samples import sample_draft

TOPIC = "p-memory-events"
INSTALLATION = Installation(
    log_id=LogId("018f0000-0000-7000-8000-000000000001"), partitions=2, names=TopicNames(prefix="p-")
)
ANNA = PrincipalName("anna")
NOW = Millis(1_796_000_000_000)
COMMAND_ID = CommandId("018f0000-0000-7000-8000-000000000002")
SHARED = HmacSecret(SecretId("shared-1"), b"s" * 32)
OLDER = HmacSecret(SecretId("shared-0"), b"t" * 32)
OWN = Ed25519Signer(SecretId("own-1"), b"o" * 32)

TENANT: Any = {"tenant": TenantId("acme")}
RECORD: Any = {**TENANT, "memory_id": MemoryId("m"), "idempotency": b"i" * 16}
PERSON: Any = {**TENANT, "subject": Pseudonym("5a" * 16), "idempotency": b"i" * 16}
WRITTEN: list[Command] = [
    IssueKey(**TENANT),
    RememberMemory(**TENANT, draft=sample_draft(), idempotency=b"i" * 16),
    ExpireMemory(**TENANT, memory_id=MemoryId("m"), expected_version=1, expires_at=NOW),
]
SIGNED: list[Command] = [
    PromoteMemory(**RECORD, expected_version=1),
    RejectMemory(**RECORD, expected_version=1, reason="no"),
    ConfirmMemory(**RECORD, expected_version=1),
    RetractMemory(**RECORD, expected_version=1),
    ForgetMemory(**RECORD),
    ForgetSubject(**PERSON),
    ReadmitSubject(**PERSON),
]


def maker(*secrets: HmacSecret | Ed25519Signer, lifetime_ms: int = 1_000) -> EnvelopeMaker:
    return EnvelopeMaker(INSTALLATION, Signers(ANNA, secrets), ManualClock(NOW), lifetime_ms)


@pytest.mark.parametrize("command", WRITTEN, ids=lambda each: type(each).__name__)
def test_what_an_agent_does_all_day_goes_with_the_shared_secret(command: Command) -> None:
    assert Signers(ANNA, [OWN, SHARED]).signer_for(command) is SHARED
    assert Signers(ANNA, [OWN]).signer_for(command) is OWN


@pytest.mark.parametrize("command", SIGNED, ids=lambda each: type(each).__name__)
def test_what_a_person_answers_for_is_signed(command: Command) -> None:
    assert Signers(ANNA, [SHARED, OWN]).signer_for(command) is OWN
    # Without one the decider refuses it, and the attempt is on the log.
    assert Signers(ANNA, [SHARED]).signer_for(command) is SHARED


def test_of_two_secrets_of_a_kind_the_first_counts() -> None:
    assert Signers(ANNA, [SHARED, OLDER]).signer_for(WRITTEN[0]) is SHARED
    assert Signers(ANNA, [OLDER, SHARED]).signer_for(WRITTEN[0]) is OLDER


def test_without_any_secret_nothing_is_sent() -> None:
    with pytest.raises(MissingSecret, match="anna has no secret"):
        maker().record(WRITTEN[0], COMMAND_ID)


@pytest.mark.parametrize("secret", [SHARED, OWN], ids=["hmac", "ed25519"])
def test_the_mac_holds_for_these_bytes_in_this_installation_alone(secret: HmacSecret | Ed25519Signer) -> None:
    envelope = ENVELOPES.decode(maker(secret).record(WRITTEN[1], COMMAND_ID, "e-1", "ticket", b"s" * 16))
    verifier = secret.verifier()
    assert verifier.verify(signed_bytes(envelope, INSTALLATION.log_id, TOPIC), envelope.mac)
    assert not verifier.verify(signed_bytes(envelope, LogId("another"), TOPIC), envelope.mac)
    assert not verifier.verify(signed_bytes(envelope, INSTALLATION.log_id, "memory-events"), envelope.mac)
    changes: dict[str, Any] = {
        "command_id": "x",
        "message_id": "x",
        "principal": "x",
        "secret_id": "x",
        "not_after": NOW,
        "causation": None,
        "correlation": None,
        "session": None,
        "command": COMMANDS.encode(WRITTEN[0]),
    }
    assert {*changes, "mac"} == set(envelope.__struct_fields__)
    for field, value in changes.items():
        changed = replace(envelope, **{field: value})
        assert not verifier.verify(signed_bytes(changed, INSTALLATION.log_id, TOPIC), envelope.mac), field


def test_each_attempt_is_a_message_of_its_own_with_an_end() -> None:
    first, second = (maker(SHARED, lifetime_ms=5_000).envelope(WRITTEN[0], COMMAND_ID) for _ in range(2))
    assert first.command_id == second.command_id == COMMAND_ID
    assert first.message_id != second.message_id
    assert first.not_after == NOW + 5_000
    assert (first.principal, first.secret_id) == (ANNA, "shared-1")
    assert COMMANDS.decode(first.command) == WRITTEN[0]


def test_a_record_above_kafkas_limit_is_refused_before_it_is_sent() -> None:
    def sized(body: int) -> Command:
        return RememberMemory(**TENANT, draft=sample_draft(body=bytes(body)), idempotency=b"i" * 16)

    assert len(maker(SHARED).record(sized(RECORD_LIMIT - 5_000), COMMAND_ID)) <= RECORD_LIMIT
    with pytest.raises(RecordTooLarge) as caught:
        maker(SHARED).record(sized(RECORD_LIMIT), COMMAND_ID)
    assert caught.value.limit == RECORD_LIMIT < caught.value.found

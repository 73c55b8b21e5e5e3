"""Records as they were written by each released schema version: ``tests/data/avro/<schema>.<version>.<name>.bin``.

Compatibility is proved by reading these bytes, not by a checker (S37). What a file must decode to is its ``.json``.
After a new schema version, run this module: it writes what is missing and never changes what is there.

    .venv/bin/python -m unit.schemas.stored_records      (from the folder tests)
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
from msgspec import structs

from eunoe.crypto.hierarchy import KeyKind
from eunoe.schemas import codec, commands, events
from eunoe.schemas.commands import Command, EvidenceSpan, MemoryBody
from eunoe.schemas.control import Approval, ControlRecord
from eunoe.schemas.envelope import Envelope
from eunoe.schemas.events import Fact
from eunoe.schemas.ids import (
    Bucket,
    CommandId,
    EventId,
    KeyId,
    LogId,
    MemoryId,
    MessageId,
    Offset,
    PrincipalName,
    SecretId,
)
from eunoe.schemas.receipts import ReceiptRecord, receipt_body
from eunoe.schemas.restored import Proof, Restored, RestoredFinding
from eunoe.schemas.values import Confirmation, Trust, Verdict
from eunoe.testing.samples import (
    SAMPLE_SUBJECT,
    SAMPLE_TENANT,
    SAMPLE_TIME,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_genesis,
    sample_id,
    sample_key,
    sample_quarantined,
    sample_trace,
)

FOLDER: Final = Path(__file__).resolve().parents[2] / "data" / "avro"
_LOG: Final = LogId(sample_id("log"))
_MEMORY: Final = MemoryId(sample_id("memory"))
_KEY: Final = b"k" * 16


@dataclass(frozen=True, slots=True)
class Stored:
    """One file: which codec reads it, and the record it was made from."""

    codec: codec.Codec[Any]
    name: str
    record: Any

    @property
    def stem(self) -> str:
        return f"{self.codec.name}.{newest_version(self.codec)}.{self.name}"


def newest_version(of: codec.Codec[Any]) -> int:
    """The number in the name of the newest schema file."""
    folder = resources.files("eunoe.schemas") / "avro"
    found = (re.fullmatch(rf"{of.name}\.(\d+)\.avsc", each.name) for each in folder.iterdir())
    return max(int(each[1]) for each in found if each)


def as_json(record: Any) -> bytes:
    """What a record is compared by: its fields, bytes as base64; a union's member by its name."""
    named = record
    if isinstance(record, get_args(Command)):
        named = {type(record).__name__: record}
    elif isinstance(record, events.Event):
        named = {"header": record.header, type(record.fact).__name__: record.fact}
    return msgspec.json.format(msgspec.json.encode(named), indent=1) + b"\n"


def stored_records() -> tuple[Stored, ...]:
    """One of each command, fact and other record."""
    found = [Stored(codec.COMMANDS, type(each).__name__, each) for each in _commands()]
    found += [Stored(codec.EVENTS, type(each).__name__, sample_event(each)) for each in _facts()]
    found += [Stored(of, "full", each) for of, each in _others().items()]
    return tuple(found)


_RESTORED = Restored(
    what="MemoryAccepted",
    trust=Trust.VERIFIED,
    confirmation=Confirmation.CONFIRMED,
    superseded=(_MEMORY,),
    contested=(_MEMORY,),
    supersedes=_MEMORY,
    conflicts=(_MEMORY,),
    reasons=("untrusted_source",),
    settled_by=("time",),
    claim_changed=True,
    policy_influence=True,
    reviewable_at=SAMPLE_TIME,
    findings=(RestoredFinding(detector="text", rule="routing", verdict=Verdict.ALLOW),),
    at=SAMPLE_TIME,
    by=PrincipalName("agent"),
    event_id=EventId(sample_id("event")),
    command_id=CommandId(sample_id("command")),
    policy_version=3,
    policy_hash="0" * 64,
)
_PROOF = Proof(log_id=_LOG, signer=SecretId("export-1"), signature=b"s" * 64)


def _commands() -> tuple[Command, ...]:
    about: Mapping[str, Any] = {"tenant": SAMPLE_TENANT, "memory_id": _MEMORY}
    person: Mapping[str, Any] = {"tenant": SAMPLE_TENANT, "subject": SAMPLE_SUBJECT, "idempotency": _KEY}
    versioned = {**about, "expected_version": 3, "idempotency": _KEY}
    return (
        commands.IssueKey(tenant=SAMPLE_TENANT, subject=SAMPLE_SUBJECT, bucket=Bucket("2027-05")),
        commands.RememberMemory(tenant=SAMPLE_TENANT, draft=_built(), idempotency=_KEY),
        commands.CorrectMemory(
            tenant=SAMPLE_TENANT, draft=sample_draft(), supersedes=_MEMORY, expected_version=1, idempotency=_KEY
        ),
        commands.PromoteMemory(**versioned),
        commands.RejectMemory(**versioned, reason="outdated"),
        commands.ConfirmMemory(**versioned),
        commands.ResolveConflict(**versioned, over=(commands.SeenRef(memory_id=_MEMORY, version=2),)),
        commands.RetractMemory(**versioned),
        commands.SuspendMemory(**versioned, reasons=("policy.untrusted_source",)),
        commands.ExpireMemory(**about, expected_version=1, expires_at=SAMPLE_TIME),
        commands.ForgetMemory(**about, idempotency=_KEY),
        commands.ForgetSubject(**person),
        commands.ReadmitSubject(**person),
        commands.WithdrawForgetting(**person),
        commands.CompleteForgetting(tenant=SAMPLE_TENANT, subject=SAMPLE_SUBJECT, generation=2, due_at=SAMPLE_TIME),
        commands.HoldSubject(**person, review_at=SAMPLE_TIME),
        commands.LiftHold(**person),
        commands.RecordExport(**person, identity_check="passport, seen by M. Huber"),
        commands.RestoreMemory(**about, draft=sample_draft(), restored=_RESTORED, proof=_PROOF, idempotency=_KEY),
        commands.ForgetTenant(tenant=SAMPLE_TENANT, incarnation=2),
        commands.CompleteTenantForgetting(tenant=SAMPLE_TENANT, incarnation=2),
        commands.ReadmitTenant(tenant=SAMPLE_TENANT, incarnation=2),
    )


def _built() -> commands.Draft:
    source = commands.SourceRef(memory_id=MemoryId(sample_id("source")), version=3)
    return sample_draft(derived_from=(source,))


def _facts() -> tuple[Fact, ...]:
    changed: Mapping[str, Any] = {"memory_id": _MEMORY, "version": 2}
    superseded = events.SupersededRef(memory_id=MemoryId(sample_id("old")), version=4)
    contested = events.ConflictRef(memory_id=MemoryId(sample_id("rival")), version=2)
    withdrawn = (events.WithdrawnRef(memory_id=MemoryId(sample_id("summary")), version=2),)
    finding = events.Finding(detector="text", rule="routing", verdict=Verdict.QUARANTINE)
    return (
        sample_genesis(_LOG).fact,
        events.KeyIssued(incarnation=1, key_id=KeyId(sample_id("key")), created=True),
        structs.replace(
            sample_accepted(_built()),
            conflicts_with=(contested,),
            settled_by=("time",),
            findings=(finding,),
            withdrawn=withdrawn,
        ),
        structs.replace(
            sample_quarantined(),
            policy_influence=True,
            reviewable_at=SAMPLE_TIME,
            conflicts_with=(contested.memory_id,),
            findings=(finding,),
        ),
        events.MemoryPromoted(
            **changed, trust=Trust.VERIFIED, supersedes=superseded, conflicts_with=(contested,), withdrawn=withdrawn
        ),
        events.MemoryRejected(**changed, reason="outdated", withdrawn=withdrawn),
        events.MemoryConfirmed(**changed),
        events.MemoryRetracted(**changed, withdrawn=withdrawn),
        events.MemorySuspended(
            **changed,
            reasons=("policy.untrusted_source",),
            subject=SAMPLE_SUBJECT,
            generation=1,
            about=(events.SubjectRef(subject=SAMPLE_SUBJECT, generation=2),),
            claim_ref=b"r" * 16,
            expires_at=SAMPLE_TIME,
        ),
        events.MemoryExpired(**changed),
        events.MemoryForgotten(**changed, own_key=True, withdrawn=withdrawn),
        events.SubjectForgotten(subject=SAMPLE_SUBJECT, generation=2, records=17),
        events.SubjectReadmitted(subject=SAMPLE_SUBJECT, generation=3),
        events.ForgettingRequested(subject=SAMPLE_SUBJECT, generation=2, due_at=SAMPLE_TIME, authorized=True),
        events.ForgettingWithdrawn(subject=SAMPLE_SUBJECT, generation=2, restricted=True),
        events.SubjectHeld(subject=SAMPLE_SUBJECT, generation=2, review_at=SAMPLE_TIME),
        events.HoldLifted(subject=SAMPLE_SUBJECT, generation=2, restricted=True),
        events.ActionProposed(subject=SAMPLE_SUBJECT, generation=2, action="readmit", owner="privacy"),
        events.TenantForgotten(incarnation=2, key_id=KeyId(sample_id("key"))),
        events.TenantReadmitted(incarnation=3),
        events.TenantForgettingRequested(incarnation=2, holds=4),
        events.TenantActionProposed(incarnation=2, action="forget_tenant", owner="privacy"),
        events.ExportRecorded(
            subject=SAMPLE_SUBJECT, generation=2, records=17, identity_check="passport, seen by M. Huber"
        ),
        events.CommandRejected(command="CorrectMemory", reason=events.Reason.VERSION_CONFLICT, current_version=5),
        events.CommandDuplicate(first_command_id=CommandId(sample_id("first")), memory_id=_MEMORY, version=1),
        events.ConflictResolved(**changed, superseded=(superseded,), withdrawn=withdrawn),
        events.CandidateObserved(
            memory_id=_MEMORY,
            kind="fact",
            purposes=("support",),
            verdict="quarantined",
            reasons=(events.Reason.ROUTING,),
            findings=(finding,),
        ),
    )


def _others() -> Mapping[codec.Codec[Any], Any]:
    span = EvidenceSpan(event_id="e-1", start=3, end=17)
    return {
        codec.BODIES: MemoryBody(
            statement="Prefers delivery after 18:00. ありがとう, спасибо",
            claim_key="delivery.window",
            provenance="said so",
            source_uri="crm://tickets/4711",
            event_ids=("e-1", "e-2"),
            evidence=(span,),
            answers=commands.Answers(future_use="asked twice"),
            external_id="x-9",
            session_id="call-17",
            subject="customer-17",
            about=("customer-18",),
        ),
        codec.ENVELOPES: Envelope(
            command_id=CommandId(sample_id("command")),
            message_id=MessageId(sample_id("message")),
            principal=PrincipalName("dev-agent"),
            secret_id=SecretId("dev-agent-1"),
            not_after=SAMPLE_TIME,
            causation="cause",
            correlation="conversation-7",
            session=b"s" * 16,
            command=b"\xc3\x01 not looked into here",
            mac=b"m" * 32,
        ),
        codec.KEY_RECORDS: sample_key(_LOG, KeyKind.DATA),
        codec.RECEIPTS: ReceiptRecord(
            log_id=_LOG,
            sequence=7,
            body=receipt_body({"stage": "logical", "checks": [{"check": "closed", "passed": True, "count": 3}]}),
            signer=SecretId("attest-1"),
            signature=b"s" * 64,
        ),
        codec.CONTROL_RECORDS: ControlRecord(
            name="switch/acme",
            body=b'{"reads": true, "writes": false}',
            replaces=Offset(-1),
            reason="incident 12",
            made_at=SAMPLE_TIME,
            signer=SecretId("dev-control-1"),
            signature=b"s" * 64,
            approvals=(
                Approval(
                    principal=PrincipalName("ines"),
                    secret_id=SecretId("ines-1"),
                    at=SAMPLE_TIME,
                    signature=b"a" * 64,
                    said="no copy is left",
                ),
            ),
        ),
        codec.TRACES: sample_trace(),
    }


def write_missing() -> None:
    """Adds files for schema versions that have none yet."""
    for each in stored_records():
        path = FOLDER / f"{each.stem}.bin"
        if not path.exists():
            path.write_bytes(each.codec.encode(each.record))
            path.with_suffix(".json").write_bytes(as_json(each.record))


if __name__ == "__main__":
    write_missing()

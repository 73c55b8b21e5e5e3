"""Handing out what is held: recorded first, then read from the log, opened, and signed."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from redis.asyncio import Redis

from eunoe.client.access_report import Asked, access_report
from eunoe.client.export_file import digest_of, fact_line, statements_of
from eunoe.client.held import Held, HeldRecord, read_on
from eunoe.client.held_texts import keys_passed, opened
from eunoe.client.tenant_facts import chosen
from eunoe.client.traces import TraceQuery, traces_of
from eunoe.crypto.exports import ACCESS_REPORT, TENANT_EXPORT, signed_document
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.keys import TenantKeys
from eunoe.crypto.signatures import Ed25519Signer
from eunoe.producers.client import Asked as Request
from eunoe.producers.client import MemoryProducer
from eunoe.producers.errors import CallerError
from eunoe.runtime.clock import Clock
from eunoe.runtime.errors import CallerFault
from eunoe.runtime.installation import Installation
from eunoe.runtime.principals import control_signer
from eunoe.runtime.settings import SettingProblem, Settings, SettingsError
from eunoe.schemas.commands import Draft, MemoryBody
from eunoe.schemas.events import ExportRecorded, Reason, SubjectRef
from eunoe.schemas.ids import MemoryId, PrincipalName, TenantId, new_id
from eunoe.schemas.instants import instant
from eunoe.schemas.outcomes import Outcome, Token
from eunoe.schemas.traces import Trace

TIMEOUT_S: Final = 60.0
_SAYS: Final = {
    Reason.ERASED.value: "they were forgotten: what was held on them was rendered unreadable, and nothing is left",
    Reason.NOT_FOUND.value: "nobody ever wrote anything down about them here",
    Reason.NOT_ALLOWED.value: "the caller may not export here, or is limited in what it may see",
    Reason.SIGNATURE_REQUIRED.value: "an export is signed for with an Ed25519 key",
    Reason.READS_OFF.value: "memory is switched off for reading",
    Reason.INVALID_FIELD.value: "say how and by whom it was checked who asks, in at most 200 printable characters",
}


@dataclass(eq=False)
class ExportRefused(CallerFault):
    """Nothing was read and nothing is handed out. ``reason`` is a code; ``outcome`` the refusal on the log."""

    reason: str
    outcome: Outcome | None = None

    def __str__(self) -> str:
        said = _SAYS.get(self.reason)
        return f"the export is refused: {self.reason}" + ("" if said is None else f" ({said})")


@dataclass(frozen=True, slots=True)
class TenantExport:
    """``head`` says what was left out, and why; ``lines``: one fact each."""

    head: dict[str, Any]
    lines: list[dict[str, Any]]

    @property
    def content(self) -> bytes:
        """The file, in ASCII: what a terminal would obey stands in it as escapes."""
        return b"".join(json.dumps(each).encode() + b"\n" for each in (self.head, *self.lines))


@dataclass(slots=True, kw_only=True)
class Exporting:
    """Exports as one principal. Made by `Memory.connect`."""

    settings: Settings
    installation: Installation
    principal: PrincipalName
    producer: MemoryProducer
    keyring: Keyring
    redis: Redis
    clock: Clock
    timeout: float = field(default=TIMEOUT_S)

    async def everything(self, *, tenant: str, identity_checked: str) -> TenantExport:
        """All that is held in a tenant, for `Importing.file`: see `eunoe.client.export_file`. As `subject`."""
        signer, of = self._signer(), TenantId(tenant)
        outcome = await self._recorded(of, None, identity_checked, everything=True)
        held = await self._held(Held(tenant=of), outcome)
        bodies = await self._bodies(held, held.records.values())
        since = Held(tenant=of, position=held.position)
        held.learn(await read_on(self.settings.brokers, self.installation, since))
        keys = await self.keyring.tenant(of)
        named = frozenset(each for each, body in bodies.items() if _named(keys, held.records[each].draft, body))
        found = chosen(held, bodies, named, self.clock.now(), keys.incarnation)
        statements = statements_of(of, found.facts)
        statement = {
            "tenant": of,
            "made_at": instant(self.clock.now()),
            "made_by": self.principal,
            "identity_check": identity_checked,
            "recorded_as": outcome.command_id,
            "as_of": {"partition": self.installation.partition_of(of), "position": held.position},
            "records": found.records,
            "facts": len(statements),
            "digest": digest_of(statements),
            "left_out": dict(found.left_out),
        }
        head = signed_document(TENANT_EXPORT, self.installation.log_id, statement, signer)
        return TenantExport(head, [fact_line(self.installation.log_id, each, signer) for each in statements])

    async def subject(
        self, subject: str, *, tenant: str, identity_checked: str, redact: Sequence[str] = ()
    ) -> dict[str, Any]:
        """The access report of one person: a signed document (`eunoe.crypto.exports`).

        ``identity_checked``: how and by whom it was checked who asks; it stands in the log in the clear. ``redact``:
        the names of other people, as texts about several have them (`eunoe.client.redacting`). Needs the right
        ``export``, or ``self_service``: then only what is left to the person is in it. Raises `ExportRefused`
        (``erased`` for a forgotten person), `SettingsError` without a key to sign with, and what reading raises: a key
        that is unknown is never taken for erased.
        """
        signer = self._signer()
        if subject.casefold() in identity_checked.casefold():
            raise CallerError("identity_checked", "names the person: it stays in the log in the clear, for ever")
        of = TenantId(tenant)
        outcome = await self._recorded(of, subject, identity_checked, everything=False)
        person = (await self.keyring.tenant(of)).pseudonym(subject)
        held = await self._held(Held(tenant=of, person=person), outcome)
        recorded = _recorded_in(held, outcome)
        generation = recorded.generation
        bodies = await self._bodies(held, held.of_generation(generation))
        traces, unreadable = await self._traces(of, held)
        since = Held(tenant=of, person=person, position=held.position)
        held.learn(await read_on(self.settings.brokers, self.installation, since))
        if SubjectRef(subject=person, generation=generation) in held.closed:
            raise ExportRefused(Reason.ERASED.value)
        asked = Asked(
            log_id=self.installation.log_id,
            tenant=of,
            subject=subject,
            generation=generation,
            made_at=self.clock.now(),
            made_by=self.principal,
            identity_check=identity_checked,
            command_id=outcome.command_id,
            partition=self.installation.partition_of(of),
            redact=tuple(redact),
            user_visible_only=recorded.user_visible_only,
        )
        statement = access_report(asked, held, bodies, traces, unreadable)
        return signed_document(ACCESS_REPORT, self.installation.log_id, statement, signer)

    async def _recorded(
        self, tenant: TenantId, subject: str | None, identity_checked: str, *, everything: bool
    ) -> Outcome:
        """Once it stands in the log. Raises `ExportRefused`."""
        asked = Request(idempotency_key=new_id())
        sent = await self.producer.record_export(tenant, subject, identity_checked, asked, everything=everything)
        outcome = await sent.outcome(self.timeout)
        if outcome.kind != ExportRecorded.__name__:
            raise ExportRefused(outcome.reason or outcome.status.value, outcome)
        return outcome

    def _signer(self) -> Ed25519Signer:
        if self.settings.export_key is None:
            what = "must name the file of the Ed25519 key that signs exports"
            raise SettingsError((SettingProblem("EUNOE_EXPORT_KEY", what),))
        return control_signer(self.settings.export_key)

    async def _held(self, held: Held, outcome: Outcome) -> Held:
        """What the log holds, once the key models have passed all of it: then a key they lack is lost, not late."""
        partition = Token.parse(outcome.token).partition
        await read_on(self.settings.brokers, self.installation, held)
        await keys_passed(self.settings.brokers, self.installation, self.redis, partition, held.position, self.timeout)
        return held

    async def _bodies(self, held: Held, records: Iterable[HeldRecord]) -> dict[MemoryId, MemoryBody]:
        """The texts that may and can be opened. Raises `KeyStillUnknown`, ``SealBroken``."""
        found = {}
        for record in records:
            body = None if held.erased(record) else await opened(self.keyring, held.tenant, record.draft)
            if body is not None:
                found[record.draft.memory_id] = body[0]
        return found

    async def _traces(self, tenant: TenantId, held: Held) -> tuple[list[Trace], int]:
        """The reads that gave somebody one of the records; what was asked stays sealed."""
        found = await traces_of(
            self.settings.brokers,
            self.installation,
            self.keyring,
            TraceQuery(tenant=tenant),
            may_see=lambda trace: any(each.memory_id in held.records for each in trace.delivered),
            may_open=lambda _: False,
        )
        return [each.trace for each in found.traces], found.unreadable


def _named(keys: TenantKeys, draft: Draft, body: MemoryBody) -> bool:
    """Whether the sealed names are those of the people whom the record is filed under."""
    return (keys.pseudonym(body.subject), tuple(map(keys.pseudonym, body.about))) == (draft.subject, draft.about)


def _recorded_in(held: Held, outcome: Outcome) -> ExportRecorded:
    """What was recorded of this export: the generation that was open then, and how far it goes."""
    for header, fact in held.about_person:
        if header.command_id == outcome.command_id and isinstance(fact, ExportRecorded):
            return fact
    raise ExportRefused("not_recorded", outcome)

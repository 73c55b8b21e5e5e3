"""`recall` on a real Redis without a Kafka: a test writes events, they are folded at once, and a reader is at hand."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Unpack

from redis.asyncio import Redis

from eunoe.crypto.buckets import month_bucket, own_bucket
from eunoe.crypto.cipher import new_key
from eunoe.crypto.hierarchy import KekWrapper, KeyKind, KeyMeta, WrappedKey, Wrapper, new_plain, wrap_key
from eunoe.crypto.kek import LocalKek
from eunoe.crypto.keyring import Keyring
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.readmodels.recall.fold import RecallModel
from eunoe.readmodels.recall.reader import MemoryReader, ReaderSettings
from eunoe.readmodels.recall.scope import Admission, ReadScope
from eunoe.readmodels.source import Positioned
from eunoe.readmodels.steps import steps_of
from eunoe.readmodels.tenants import TenantStanding
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Watermark
from eunoe.schemas.codec import BODIES
from eunoe.schemas.commands import Draft, MemoryBody
from eunoe.schemas.events import Event, Fact, SubjectForgotten, SubjectReadmitted, SubjectRef
from eunoe.schemas.ids import (
    AgentId,
    Bucket,
    KeyId,
    LogId,
    MemoryId,
    Millis,
    Offset,
    Partition,
    PrincipalName,
    Pseudonym,
    TenantId,
    new_id,
    uuid7,
)
from eunoe.schemas.topics import TopicNames
from eunoe.schemas.values import Sensitivity
from eunoe.testing.key_source import InMemoryKeySource
from eunoe.testing.samples import (
    SAMPLE_TENANT,
    SAMPLE_TIME,
    DraftFields,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_quarantined,
)

AGENT: Final = AgentId("support-bot")


class OpenGate:
    """Lets everybody read up to a sensitivity, until ``refusing`` is set."""

    def __init__(self) -> None:
        self.max_sensitivity = Sensitivity.RESTRICTED
        self.refusing: str | None = None

    def admit(self, scope: ReadScope) -> Admission:
        if self.refusing is not None:
            raise ReadRefused(self.refusing, scope.tenant)
        return Admission(max_sensitivity=self.max_sensitivity, control_offset=0)

    def enter(self, tenant: TenantId, standing: TenantStanding) -> None:
        if standing.forgotten or standing.asked:
            raise ReadRefused("tenant_forgotten", tenant)


class NothingToWaitFor:
    """What keys and subjects have passed; ``waits`` counts. ``over``: by tenant, the last forgotten incarnation."""

    def __init__(self) -> None:
        self.waits = 0
        self.over: dict[TenantId, int] = {}

    async def wait(self, tenant: TenantId) -> None:
        self.waits += 1

    async def is_over(self, tenant: TenantId, incarnation: int) -> bool:
        return self.over.get(tenant, 0) >= incarnation


@dataclass(slots=True, kw_only=True)
class RecallWorld:
    """One installation of its own in a shared Redis. ``now`` is the clock of reader and keyring."""

    redis: Redis
    partitions: int = 4
    settings: ReaderSettings = field(default_factory=ReaderSettings)
    now: Millis = SAMPLE_TIME
    gate: OpenGate = field(default_factory=OpenGate)
    passed: NothingToWaitFor = field(default_factory=NothingToWaitFor)
    keys: InMemoryKeySource = field(default_factory=InMemoryKeySource)
    installation: Installation = field(init=False)
    keyring: Keyring = field(init=False)
    model: RecallModel = field(init=False)
    reader: MemoryReader = field(init=False)
    _kek: LocalKek = field(default_factory=lambda: LocalKek(new_key()))
    _offsets: defaultdict[Partition, int] = field(default_factory=lambda: defaultdict(int))
    _generations: dict[tuple[TenantId, Pseudonym], int] = field(default_factory=dict)
    _buckets: set[tuple[TenantId, Pseudonym, int, Bucket]] = field(default_factory=set)
    _serial: "itertools.count[int]" = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        log_id = LogId(new_id())
        self.installation = Installation(log_id=log_id, partitions=self.partitions, names=TopicNames(prefix=""))
        self.keyring = Keyring(log_id, self._kek, self.keys, lambda: self.now)
        self.model = RecallModel(redis=self.redis, keyring=self.keyring, passed=self.passed)
        self.reader = self.new_reader()

    def new_reader(self, **over: Any) -> MemoryReader:
        given: dict[str, Any] = {
            "redis": self.redis, "installation": self.installation, "keyring": self.keyring,
            "gate": self.gate, "clock": lambda: self.now, "settings": self.settings,
        }  # fmt: skip
        return MemoryReader(**(given | over))

    async def keys_are_filled(self) -> None:
        """What the model `keys` leaves in Redis once it has been at the end of its topic."""
        for each in range(self.partitions):
            mark = Prefix(self.installation.log_id, Partition(each), "keys").watermark
            await self.redis.hset(mark, mapping={"position": 1, "caught_up_at": self.now})

    def prefix(self, tenant: TenantId = SAMPLE_TENANT) -> Prefix:
        return Prefix(self.installation.log_id, self.installation.partition_of(tenant), "recall")

    def scope(self, **over: Any) -> ReadScope:
        """The sample agent's; every field can be given."""
        given: dict[str, Any] = {
            "tenant": SAMPLE_TENANT, "agent": AGENT, "purpose": "support", "principal": PrincipalName("dev-agent")
        }  # fmt: skip
        return ReadScope(**(given | over))

    # Keys, as the decider would issue them.

    async def open_tenant(self, tenant: TenantId) -> None:
        if await self.keys.tenant(tenant) is None:
            self._issue(KekWrapper(self._kek), KeyKind.TENANT, tenant)

    async def pseudonym(self, tenant: TenantId, subject: str | None) -> Pseudonym:
        await self.open_tenant(tenant)
        return (await self.keyring.tenant(tenant)).pseudonym(subject)

    async def _data_key(self, tenant: TenantId, subject: Pseudonym, bucket: Bucket) -> int:
        keys = await self.keyring.tenant(tenant)
        if (tenant, subject) not in self._generations:
            self._generations[tenant, subject] = 1
            self._issue(keys, KeyKind.SUBJECT_ROOT, tenant, subject, 1)
        generation = self._generations[tenant, subject]
        if (tenant, subject, generation, bucket) not in self._buckets:
            self._buckets.add((tenant, subject, generation, bucket))
            self._issue(keys, KeyKind.DATA, tenant, subject, generation, bucket)
        return generation

    def _issue(  # a key's description
        self,
        wrapper: Wrapper,
        kind: KeyKind,
        tenant: TenantId,
        subject: Pseudonym | None = None,
        generation: int = 0,
        bucket: Bucket | None = None,
    ) -> WrappedKey:
        meta = KeyMeta(
            key_id=KeyId(new_id()), kind=kind, tenant=tenant, incarnation=1,
            subject=subject, generation=generation, bucket=bucket, created_at=self.now,
        )  # fmt: skip
        wrapped = wrap_key(wrapper, self.installation.log_id, new_plain(kind), meta)
        self.keys.put(wrapped)
        return wrapped

    # Records and facts.

    async def draft(
        self,
        statement: str,
        *,
        tenant: TenantId = SAMPLE_TENANT,
        whom: str | None = "customer-17",
        contents: MemoryBody | None = None,
        own: bool = False,
        **over: Unpack[DraftFields],
    ) -> Draft:
        """A sealed draft on ``whom`` (the plain name). Memory ids rise with each call."""
        pseudonym = await self.pseudonym(tenant, whom)
        made_id = uuid7(SAMPLE_TIME, next(self._serial).to_bytes(10))
        memory_id = over.setdefault("memory_id", MemoryId(made_id))
        expires_at = over.setdefault("expires_at", Millis(SAMPLE_TIME + 30 * 86_400_000))
        bucket = own_bucket(memory_id) if own or over.get("about") else month_bucket(expires_at)
        over["generation"] = await self._data_key(tenant, pseudonym, bucket)
        over["subject"] = pseudonym
        cipher = await self.keyring.sealing_cipher(tenant, pseudonym, bucket)
        over["key_id"] = cipher.key_id
        over["body"] = cipher.seal(memory_id, 1, BODIES.encode(contents or MemoryBody(statement=statement)))
        return sample_draft(**over)

    async def remember(
        self,
        statement: str,
        *,
        tenant: TenantId = SAMPLE_TENANT,
        about: Sequence[str] = (),
        quarantined: bool = False,
        created_at: Millis | None = None,
        **over: Any,
    ) -> MemoryId:
        """Accept (or quarantine) one record; it is folded when this returns."""
        refs = []
        for each in about:
            whom = await self.pseudonym(tenant, each)
            refs.append(SubjectRef(subject=whom, generation=await self._data_key(tenant, whom, Bucket("2027-02"))))
        if refs:
            over["about"] = tuple(ref.subject for ref in refs)
        draft = await self.draft(statement, tenant=tenant, **over)
        made = sample_quarantined if quarantined else sample_accepted
        await self.happens(made(draft, about=tuple(refs)), tenant=tenant, at=created_at)
        return draft.memory_id

    async def forget(self, subject: str, tenant: TenantId = SAMPLE_TENANT) -> None:
        """`SubjectForgotten`, as `subjects` and `recall` see it. Nothing is removed yet."""
        whom = await self.pseudonym(tenant, subject)
        generation = self._generations[tenant, whom]
        self.keys.close_subject(tenant, whom)
        await self.happens(SubjectForgotten(subject=whom, generation=generation, records=0), tenant=tenant)

    async def readmit(self, subject: str, tenant: TenantId = SAMPLE_TENANT) -> None:
        whom = await self.pseudonym(tenant, subject)
        self._generations[tenant, whom] += 1
        generation = self._generations[tenant, whom]
        keys = await self.keyring.tenant(tenant)
        self._issue(keys, KeyKind.SUBJECT_ROOT, tenant, whom, generation)
        await self.happens(SubjectReadmitted(subject=whom, generation=generation), tenant=tenant)

    async def happens(self, fact: Fact, *, tenant: TenantId = SAMPLE_TENANT, at: Millis | None = None) -> Offset:
        """Write one fact and fold it; its offset."""
        event = sample_event(fact, tenant=tenant, decided_at=self.now if at is None else at)
        return (await self.write(tenant, [event]))[0]

    def rewind(self, tenant: TenantId, offset: int = 0) -> None:
        """The next `write` starts at ``offset`` again, as after a Redis that went back."""
        self._offsets[self.installation.partition_of(tenant)] = offset

    async def write(self, tenant: TenantId, events: Iterable[Event]) -> list[Offset]:
        """Put ``events`` on the tenant's partition and fold them, as a lane does it."""
        prefix = self.prefix(tenant)
        start = self._offsets[prefix.partition]
        records = [Positioned(Offset(start + at), event.header.decided_at, event) for at, event in enumerate(events)]
        end = Offset(start + len(records))
        operations = await self.model.fold(prefix, records)
        await Watermark(self.redis, prefix, self.model.functions).move(
            steps_of(Offset(start), end, records, operations)
        )
        self._offsets[prefix.partition] = end
        return [each.offset for each in records]

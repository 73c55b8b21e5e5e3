"""A key that is not there is asked for once, however many wait; what does not come is said, and never made up."""

import asyncio
from dataclasses import dataclass, field

import pytest

from eunoe.crypto.errors import KeySourceUnavailable
from eunoe.crypto.hierarchy import KekWrapper, KeyKind, KeyMeta, new_plain, wrap_key
from eunoe.crypto.kek import LocalKek
from eunoe.crypto.keyring import Keyring
from eunoe.producers.errors import KeyRefused, NoKeyYet
from eunoe.producers.key_requests import KeyRequests
from eunoe.schemas.commands import IssueKey
from eunoe.schemas.ids import Bucket, CommandId, KeyId, LogId, Millis, Pseudonym, TenantId
from eunoe.schemas.outcomes import Outcome, OutcomeStatus
from eunoe.testing.key_source import InMemoryKeySource

LOG = LogId("log")
ACME = TenantId("acme")
ANNA = Pseudonym("a" * 32)
MAY = Bucket("2027-05")
NOW = Millis(1_800_000_000_000)


@dataclass
class Decider:
    """Answers requests as a decider and the key models would; ``silent`` ones are never answered."""

    source: InMemoryKeySource = field(default_factory=InMemoryKeySource)
    kek: LocalKek = field(default_factory=lambda: LocalKek(bytes(32)))
    asked: list[IssueKey] = field(default_factory=list)
    refuses: str | None = None
    silent: bool = False
    made: int = 0

    def keyring(self) -> Keyring:
        return Keyring(LOG, self.kek, self.source, lambda: NOW)

    async def ask(self, request: IssueKey) -> CommandId:
        self.asked.append(request)
        if not (self.silent or self.refuses):
            asyncio.get_running_loop().call_later(0.02, lambda: asyncio.ensure_future(self._issue(request)))
        return CommandId(f"command-{len(self.asked)}")

    async def wait(self, tenant: TenantId, command_id: CommandId, timeout: float) -> Outcome:
        rejected = self.refuses is not None
        return Outcome(
            command_id=command_id,
            status=OutcomeStatus.REJECTED if rejected else OutcomeStatus.DONE,
            kind="CommandRejected" if rejected else "KeyIssued",
            decided_at=NOW,
            token="",
            reason=self.refuses,
        )

    async def _issue(self, request: IssueKey) -> None:
        if request.subject is None:
            await self._put(KeyKind.TENANT, request)
            return
        await self._put(KeyKind.SUBJECT_ROOT, request)
        await self._put(KeyKind.DATA, request)

    async def _put(self, kind: KeyKind, request: IssueKey) -> None:
        self.made += 1
        meta = KeyMeta(
            key_id=KeyId(f"key-{self.made}"),
            kind=kind,
            tenant=ACME,
            incarnation=1,
            subject=request.subject,
            generation=0 if request.subject is None else 1,
            bucket=request.bucket if kind is KeyKind.DATA else None,
            created_at=NOW,
        )
        wrapper = KekWrapper(self.kek) if kind is KeyKind.TENANT else await self.keyring().tenant(ACME)
        self.source.put(wrap_key(wrapper, LOG, new_plain(kind), meta))


def requests(decider: Decider, patience: float = 5.0) -> KeyRequests:
    return KeyRequests(decider.keyring(), decider.ask, decider, patience)


async def test_everybody_who_waits_for_a_key_shares_one_request() -> None:
    decider = Decider()
    keys = requests(decider)
    opened = await asyncio.gather(*(keys.tenant(ACME) for _ in range(50)))
    assert len({each.key_id for each in opened}) == 1
    ciphers = await asyncio.gather(*(keys.sealing(opened[0], ANNA, MAY) for _ in range(50)))
    assert len({each.key_id for each in ciphers}) == 1
    assert decider.asked == [IssueKey(tenant=ACME), IssueKey(tenant=ACME, subject=ANNA, bucket=MAY)]


async def test_a_key_that_is_there_is_not_asked_for() -> None:
    decider = Decider()
    await requests(decider).tenant(ACME)
    await requests(decider).tenant(ACME)
    assert len(decider.asked) == 1


async def test_a_refused_key_is_the_deciders_outcome() -> None:
    decider = Decider(refuses="subject_closed")
    with pytest.raises(KeyRefused) as caught:
        await requests(decider).tenant(ACME)
    assert caught.value.outcome.reason == "subject_closed"


async def test_a_closed_subject_is_for_the_decider_to_refuse() -> None:
    decider = Decider()
    keys = requests(decider)
    acme = await keys.tenant(ACME)
    await keys.sealing(acme, ANNA, MAY)
    decider.source.close_subject(ACME, ANNA)
    decider.refuses = "subject_closed"
    with pytest.raises(KeyRefused):
        await requests(decider).sealing(acme, ANNA, MAY)


async def test_a_key_that_does_not_come_is_said_to_be_missing_and_asked_for_again_later() -> None:
    decider = Decider(silent=True)
    keys = requests(decider, patience=0.05)
    with pytest.raises(NoKeyYet, match="is a worker running"):
        await keys.tenant(ACME)
    decider.silent = False
    assert await requests(decider).tenant(ACME)
    assert len(decider.asked) == 2


async def test_one_who_gives_up_does_not_take_the_key_from_the_others() -> None:
    decider = Decider()
    keys = requests(decider)
    impatient = asyncio.create_task(keys.tenant(ACME))
    patient = asyncio.create_task(keys.tenant(ACME))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).tenant == ACME
    assert impatient.cancelled()


async def test_a_source_that_does_not_answer_is_no_reason_to_ask_for_a_key() -> None:
    decider = Decider()
    decider.source.available = False
    with pytest.raises(KeySourceUnavailable):
        await requests(decider).tenant(ACME)
    assert decider.asked == []

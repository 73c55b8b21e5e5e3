"""The baseline of projecting writes the postings that `recall` would, no more and no fewer."""

from eunoe.bench.postings import PlainWriter, postings_in
from eunoe.bench.sealed import NothingToWaitFor, Sealer
from eunoe.bench.text import ZipfText
from eunoe.readmodels.recall import keys as names
from eunoe.readmodels.recall.fold import RecallModel
from eunoe.readmodels.source import Positioned
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation
from eunoe.schemas.ids import LogId, Offset, Partition, TenantId, new_id

TENANT = TenantId("acme")


class EmptyRedis:
    async def get(self, key: str) -> None:
        return None


async def operations() -> list[Operation]:
    """Those of one record of ten words."""
    log_id = LogId(new_id())
    sealer = Sealer(log_id)
    await sealer.open(TENANT)
    event = await sealer.event(TENANT, 7, ZipfText(1).sentence(10))
    model = RecallModel(redis=EmptyRedis(), keyring=sealer.keyring, passed=NothingToWaitFor())  # type: ignore[arg-type]
    record = Positioned(Offset(7), event.header.decided_at, event)
    (found,) = await model.fold(Prefix(log_id, Partition(0), "recall"), [record])
    return list(found)


async def test_every_posting_is_one_command_with_its_score_and_member() -> None:
    made = await operations()
    commands = PlainWriter("plain:").commands(made)
    document = next(each[2] for each in made if each[0] == "recall.put")
    assert isinstance(document, bytes)
    postings = [each for each in commands if each[0] == "ZADD"]
    assert len(postings) == postings_in(made) == 20
    assert {each[3] for each in postings} == {document[: names.MEMBER_BYTES]}
    assert all(isinstance(each[2], int) and names.count_of(each[2]) == 1 for each in postings)
    assert len({each[1] for each in postings}) == 20


async def test_the_document_and_its_places_are_written_too() -> None:
    commands = PlainWriter("plain:").commands(await operations())
    kinds = [each[0] for each in commands if each[0] != "ZADD"]
    assert sorted(str(kind) for kind in kinds) == ["HSET", "INCR", "SADD", "SET", "SET"]  # one SET is the index key

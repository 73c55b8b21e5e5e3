"""What a search finds, and what it never touches."""

from math import fsum

from eunoe.testing.recalling import RecallWorld


async def test_a_remembered_statement_is_found_with_a_score_that_explains_itself(world: RecallWorld) -> None:
    memory_id = await world.remember("Prefers delivery after six in the evening")
    await world.remember("Owns two dogs")
    result = await world.reader.search(world.scope(), "When is the delivery preferred?")
    assert [each.memory_id for each in result.records] == [memory_id]
    found = result.records[0]
    assert found.statement == "Prefers delivery after six in the evening"
    assert {part.name for part in found.terms} >= {"term:w:deliveri", "term:w:prefer", "confidence", "recency"}
    assert found.score == fsum(part.amount for part in found.terms)

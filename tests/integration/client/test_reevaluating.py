"""A stricter policy is put in force: what is stored is judged by it, and what is taken back goes through the log."""

import pytest

from eunoe.client.reevaluating import Waiting, reevaluate
from eunoe.client.review_shown import ShownSuspended
from eunoe.domain.reevaluation import TRUST_LOWERED, Standing
from eunoe.readmodels.recall.errors import ReadRefused
from integration.client.test_reviewing import Reviewers, people

__all__ = ["people"]
TOOL = {"kind": "tool", "uri": "crm://2"}
STRICT = (
    ('[sources.tool]\ntrust = "asserted"', '[sources.tool]\ntrust = "untrusted"'),
    ("[kinds.episode]", "[kinds.occurrence]"),
)


async def test_what_the_policy_no_longer_allows_is_found_and_taken_back(people: Reviewers) -> None:
    kept = await people.writes("Prefers tea.")
    tool = await people.writes("Pays by invoice.", source=TOOL)
    episode = await people.writes("Called about a parcel.", kind="episode")
    gone = await people.writes("Has a dog.", kind="episode", subject="boris")
    await people.officer.forget_subject("boris", tenant="acme")

    same = await reevaluate(people.reviewer, "acme")
    assert (same.found, same.judged, same.erased, same.left) == ([], 3, 1, 0)
    await people.policy(*STRICT)
    with pytest.raises(ReadRefused):
        await reevaluate(people.agent, "acme", apply=True)

    seen = await reevaluate(people.reviewer, "acme")
    assert (seen.policy_version, seen.judged, seen.erased, seen.left) == (2, 3, 1, 2)
    assert [(each.memory_id, each.judgement.standing, each.judgement.reasons) for each in seen.found] == [
        (tool.memory_id, Standing.WAITS, ("untrusted_source", TRUST_LOWERED)),
        (episode.memory_id, Standing.REFUSED, ("unknown_kind",)),
    ]
    assert [each.outcome for each in seen.found] == [None, None]
    assert (await reevaluate(people.reviewer, "acme")).found == seen.found, "looking changed nothing"

    first = await reevaluate(people.reviewer, "acme", apply=True)
    assert [each.outcome for each in first.found] == [None, "done"]
    again = await reevaluate(people.reviewer, "acme", apply=True, waiting=Waiting.SUSPEND)
    assert [(each.memory_id, each.outcome) for each in again.found] == [(tool.memory_id, "done")]
    assert (await reevaluate(people.reviewer, "acme")).found == []
    await sent_back_and_let_in_again(people, str(tool.memory_id), str(kept.memory_id))

    history = await people.reviewer.history("acme", str(episode.memory_id))
    last = history.entries[-1]
    assert (last.kind, last.reasons, last.principal, last.policy_version) == (
        "MemoryRetracted",
        ("policy.unknown_kind",),
        "dev-reviewer",
        2,
    )
    found = await people.agent.inspect(tenant="acme", agent="bot", purpose="support")
    assert {each.record.memory_id for each in found.records} == {kept.memory_id, tool.memory_id}
    assert gone.memory_id not in {each.memory_id for each in seen.found}


async def sent_back_and_let_in_again(people: Reviewers, memory_id: str, kept: str) -> None:
    """No reader gets what was sent back; a reviewer sees it with its text, and an approval brings it back for good."""
    where = {"tenant": "acme", "agent": "bot", "purpose": "support"}
    outcome = (await people.reviewer.decisions("acme", memory_id=memory_id))[-1]
    assert (outcome.decision, outcome.reasons) == (
        "kept_in_quarantine",
        ("policy.untrusted_source", "policy.trust_lowered"),
    )
    token = (await people.writes("Likes cats.")).token
    found = await people.agent.search("invoice tea", after=token, **where)
    assert [each.memory_id for each in found.records] == [kept]
    (item,) = (await people.reviewer.reviews("acme", reason="suspended", after=token)).items
    shown = await people.reviewer.review(memory_id, "acme")
    assert isinstance(shown, ShownSuspended)
    assert (shown.item, shown.record.statement if shown.record else None) == (item, "Pays by invoice.")
    version = shown.item.version
    done = await people.reviewer.promote(memory_id, tenant="acme", expected_version=version)
    found = await people.agent.search("invoice", after=done.token, **where)
    assert [each.memory_id for each in found.records] == [memory_id]
    assert (await reevaluate(people.reviewer, "acme")).found == [], "what a person let in is not asked about again"
    likes = (await people.agent.search("cats", **where)).records[0]
    await people.agent.retract(likes.memory_id, tenant="acme", expected_version=1)

"""Four states of the switches and observing, against every operation: one table, tried on the real stack (M88, B69)."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from e2e.conftest import People
from eunoe.client.memory import Memory
from eunoe.client.no_memory import NoMemory
from eunoe.client.reading import scope_of
from eunoe.client.switching import SwitchSubject, set_switch
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.schemas.ids import MemoryId, PrincipalName, TenantId, new_id
from eunoe.schemas.outcomes import Outcome, OutcomeStatus
from eunoe.schemas.values import Writing
from eunoe.testing.waiting import until

DOCUMENT: Final = Path(__file__).resolve().parents[2] / "docs" / "governance.md"

STATES: Final[Mapping[str, tuple[bool, Writing]]] = {
    "both on": (True, Writing.ON),
    "reads off": (False, Writing.ON),
    "writes off": (True, Writing.OFF),
    "both off": (False, Writing.OFF),
    "observe": (True, Writing.OBSERVE),
}
TABLE: Final[Mapping[str, tuple[str, str, str, str, str]]] = {
    # what adds to memory
    "remember": ("accepted", "accepted", "writes_off", "writes_off", "observed"),
    "correct": ("accepted", "accepted", "writes_off", "writes_off", "observed"),
    # what brings into use what is there
    "promote": ("done", "reads_off", "writes_off", "writes_off", "done"),
    "confirm": ("done", "reads_off", "writes_off", "writes_off", "done"),
    "resolve": ("done", "reads_off", "writes_off", "writes_off", "done"),
    "readmit": ("done", "done", "writes_off", "writes_off", "done"),
    # what takes away
    "reject": ("done", "done", "done", "done", "done"),
    "retract": ("done", "done", "done", "done", "done"),
    "forget a memory": ("done", "done", "done", "done", "done"),
    "forget a subject": ("done", "done", "done", "done", "done"),
    "expire": ("done", "done", "done", "done", "done"),
    # what shows content, or how it came to be
    "search": ("answered", "reads_off", "answered", "reads_off", "answered"),
    "search, or go on without": ("answered", "no memory", "answered", "no memory", "answered"),
    "get": ("answered", "reads_off", "answered", "reads_off", "answered"),
    "why": ("answered", "reads_off", "answered", "reads_off", "answered"),
    "inspect": ("answered", "reads_off", "answered", "reads_off", "answered"),
    "history": ("answered", "reads_off", "answered", "reads_off", "answered"),
    # what shows none
    "outcome": ("answered", "answered", "answered", "answered", "answered"),
    "review list": ("answered", "answered", "answered", "answered", "answered"),
}
"""What each operation is answered in each state: one column per entry of `STATES`."""

AGENT: Final = "support-bot"
USER: Final = {"kind": "user_explicit", "uri": "crm://tickets/1"}
MAIL: Final = {"kind": "third_party", "uri": "mail://1"}
TOOL: Final = {"kind": "tool", "uri": "crm://tickets/2"}


@dataclass(frozen=True, slots=True)
class Place:
    """One tenant, in one state, with something there for every operation. ``made``: records by what is done to them."""

    people: People
    tenant: str
    made: Mapping[str, Outcome]

    async def remember(self, statement: str, **over: Any) -> Outcome:
        return await self.people.agent.remember(statement, **self.fields(**over))

    def fields(self, **over: Any) -> dict[str, Any]:
        usual = {"tenant": self.tenant, "agent": AGENT, "purposes": ["support"], "source": USER, "ttl": "P30D"}
        return {**usual, "subject": "customer-1", **over}

    def memory(self, what: str) -> str:
        return str(self.made[what].memory_id)

    @property
    def ask(self) -> dict[str, Any]:
        return {"tenant": self.tenant, "agent": AGENT, "purpose": "support"}

    @property
    def at_one(self) -> dict[str, Any]:
        return {"tenant": self.tenant, "expected_version": 1}


async def furnished(people: People, tenant: str) -> Place:
    """Memory on: everything that the operations will need."""
    bare = Place(people, tenant, {})
    made = {
        "found": await bare.remember("Delivery is at noon."),
        "corrected": await bare.remember("Coffee is taken black."),
        "retracted": await bare.remember("Lunch is at one."),
        "forgotten": await bare.remember("The meeting room is blue."),
        "promoted": await bare.remember("Invoices are sent on Mondays.", source=MAIL),
        "rejected": await bare.remember("Parcels are left with the neighbour.", source=MAIL),
        "confirmed": await bare.remember("The office closes at six.", source=TOOL),
        "one": await bare.remember("The bus leaves at seven.", key="bus"),
        "resolved": await bare.remember("The bus leaves at eight.", key="bus"),
        "leaving": await bare.remember("The garden is large.", subject="leaving"),
        "left": await bare.remember("The garden is small.", subject="left"),
    }
    assert {each.status for each in made.values()} == {OutcomeStatus.ACCEPTED, OutcomeStatus.QUARANTINED}, made
    assert made["resolved"].conflicts == (made["one"].memory_id,)
    gone = await people.officer.forget_subject("left", tenant=tenant)
    assert gone.status is OutcomeStatus.DONE
    return replace(bare, made=made)


async def remember(at: Place) -> Outcome:
    return await at.remember("Tea is taken with milk.")


async def correct(at: Place) -> Outcome:
    fields = at.fields(expected_version=1)
    return await at.people.agent.correct(at.memory("corrected"), "Coffee is taken white.", **fields)


async def promote(at: Place) -> Outcome:
    return await at.people.reviewer.promote(at.memory("promoted"), **at.at_one)


async def confirm(at: Place) -> Outcome:
    return await at.people.reviewer.confirm(at.memory("confirmed"), **at.at_one)


async def resolve(at: Place) -> Outcome:
    return await at.people.agent.resolve(
        at.memory("resolved"), over=[{"memory_id": at.memory("one"), "version": 2}], **at.at_one
    )


async def readmit(at: Place) -> Outcome:
    return await at.people.officer.readmit("left", tenant=at.tenant)


async def reject(at: Place) -> Outcome:
    return await at.people.reviewer.reject(at.memory("rejected"), reason="not_accepted", **at.at_one)


async def retract(at: Place) -> Outcome:
    return await at.people.agent.retract(at.memory("retracted"), **at.at_one)


async def forget_memory(at: Place) -> Outcome:
    return await at.people.officer.forget_memory(at.memory("forgotten"), tenant=at.tenant)


async def forget_subject(at: Place) -> Outcome:
    return await at.people.officer.forget_subject("leaving", tenant=at.tenant)


async def expire(at: Place) -> str:
    """By the sweeper; looked at past the gate, for the reads may be off."""

    async def over() -> bool:
        histories = at.people.agent.reading.histories
        found = await histories.history(TenantId(at.tenant), MemoryId(at.memory("expiring")))
        return [each.kind for each in found.entries][-1] == "MemoryExpired"

    await until(over)
    return "done"


async def search(at: Place) -> object:
    found = await at.people.agent.search("delivery", **at.ask)
    assert [each.statement for each in found.records] == ["Delivery is at noon."]
    return found


async def search_or_not(at: Place) -> object:
    found = await at.people.agent.try_search("delivery", **at.ask)
    if isinstance(found, NoMemory):
        assert (found.reason, found.fallback) == ("reads_off", "answer without memory")
        return "no memory"
    return found


async def get(at: Place) -> object:
    reading = at.people.agent.reading
    found = await reading.reader.get(scope_of(reading.principal, **at.ask), MemoryId(at.memory("found")))
    assert found is not None
    return found


async def why(at: Place) -> object:
    return await at.people.agent.why(at.memory("found"), "delivery", **at.ask)


async def inspect(at: Place) -> object:
    return await at.people.agent.inspect(**at.ask)


async def history(at: Place) -> object:
    return await at.people.agent.history(memory_id=at.memory("found"), **at.ask)


async def outcome(at: Place) -> object:
    found = await at.people.agent.outcome(at.tenant, at.made["found"].command_id)
    assert found is not None
    return "answered"


async def review_list(at: Place) -> object:
    return await at.people.reviewer.reviews(at.tenant)


OPERATIONS: Final[Mapping[str, Callable[[Place], Awaitable[object]]]] = {
    "remember": remember,
    "correct": correct,
    "promote": promote,
    "confirm": confirm,
    "resolve": resolve,
    "readmit": readmit,
    "reject": reject,
    "retract": retract,
    "forget a memory": forget_memory,
    "forget a subject": forget_subject,
    "expire": expire,
    "search": search,
    "search, or go on without": search_or_not,
    "get": get,
    "why": why,
    "inspect": inspect,
    "history": history,
    "outcome": outcome,
    "review list": review_list,
}


async def answered(at: Place, operation: str) -> str:
    """A word of the table."""
    try:
        found = await OPERATIONS[operation](at)
    except ReadRefused as refused:
        return refused.reason
    match found:
        case str():
            return found
        case Outcome(status=OutcomeStatus.REJECTED, reason=reason):
            return str(reason)
        case Outcome(status=status):
            return status.value
        case _:
            return "answered"


async def switched(people: People, places: Mapping[str, Place]) -> None:
    """Each tenant into its state; returns once this process's deciders and all three clients follow."""
    officer = replace(people.platform.settings, principal=PrincipalName("dev-officer"))
    offset = -1
    for state, (reads, writes) in STATES.items():
        subject = SwitchSubject(tenant=TenantId(places[state].tenant))
        offset = (await set_switch(officer, subject, reads=reads, writes=writes, reason="the table")).offset

    async def followed() -> bool:
        clients: tuple[Memory, ...] = (people.agent, people.reviewer, people.officer)
        if any(each.reading.gate.state.offset < offset for each in clients):
            return False
        # The last switch that was set is that of observing; whoever has read it has read the others.
        return (await places["observe"].remember(f"A probe, {new_id()}.")).status is OutcomeStatus.OBSERVED

    await until(followed, 2)


async def test_every_operation_in_every_state_is_answered_as_the_table_says(people: People) -> None:
    places = {state: await furnished(people, f"t-{state.replace(' ', '-')}") for state in STATES}
    for state, place in places.items():
        # Last, so that its time is over when the switches are set already.
        made = {**place.made, "expiring": await place.remember("The code is one.", ttl="PT6S")}
        assert made["expiring"].status is OutcomeStatus.ACCEPTED
        places[state] = replace(place, made=made)
    await switched(people, places)
    found = {each: tuple([await answered(places[state], each) for state in STATES]) for each in TABLE}
    assert found == TABLE


def test_the_table_of_the_documentation_is_this_one() -> None:
    rows = re.findall(r"^\| (.+?) \|$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    cells = [tuple(cell.strip().replace("`", "") for cell in row.split("|")) for row in rows]
    head = cells.index(("operation", *STATES))
    assert {row[0]: row[1:] for row in cells[head + 1 : head + 1 + len(TABLE)]} == TABLE


def test_every_operation_of_the_table_is_tried() -> None:
    assert set(OPERATIONS) == set(TABLE)

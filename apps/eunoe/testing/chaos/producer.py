"""One producer of the load, as a process of its own: an ordinary client that goes on whatever becomes of the world.

    python -m eunoe.testing.chaos.producer NAME SEED RATE JOURNAL

It writes what it did into the journal, one JSON document a line: each command as it is handed over, and again when
Kafka has confirmed it. The texts it wrote stand there too, for the search for plaintext afterwards; so the journal lies
outside all that is searched. SIGTERM: it sends nothing more, waits for what is on its way, exits 0.
"""

import asyncio
import contextlib
import json
import random
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

from eunoe.client.lines import line_of
from eunoe.client.memory import Memory
from eunoe.crypto.errors import CryptoWorldError
from eunoe.producers.client import Asked, Sent
from eunoe.producers.errors import KeyRefused, SubjectClosed
from eunoe.runtime.errors import WorldFault
from eunoe.schemas.ids import CommandId, new_id

TENANTS: Final = tuple(f"tenant-{number}" for number in range(6))
_PEOPLE: Final = 4
_CLAIMS: Final = 3
_AT_ONCE: Final = 40
"""Commands on their way; beyond, a producer holds back, as one that is not to fill up does."""
_KNOWN: Final = 300
_GIVE_UP_S: Final = 60.0
_SHORT: Final = "PT25S"
_SEEDS: Final = 1 << 32


@dataclass(slots=True)
class Journal:
    """What was done, and how often what else happened."""

    file: TextIO
    counts: dict[str, int] = field(default_factory=dict)

    def note(self, **what: Any) -> None:
        self.file.write(json.dumps(what) + "\n")

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


@dataclass(slots=True)
class Producer:
    """What one client does: a steady mix of commands and their repetitions, chosen by ``dice``."""

    memory: Memory
    journal: Journal
    dice: random.Random
    name: str
    number: int = 0
    leaver: int = 0
    recent: list[tuple[Mapping[str, Any], str]] = field(default_factory=list)
    """Fields of remembered records with the memory's id."""

    async def step(self) -> None:
        """One command, by weight. Raises what the client raises."""
        steps: Mapping[Callable[[], Any], int] = {
            self.remember: 62,
            self.correct: 10,
            self.retract: 6,
            self.repeat: 7,
            self.reuse: 4,
            self.resend: 5,
            self.third_party: 3,
            self.about_a_leaver: 3,
        }
        (step,) = self.dice.choices(list(steps), list(steps.values()))
        await step()

    async def remember(self, **over: Any) -> None:
        fields = self._fields(**over)
        sent = await self._send(fields)
        if sent.memory_id is not None:
            self.recent.append((fields, sent.memory_id))
            del self.recent[:-_KNOWN]

    async def third_party(self) -> None:
        await self.remember(source={"kind": "third_party", "uri": "mail://17", "event_ids": ["e-17"]})

    async def correct(self) -> None:
        """Of a record at version 1, or one that has moved on: then it is refused."""
        if self.recent:
            old, memory_id = self.dice.choice(self.recent)
            over = {"tenant": old["tenant"], "subject": old["subject"], "op": "correct"}
            await self._send(self._fields(**over, supersedes=memory_id, expected_version=1))

    async def retract(self) -> None:
        if self.recent:
            old, memory_id = self.recent.pop(self.dice.randrange(len(self.recent)))
            await self._send({"op": "retract", "tenant": old["tenant"], "memory_id": memory_id, "expected_version": 1})

    async def repeat(self) -> None:
        """The same request again, under a command id of its own."""
        if self.recent:
            fields, memory_id = self.dice.choice(self.recent)
            await self._send({**fields, "memory_id": memory_id})

    async def reuse(self) -> None:
        """The idempotency key of another request."""
        if self.recent:
            fields, _ = self.dice.choice(self.recent)
            await self._send({**fields, "statement": self._statement()})

    async def resend(self) -> None:
        """One command twice under one id, as a client does that had no answer."""
        fields, command_id = self._fields(), CommandId(new_id())
        await self._send(fields, command_id)
        await self._send(fields, command_id)

    async def about_a_leaver(self) -> None:
        """Somebody who asks to be forgotten at some time; then another one comes."""
        try:
            await self.remember(subject=f"leaver-{self.leaver}", tenant=TENANTS[0])
        except (KeyRefused, SubjectClosed):
            self.journal.count("subject closed")
            self.leaver += 1

    def _fields(self, **over: Any) -> dict[str, Any]:
        short, claimed = self.dice.random() < 0.15, self.dice.random() < 0.08
        return {
            "op": "remember",
            "tenant": self.dice.choice(TENANTS),
            "agent": "chaos-bot",
            "subject": f"customer-{self.dice.randrange(_PEOPLE)}",
            "purposes": ["support"],
            "statement": self._statement(),
            "key": f"door.{self.dice.randrange(_CLAIMS)}" if claimed else None,
            "source": {"kind": "user_explicit", "uri": "crm://tickets/4711", "event_ids": ["e-1"]},
            "ttl": _SHORT if short else "P180D",
            "idempotency_key": f"{self.name}-{self.number}-{self.dice.randrange(_SEEDS)}",
            **over,
        }

    def _statement(self) -> str:
        self.number += 1
        return f"Note {self.number} of {self.name}: parcels go to the neighbour's door after work."

    async def _send(self, fields: Mapping[str, Any], command_id: CommandId | None = None) -> Sent:
        line = line_of(dict(fields))
        if "statement" in fields:
            self.journal.note(text=fields["statement"])
        key = fields.get("idempotency_key") or new_id()
        if command_id is None:
            sent = await self.memory.send(line, idempotency_key=key)
        else:
            ready = self.memory.place(line)
            assert ready is not None, "only what is remembered is sent again"
            sent = await self.memory.producer.remember(ready, Asked(idempotency_key=key, command_id=command_id))
        self.journal.note(sent=sent.command_id)
        await sent.written()
        self.journal.note(written=sent.command_id)
        return sent


@dataclass(slots=True)
class Pace:
    """``rate`` a second, and never more than `_AT_ONCE` on their way."""

    producer: Producer
    rate: float
    going: set[asyncio.Task[None]] = field(default_factory=set)
    broken: BaseException | None = None

    async def run(self, ending: asyncio.Event) -> None:
        """Returns when told to end, and all is settled. Raises what is none of the world's faults."""
        while not ending.is_set() and self.broken is None:
            if len(self.going) < _AT_ONCE:
                task = asyncio.create_task(self._one())
                self.going.add(task)
                task.add_done_callback(self._ended)
            else:
                self.producer.journal.count("held back")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ending.wait(), 1 / self.rate)
        if self.going:
            await asyncio.wait(self.going, timeout=_GIVE_UP_S)
        if self.broken is not None:
            raise self.broken

    async def _one(self) -> None:
        try:
            async with asyncio.timeout(_GIVE_UP_S):
                await self.producer.step()
        except (WorldFault, CryptoWorldError, KeyRefused, SubjectClosed, TimeoutError) as fault:
            self.producer.journal.count(type(fault).__name__)
        else:
            self.producer.journal.count("confirmed")

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.going.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.broken = error


async def produce(name: str, seed: int, rate: float, journal: Path) -> None:
    ending = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    with journal.open("w", buffering=1) as file:
        book = Journal(file)
        async with Memory.connect() as memory:
            producer = Producer(memory, book, random.Random(f"{seed}/{name}"), name)
            book.note(started=name)
            await Pace(producer, rate).run(ending)
        book.note(counts=book.counts)


if __name__ == "__main__":
    asyncio.run(produce(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])))

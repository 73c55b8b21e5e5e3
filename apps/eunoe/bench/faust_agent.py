"""A plain Faust agent that decides: one Redis read, `decide`, one awaited send per record, at least once.

Run as a process of its own by `run_agent`: Faust wants its own loop. Per record it does what anybody would write with
Faust's documentation open: check the MAC, read what is known in one MGET, open the body, judge it with all rules, send
the outcome and wait until Kafka has it. It writes no state, which a real one would have to: the comparison favours it.
"""

import asyncio
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import faust
from faust.worker import Worker

from eunoe.domain.decide import decide
from eunoe.domain.entries import decode_entry
from eunoe.domain.ledger_questions import known, wanted
from eunoe.processors.heading import header_of
from eunoe.processors.ledger.keys import entry, ledger_prefix
from eunoe.processors.opening import Opener
from eunoe.processors.receiving import RawRecord, Received, Receiver
from eunoe.runtime.settings import load_settings
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.events import CommandRejected, Event
from eunoe.schemas.ids import Millis, Offset, Partition
from eunoe.schemas.topics import Topic
from eunoe.schemas.values import Writing
from eunoe.worker.examining import examiner
from eunoe.worker.foundation import Foundation, open_foundation
from eunoe.worker.rules import ControlRules, rules_of

WARM_UP: Final = 100
"""Records before the clock starts: the agent's first ones fill its key cache."""


class Agent:
    """Judges one record after the other."""

    def __init__(self, foundation: Foundation, rules: ControlRules, partition: Partition) -> None:
        base = foundation
        log_id = base.installation.log_id
        self.redis = base.redis
        self.rules = rules
        self.prefix = ledger_prefix(log_id, partition)
        self.opener = Opener(base.keyring(), lambda: base.key_models.caught_up(partition), examiner())
        events = base.installation.topic(Topic.EVENTS)
        self.receiver = Receiver(log_id, events, partition, base.installation.partitions)

    async def outcome(self, offset: int, key: bytes, value: bytes, at: Millis) -> bytes:
        """The encoded fact. Raises RuntimeError for a record that cannot be judged: a benchmark has none."""
        rules = self.rules.current()
        raw = RawRecord(Offset(offset), at, key, value)
        received = self.receiver.receive(raw, rules.verifiers, rules.policy.idempotency_retention)
        if not isinstance(received, Received):
            raise RuntimeError(f"not a command: {received.why}")
        command_id, command = received.envelope.command_id, received.command
        names = wanted(command_id, command, {})
        values = await self.redis.mget([entry(self.prefix, name) for name in names])
        entries = {
            name: None if found is None else decode_entry(cast("bytes", found))
            for name, found in zip(names, values, strict=True)
        }
        opened = await self.opener.open(received, what := known(command_id, command, entries), rules.policy)
        (fact,) = decide(opened, what, at, rules.policy, Writing.ON, reading=True)
        if isinstance(fact, CommandRejected):
            raise RuntimeError(f"refused: {fact.reason}")
        return EVENTS.encode(Event(header=header_of(received, opened, fact, rules, at), fact=fact))


def app_of(task: Mapping[str, Any]) -> faust.App:
    """``task``: source, target, partition, wanted. Prints one JSON line when ``wanted`` records are done."""
    settings = load_settings(os.environ)
    app = faust.App(
        task["source"],
        broker=f"kafka://{settings.kafka}",
        value_serializer="raw",
        key_serializer="raw",
        topic_partitions=1,
        topic_replication_factor=1,
        consumer_auto_offset_reset="earliest",
        web_enabled=False,
        datadir=str(Path(tempfile.gettempdir()) / "eunoe-faust-bench"),
    )
    source, target = app.topic(task["source"], value_type=bytes), app.topic(task["target"], value_type=bytes)

    @app.agent(source)
    async def judge(stream: Any) -> None:
        async with open_foundation(settings) as foundation:
            rules = rules_of(foundation)
            agent, done, begun = Agent(foundation, rules, Partition(task["partition"])), 0, 0.0
            async for event in stream.events():
                message = event.message
                at = Millis(int(message.timestamp * 1_000))
                value = await agent.outcome(message.offset, message.key, message.value, at)
                await (await target.send(key=message.key, value=value))
                done += 1
                if done == WARM_UP:
                    begun = time.perf_counter()
                elif done == task["wanted"]:
                    rate = (done - WARM_UP) / (time.perf_counter() - begun)
                    print(json.dumps({"rate": rate}), flush=True)

    return app


async def run_agent(environ: Mapping[str, str], task: Mapping[str, Any], deadline_s: float = 120.0) -> float:
    """Records per second of the agent in a process of its own. Raises TimeoutError or RuntimeError if it ends early."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, json.dumps(task)),
        env=dict(environ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(deadline_s):
            while line := await process.stdout.readline():
                if line.startswith(b"{"):
                    return float(json.loads(line)["rate"])
        raise RuntimeError("the Faust agent ended early")
    finally:
        process.kill()
        await process.wait()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    application = app_of(json.loads(sys.argv[1]))
    worker = Worker(application, override_logging=False, redirect_stdouts=False, quiet=True)
    worker.spinner = None
    worker.execute_from_commandline()

"""A client in a process of its own that stays, with caches as warm as in any agent that runs for long.

On each line of stdin the words and scope of a search, as JSON; on stdout the ids of the records that it brought.
"""

import asyncio
import json
import sys

from eunoe.client.memory import Memory


async def answer() -> None:
    async with Memory.connect() as memory:
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            found = await memory.search(asked.pop("query"), timeout=20.0, **asked)
            print(json.dumps([each.memory_id for each in found.records]), flush=True)


asyncio.run(answer())

"""Where everything in this process stands, as text for a log: file, line and function, never a value.

A suspended task shows only its outermost frame to `asyncio.Task.get_stack`; what it waits for is found by following
what each coroutine awaits. No source lines, no locals, no exception texts: none of them is free of content for sure.
"""

import asyncio
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, Final

_DEPTH: Final = 60
_NAMED: Final = 8
"""Names listed of tasks that stand at the same place."""


def task_stacks() -> str:
    """Every unfinished task of the running loop; tasks at the same place are listed once."""
    places: dict[str, list[str]] = defaultdict(list)
    for task in asyncio.all_tasks():
        places["\n".join(_awaited(task.get_coro()))].append(task.get_name())
    blocks = []
    for place, names in sorted(places.items(), key=lambda each: len(each[1])):
        listed = ", ".join(sorted(names)[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        blocks.append(f"{len(names)} task(s): {listed}\n{place}")
    return "\n".join(blocks)


def thread_stacks() -> str:
    """Every thread of the process. May be called from any of them."""
    names = {each.ident: each.name for each in threading.enumerate()}
    blocks = []
    for ident, frame in sys._current_frames().items():
        lines = [_line(each.f_code, each.f_lineno) for each in _frames(frame)]
        blocks.append("\n".join([f"thread {names.get(ident, 'unknown')}", *reversed(lines)]))
    return "\n".join(blocks)


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    for _ in range(_DEPTH):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _awaited(waiting: Any) -> Iterator[str]:
    """From the task's coroutine to what it waits for in the end."""
    for _ in range(_DEPTH):
        for prefix in ("cr", "gi", "ag"):
            code, frame = getattr(waiting, f"{prefix}_code", None), getattr(waiting, f"{prefix}_frame", None)
            if code is not None:
                yield _line(code, code.co_firstlineno if frame is None else frame.f_lineno)
                break
        else:
            yield f"  awaits a {type(waiting).__qualname__}"
            return
        waiting = _next(waiting, prefix)
        if waiting is None:
            return


def _next(waiting: Any, prefix: str) -> Any:
    return getattr(waiting, f"{prefix}_yieldfrom" if prefix == "gi" else f"{prefix}_await", None)


def _line(code: CodeType, number: int | None) -> str:
    return f"  {code.co_filename}:{number} {code.co_qualname if hasattr(code, 'co_qualname') else code.co_name}"

"""A stack for as long as a block runs: for tests and the demo."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from eunoe.stack import keeper
from eunoe.stack.local import LocalOptions, LocalStack

FORGETFUL = LocalOptions(append_only=False)


@contextmanager
def local_stack(
    directory: Path | None = None,
    options: LocalOptions = FORGETFUL,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[LocalStack]:
    """A started broker and Redis of one's own, killed at the end of the block or when this process dies.

    Without ``directory`` it lives in a temporary folder that is removed. Entering blocks for about five seconds, and
    for a download the first time: in async code, enter it before the event loop runs. Raises `StackError`.
    """
    own = directory is None
    place = (Path(tempfile.mkdtemp(prefix="eunoe-")) if directory is None else directory).absolute()
    place.mkdir(parents=True, exist_ok=True)
    watcher = keeper.start(place, remove=own)
    stack = LocalStack(place, options, environ)
    try:
        stack.up()
        yield stack
    finally:
        stack.kill()
        keeper.release(watcher)
        if own:
            shutil.rmtree(place, ignore_errors=True)

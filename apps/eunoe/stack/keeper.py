"""A watcher that ends a throwaway stack when the process that wanted it is gone, however it went.

Its standard input is a pipe that only that process holds open. SIGINT, SIGTERM or SIGKILL of the owner close it; the
keeper then kills what the records in the folder name, and removes the folder. (PR_SET_PDEATHSIG would be tied to the
owner's *thread*, and exists only on Linux.)
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from eunoe.stack.local import LocalStack

_END_SECONDS = 30.0


def start(directory: Path, *, remove: bool) -> subprocess.Popen[bytes]:
    """Watch this process. In a session of its own, so that Ctrl-C ends the owner first."""
    return subprocess.Popen(
        [sys.executable, "-m", "eunoe.stack.keeper", str(directory), "remove" if remove else "keep"],
        stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
    )


def release(keeper: subprocess.Popen[bytes]) -> None:
    """The stack has been ended by its owner: let the keeper go, too."""
    assert keeper.stdin is not None
    keeper.stdin.close()
    keeper.wait(_END_SECONDS)


def main() -> None:
    directory, then = Path(sys.argv[1]), sys.argv[2]
    while sys.stdin.buffer.read(4096):
        pass
    LocalStack(directory).kill()
    if then == "remove":
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()

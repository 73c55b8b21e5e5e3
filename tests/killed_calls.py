"""Calls of `eunoe keys …`, each killed (SIGKILL) before or after a record on ``memory-control``; run as a program.

On stdin: a list of ``[[when, stage] or null, arguments]``; on stdout: the exit code of each, negative for a signal.
Each call is a fork of this process, so that Python and eunoe are imported once.
"""

import json
import os
import signal
import sys
from typing import Any

import eunoe.operations.key_rotation as rotation
from eunoe.cli.main import main
from eunoe.readmodels.rebuild import lease


def ends(at: list[str] | None) -> None:
    """This process dies there."""
    real: Any = getattr(rotation, "publish_control")  # noqa: B009  # not exported by that module

    async def publish(*given: Any, body: bytes, **more: Any) -> Any:
        stage = json.loads(body)["stage"]
        if at == ["before", stage]:
            os.kill(os.getpid(), signal.SIGKILL)
        done = await real(*given, body=body, **more)
        if at == ["after", stage]:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    setattr(rotation, "publish_control", publish)  # noqa: B010
    setattr(lease, "LEASE_MS", 1_200)  # noqa: B010  # a constant; the next call waits for its end
    setattr(lease, "_RENEW_S", 0.3)  # noqa: B010


def call(at: list[str] | None, arguments: list[str]) -> int:
    child = os.fork()
    if child == 0:
        ends(at)
        sys.argv = ["eunoe", *arguments]
        os.dup2(2, 1)
        try:
            main()
        except SystemExit as ended:
            os._exit(ended.code if isinstance(ended.code, int) else 1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    print(json.dumps([call(at, arguments) for at, arguments in json.load(sys.stdin)]))

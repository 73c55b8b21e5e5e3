"""Nothing is left running or lying about, however the process ends that wanted the stack."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eunoe.stack.probes import kafka_answers, redis_answers, wait_until

OWNER = """
import json, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have told them to ignore it
from eunoe.stack.throwaway import local_stack
with local_stack() as stack:
    print(json.dumps(stack.endpoints.as_json()), flush=True)
    time.sleep(120)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_stack_ends_with_its_owner(number: signal.Signals, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as owner:
        assert owner.stdout is not None
        endpoints = json.loads(owner.stdout.readline())
        assert kafka_answers(endpoints["kafka"])
        assert redis_answers(endpoints["redis"])
        assert Path(endpoints["directory"]).is_dir()

        owner.send_signal(number)
        owner.wait(30)

    assert wait_until(lambda: not Path(endpoints["directory"]).exists(), 30)
    assert not kafka_answers(endpoints["kafka"])
    assert not redis_answers(endpoints["redis"])

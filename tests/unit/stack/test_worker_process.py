"""Which workers a stack has."""

from pathlib import Path

import pytest

from eunoe.stack.worker_process import WorkerProcess, Workers
from eunoe.worker.roles import ALL, parse_roles


def roles(worker: WorkerProcess) -> str:
    command = worker.prepare({"http": 1})
    return command[command.index("--roles") + 1]


@pytest.mark.parametrize(("cores", "count"), [(1, 1), (2, 2), (64, 2)])
def test_the_workers_have_every_role_once_whatever_the_cores(tmp_path: Path, cores: int, count: int) -> None:
    workers = Workers(tmp_path, cores=cores).wanted
    assert len(workers) == count == len({each.directory for each in workers})
    assert sorted(role for each in workers for role in parse_roles(roles(each))) == sorted(ALL)


def test_what_was_never_started_has_no_status_and_nothing_to_stop(tmp_path: Path) -> None:
    workers = Workers(tmp_path)
    assert workers.status() == ()
    assert workers.problems() == []
    assert workers.stop() == ()

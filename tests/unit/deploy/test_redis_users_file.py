"""The file of Redis users is the table of permissions."""

import os
import subprocess
from pathlib import Path

import pytest

from eunoe.operations.permissions import Agent
from eunoe.operations.store_permissions import READS, WRITES, Model, rules, users_file
from eunoe.runtime.settings import Settings

FILE = Path(__file__).resolve().parents[3] / "deploy" / "redis" / "users.sh"


def test_the_file_is_the_table() -> None:
    assert FILE.read_text() == users_file(Settings())


@pytest.mark.parametrize(
    ("answer", "code"), [("OK", 0), ("(error) ERR Unknown command or category name in ACL", 1), ("", 1)]
)
def test_a_user_that_was_refused_is_an_error_though_redis_cli_says_nothing(
    tmp_path: Path, answer: str, code: int
) -> None:
    """A stand-in for redis-cli, which ends with 0 where it reads commands."""
    each_line = f'while read -r line; do [ -z "{answer}" ] || echo "{answer}"; done'
    (tmp_path / "redis-cli").write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/asked"\n{each_line}\n')
    (tmp_path / "redis-cli").chmod(0o755)
    passwords = {f"EUNOE_{agent.upper()}_PASSWORD": "secret" for agent in Agent}
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "EUNOE_REDIS": "redis://localhost"} | passwords
    done = subprocess.run(["/bin/sh", str(FILE)], env=environ, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert ("Not every user" in done.stderr) is (code == 1)
    assert (tmp_path / "asked").read_text() == "-u redis://localhost\n"
    environ |= {"EUNOE_REDIS": "rediss://localhost", "EUNOE_REDIS_CA": "/a folder/ca.pem"}
    subprocess.run(["/bin/sh", str(FILE)], env=environ, capture_output=True, check=False, timeout=20)
    assert (tmp_path / "asked").read_text() == "-u rediss://localhost --cacert /a folder/ca.pem\n"


def test_what_makes_the_system_safe_is_in_the_table() -> None:
    writers = {model: {agent for agent in Agent if model in WRITES[agent]} for model in Model}
    assert writers[Model.LEDGER] == {Agent.DECIDER}
    assert writers[Model.SHRED] == {Agent.SHREDDER}
    assert writers[Model.ATTEST] == {Agent.ATTESTER}
    assert writers[Model.RECALL] == {Agent.PROJECTOR, Agent.OPERATOR}
    assert {agent for agent in Agent if Model.LEDGER in READS[agent]} == {Agent.OPERATOR}
    assert not any(WRITES[agent] for agent in (Agent.PRODUCER, Agent.READER, Agent.CLIENT))


def test_who_writes_nothing_loads_no_functions_that_others_would_run() -> None:
    given = {agent: rules(Settings(), agent) for agent in Agent}
    assert {agent for agent in Agent if "+function|load" in given[agent]} == {each for each in Agent if WRITES[each]}


def test_each_role_speaks_for_its_own_processes_alone_of_who_holds_keys() -> None:
    """And an operator strikes off those that are dead."""
    given = {agent: rules(Settings(), agent) for agent in Agent}
    for agent in Agent:
        (own,) = [each for each in given[agent].split() if each.startswith("%RW~") and ":holders" in each]
        pattern = "*" if agent is Agent.OPERATOR else f"g*:of:eunoe-{agent}"
        assert own == f"%RW~eunoe:*:{{p*}}:holders:{pattern}"

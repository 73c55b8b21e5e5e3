"""The file of Redis users is the table of permissions."""

from pathlib import Path

from eunoe.operations.permissions import Agent
from eunoe.operations.store_permissions import READS, WRITES, Model, rules, users_file
from eunoe.runtime.settings import Settings

FILE = Path(__file__).resolve().parents[3] / "deploy" / "redis" / "users.sh"


def test_the_file_is_the_table() -> None:
    assert FILE.read_text() == users_file(Settings())


def test_what_makes_the_system_safe_is_in_the_table() -> None:
    writers = {model: {agent for agent in Agent if model in WRITES[agent]} for model in Model}
    assert writers[Model.LEDGER] == {Agent.DECIDER}
    assert writers[Model.SHRED] == {Agent.SHREDDER}
    assert writers[Model.ATTEST] == {Agent.ATTESTER}
    assert writers[Model.RECALL] == {Agent.PROJECTOR, Agent.OPERATOR}
    assert {agent for agent in Agent if Model.LEDGER in READS[agent]} == {Agent.OPERATOR}
    assert not any(WRITES[agent] for agent in (Agent.PRODUCER, Agent.READER, Agent.CLIENT))


def test_who_writes_nothing_loads_no_functions_that_others_would_run() -> None:
    assert {agent for agent in Agent if "+function|load" in rules(agent)} == {agent for agent in Agent if WRITES[agent]}

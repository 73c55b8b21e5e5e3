"""The file of ACLs is the table of permissions."""

from pathlib import Path

from eunoe.operations.permissions import READS, WRITES, Agent, acl_file
from eunoe.runtime.settings import Settings
from eunoe.schemas.topics import Topic

FILE = Path(__file__).resolve().parents[3] / "deploy" / "kafka" / "acls.sh"


def test_the_file_is_the_table() -> None:
    assert FILE.read_text() == acl_file(Settings())


def test_what_makes_the_system_safe_is_in_the_table() -> None:
    writers = {topic: {agent for agent in Agent if topic in WRITES[agent]} for topic in Topic}
    assert writers[Topic.LIFECYCLE] == {Agent.DECIDER}
    assert writers[Topic.KEYS] == {Agent.DECIDER, Agent.SHREDDER}
    assert writers[Topic.RECEIPTS] == {Agent.ATTESTER}
    assert writers[Topic.CONTROL] == {Agent.OPERATOR}
    assert WRITES[Agent.PRODUCER] == (Topic.EVENTS,)
    assert Topic.KEYS not in READS[Agent.PRODUCER]

"""Who may do what to which topic: the one table behind the Kafka ACLs of an installation (DESIGN §1).

A role is a principal of the cluster, ``<group>-<role>``. Kafka cannot tell a key that is issued from one that is
destroyed: both are writes to ``memory-keys``, so the decider and the shredder have it and nobody else. All roles may
read ``memory-lifecycle``, which holds no readable text: its first records say which installation this is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from eunoe.runtime.settings import Settings
from eunoe.schemas.topics import Topic


class Agent(StrEnum):
    """Who connects to Kafka, and to Redis."""

    PRODUCER = "producer"
    """Writes commands and waits for outcomes: an import, an agent that only remembers."""
    READER = "reader"
    """Searches. What it asked is not kept with its traces: the key for that is asked for with a command."""
    CLIENT = "client"
    """Both: `eunoe.client.Memory` as most use it."""
    OFFICER = "officer"
    """The command line of those who review, forget, export and hold: also receipts, and the log that an export is
    made from."""
    DECIDER = "decider"
    PROJECTOR = "projector"
    SHREDDER = "shredder"
    ATTESTER = "attester"
    OPERATOR = "operator"
    """`eunoe policy apply`, switches, `eunoe lag`, `eunoe doctor`. Creating topics is the administrator's."""


class Act(StrEnum):
    """Kafka's names of operations."""

    READ = "Read"
    WRITE = "Write"
    DESCRIBE = "Describe"
    DESCRIBE_CONFIGS = "DescribeConfigs"


class Kind(StrEnum):
    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONS = "transactional-id"


_ALL: Final = tuple(Topic)
_HEADER: Final = """\
#!/bin/sh
# Made from the table in apps/eunoe/operations/permissions.py; a test compares. For an installation without a prefix.
# Each role is a principal of the cluster. Run with EUNOE_KAFKA, as an administrator, with StandardAuthorizer; where it
# asks for a login, EUNOE_KAFKA_ADMIN names the file with the administrator's client settings.
set -e"""
WRITES: Final = {
    Agent.PRODUCER: (Topic.EVENTS,),
    Agent.READER: (Topic.ACCESS,),
    Agent.CLIENT: (Topic.EVENTS, Topic.ACCESS),
    Agent.OFFICER: (Topic.EVENTS, Topic.ACCESS),
    Agent.DECIDER: (Topic.EVENTS, Topic.LIFECYCLE, Topic.KEYS, Topic.DEAD_LETTERS),  # events: the sweeper's proposals
    Agent.PROJECTOR: (),
    Agent.SHREDDER: (Topic.KEYS,),
    Agent.ATTESTER: (Topic.RECEIPTS,),
    Agent.OPERATOR: (Topic.CONTROL,),
}
READS: Final = {
    Agent.PRODUCER: (Topic.LIFECYCLE, Topic.CONTROL),
    Agent.READER: (Topic.LIFECYCLE, Topic.CONTROL, Topic.ACCESS),
    Agent.CLIENT: (Topic.LIFECYCLE, Topic.CONTROL, Topic.ACCESS),
    Agent.OFFICER: (
        *(Topic.LIFECYCLE, Topic.CONTROL, Topic.ACCESS),
        *(Topic.KEYS, Topic.RECEIPTS, Topic.DEAD_LETTERS),
    ),
    Agent.DECIDER: (Topic.EVENTS, Topic.LIFECYCLE, Topic.KEYS, Topic.CONTROL),
    Agent.PROJECTOR: (Topic.LIFECYCLE, Topic.KEYS, Topic.CONTROL),
    Agent.SHREDDER: (Topic.LIFECYCLE, Topic.KEYS, Topic.CONTROL),
    Agent.ATTESTER: (Topic.LIFECYCLE, Topic.KEYS, Topic.CONTROL, Topic.RECEIPTS),
    Agent.OPERATOR: _ALL,
}
_GROUPED: Final = frozenset({Agent.DECIDER, Agent.PROJECTOR, Agent.SHREDDER, Agent.ATTESTER})
_TRANSACTIONAL: Final = frozenset({Agent.DECIDER, Agent.SHREDDER, Agent.ATTESTER})
_OWN: Final = {Agent.DECIDER: "decide", Agent.SHREDDER: "shred", Agent.ATTESTER: "attest"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """``prefixed``: ``name`` is what the resource's name starts with."""

    agent: Agent
    act: Act
    kind: Kind
    name: str
    prefixed: bool = False

    def command(self, bootstrap: str, principal: str) -> str:
        """For Kafka's own tool."""
        pattern = " --resource-pattern-type prefixed" if self.prefixed else ""
        return (
            f"kafka-acls.sh --bootstrap-server {bootstrap} --add --allow-principal User:{principal} "
            f"--operation {self.act} --{self.kind} {self.name}{pattern}"
        )


def grants(settings: Settings) -> Iterator[Grant]:
    """All that is allowed; with StandardAuthorizer, what is not is refused."""
    group = f"{settings.prefix}{settings.group}-"
    for agent in Agent:
        for act, topics in ((Act.READ, READS[agent]), (Act.WRITE, WRITES[agent]), (Act.DESCRIBE, _ALL)):
            for topic in topics:
                yield Grant(agent=agent, act=act, kind=Kind.TOPIC, name=settings.topics.name(topic))
        own = group + _OWN.get(agent, "")
        if agent in _GROUPED:
            yield Grant(agent=agent, act=Act.READ, kind=Kind.GROUP, name=own, prefixed=True)
        if agent in _TRANSACTIONAL:
            yield Grant(agent=agent, act=Act.WRITE, kind=Kind.TRANSACTIONS, name=own, prefixed=True)
        if agent is Agent.OPERATOR:
            yield Grant(agent=agent, act=Act.DESCRIBE, kind=Kind.GROUP, name=group, prefixed=True)
        if agent in (Agent.OPERATOR, Agent.SHREDDER):
            for topic in _ALL:
                name = settings.topics.name(topic)
                yield Grant(agent=agent, act=Act.DESCRIBE_CONFIGS, kind=Kind.TOPIC, name=name)


def principal_of(settings: Settings, agent: Agent) -> str:
    return f"{settings.group}-{agent}"


def acl_file(settings: Settings) -> str:
    """``deploy/kafka/acls.sh``: one command for each grant, to be read and run by the cluster's administrator."""
    where = '"$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"}'
    commands = (grant.command(where, principal_of(settings, grant.agent)) for grant in grants(settings))
    return "\n".join([_HEADER, *commands, ""])

"""Who may read and write what in Redis: the one table behind the users of Redis of an installation (DESIGN §1).

The same agents as in Kafka (`permissions`), each a user ``<group>-<role>``. Keys are granted by read model, whatever
the installation, partition and generation. Nobody but a worker may load Functions: a function runs with the rights of
whoever calls it, so that one who could load any could have a worker run it.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from eunoe.operations.permissions import Agent, principal_of
from eunoe.runtime.settings import Settings


class Model(StrEnum):
    """Whose keys: what stands in the prefix of a key after the partition."""

    LEDGER = "ledger"
    KEYS = "keys"
    SUBJECTS = "subjects"
    OUTCOMES = "outcomes"
    RECALL = "recall"
    REVIEW = "review"
    HISTORY = "history"
    SHRED = "shred"
    SHRED_LETTERS = "shred-letters"
    ATTEST = "attest"


READ_MODELS: Final = (Model.KEYS, Model.SUBJECTS, Model.OUTCOMES, Model.RECALL, Model.REVIEW, Model.HISTORY)
WRITES: Final = {
    Agent.PRODUCER: (),
    Agent.READER: (),
    Agent.CLIENT: (),
    Agent.OFFICER: (),
    Agent.DECIDER: (Model.LEDGER,),
    Agent.PROJECTOR: READ_MODELS,
    Agent.SHREDDER: (Model.SHRED, Model.SHRED_LETTERS),
    Agent.ATTESTER: (Model.ATTEST,),
    Agent.OPERATOR: READ_MODELS,  # `eunoe rebuild`, `eunoe doctor --repair`
}
READS: Final = {
    Agent.PRODUCER: (Model.KEYS, Model.SUBJECTS, Model.OUTCOMES),
    Agent.READER: (Model.KEYS, Model.SUBJECTS, Model.OUTCOMES, Model.RECALL, Model.HISTORY),
    Agent.CLIENT: READ_MODELS,
    Agent.OFFICER: READ_MODELS,
    Agent.DECIDER: (Model.KEYS, Model.SUBJECTS),
    Agent.PROJECTOR: (),
    Agent.SHREDDER: (Model.KEYS, Model.SUBJECTS),
    Agent.ATTESTER: READ_MODELS,
    Agent.OPERATOR: tuple(Model),
}
LEDGER_POSITION: Final = "ledger:g*:watermark"
"""How far the deciders are: what write-to-readable lag is measured from. It says nothing about anybody."""
HOLDERS: Final = "holders:*"
"""Who holds which key-encryption key: whoever opens keys says so, each user in a list of its own, and a rotation waits
for all of them. Only an operator strikes others off."""
_WORKERS: Final = frozenset({Agent.DECIDER, Agent.PROJECTOR, Agent.SHREDDER, Agent.ATTESTER})
_EVERYBODY: Final = (
    "-@all +@read +@connection +@transaction -@dangerous -scan -randomkey +fcall_ro +function|list +info "
    "+hset +hdel +time +cluster|slots +cluster|shards +cluster|nodes +cluster|keyslot +readonly +readwrite +command"
)
_LISTING: Final = "(-@all +sadd %W~eunoe:*:{p*}:holders:g*:users)"
"""A selector of its own: added to, and no more, also by who may write other keys."""
_WRITER: Final = "+@write -@dangerous -function|delete -function|flush -function|restore +fcall +function|load +info"
_MORE: Final = {
    # What a forgotten tenant had is found by walking the names of all keys, and those alone.
    Agent.DECIDER: "+scan",
    Agent.PROJECTOR: "+scan",
    Agent.OPERATOR: "+scan +config|get +memory|usage",
    Agent.ATTESTER: "+config|get +bgrewriteaof +bgsave",  # Redis's own files are written anew before a receipt says so
}
_HEADER: Final = """\
#!/bin/sh
# Made from the table in apps/eunoe/operations/store_permissions.py; a test compares.
# Run with EUNOE_REDIS, the URL of an administrator, and a password for each user (no spaces or quotes) in
# EUNOE_<ROLE>_PASSWORD; on a cluster for every node. Where it is rediss:// and the system does not know who signed its
# certificate, EUNOE_REDIS_CA names the file (PEM). With an `aclfile`, ACL SAVE keeps the users over a restart.
# Give the user `default` a password of its own, or switch it off, afterwards.
set -eu
answers=$(redis-cli -u "$EUNOE_REDIS" ${EUNOE_REDIS_CA:+--cacert "$EUNOE_REDIS_CA"} <<END"""
_FOOTER: Final = """\
END
)
# redis-cli that reads commands ends with 0 whatever it was answered.
if [ -z "$answers" ] || printf '%s\\n' "$answers" | grep -qvx OK; then
    printf '%s\\n' "$answers" "Not every user was made; keep the user default until all were." >&2
    exit 1
fi"""


def rules(settings: Settings, agent: Agent) -> str:
    """What comes after ``ACL SETUSER NAME reset on >PASSWORD``."""
    return " ".join(("resetchannels", *_keys(settings, agent), _commands(agent), _LISTING))


def acl_lines(settings: Settings) -> Iterator[str]:
    """One ``ACL SETUSER`` for each agent; the password is a variable of the shell."""
    for agent in Agent:
        password = f">$EUNOE_{agent.upper()}_PASSWORD"
        yield f"ACL SETUSER {principal_of(settings, agent)} reset on {password} {rules(settings, agent)}"


def users_file(settings: Settings) -> str:
    """``deploy/redis/users.sh``: to be read and run by whoever administers Redis."""
    return "\n".join([_HEADER, *acl_lines(settings), _FOOTER, ""])


def _keys(settings: Settings, agent: Agent) -> Iterator[str]:
    for model in WRITES[agent]:
        yield f"%RW~{_pattern(model)}"
    for model in READS[agent]:
        if model not in WRITES[agent]:
            yield f"%R~{_pattern(model)}"
    if agent in _WORKERS and agent is not Agent.DECIDER:
        yield f"%R~eunoe:*:{{p*}}:{LEDGER_POSITION}"
    own = HOLDERS if agent is Agent.OPERATOR else f"holders:g*:of:{principal_of(settings, agent)}"
    yield f"%RW~eunoe:*:{{p*}}:{own}"
    yield f"{'%RW' if agent in _WORKERS else '%R'}~eunoe:installation:*"
    yield "%R~eunoe:is-it-there"


def _pattern(model: Model) -> str:
    return f"eunoe:*:{{p*}}:{model}:*"


def _commands(agent: Agent) -> str:
    more = [_EVERYBODY]
    if WRITES[agent]:
        more.append(_WRITER)
    if agent in _MORE:
        more.append(_MORE[agent])
    return " ".join(more)

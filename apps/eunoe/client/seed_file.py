"""A start-up file ``memory.yaml`` as lines of `eunoe ingest`, so that its records are judged like any others.

A record becomes the same command each time: ingested twice, the file changes nothing. One that was changed in the file
is refused (``idempotency_mismatch``, or ``version_conflict`` with a new revision), never silently rewritten.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec
import yaml

from eunoe.client.seed_keys import BadSeedKeys, check_keys
from eunoe.schemas.contract.records import UNKNOWN, MemoryRecord, source_kind
from eunoe.schemas.contract.seeds import seed_records
from eunoe.schemas.ids import MemoryId, derived_id

SUFFIXES: Final = frozenset({".yaml", ".yml"})

KINDS: Final = {"language_preference": "preference", "validated_fact": "fact", "working_note": "note"}
"""The built-in kinds of the file as kinds of eunoe. Any other is a name of the policy."""


class NotYaml(ValueError):
    """The file is no YAML. Only the place is named: YAML's own messages quote the text. Blame: caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedScope:
    """What the file cannot say, the same for each of its records."""

    agent: str
    purposes: tuple[str, ...]
    ttl: str
    subject: str | None = None
    visibility: str = "agent"
    sensitivity: str = "personal"


def is_seed_file(file: Path) -> bool:
    """Whether a file's name says that it is one."""
    return file.suffix.lower() in SUFFIXES


def read_seeds(raw: bytes) -> tuple[MemoryRecord, ...]:
    """The records. Raises `NotYaml`, `BadSeedKeys`, or TypeError and ValueError in the words of the contract."""
    try:
        check_keys(raw)
        config = yaml.safe_load(raw)
    except BadSeedKeys:
        raise
    except yaml.YAMLError as error:
        raise NotYaml(f"Memory store config is not YAML{_place(error)}") from None
    except (RecursionError, ValueError):
        # Nested beyond reason, or a number or date that looks like one and is none.
        raise NotYaml("Memory store config is not YAML") from None
    return seed_records(config)


def seed_memory_id(record: MemoryRecord, agent: str) -> MemoryId:
    """The id of the memory that a seed becomes for an agent; the file's own id stays with it as ``external_id``."""
    return _id_of(record, agent, record.memory_id)


def _id_of(record: MemoryRecord, agent: str, named: str) -> MemoryId:
    return MemoryId(derived_id("seed", record.tenant_id, agent, named))


def seed_line(record: MemoryRecord, scope: SeedScope) -> bytes:
    """The record as a line that remembers it. Provenance ``unknown`` is left out: the file's entry is all there is.

    Raises ValueError for text that is no Unicode.
    """
    memory_id = seed_memory_id(record, scope.agent)
    source = {"kind": source_kind(record.source), "uri": _uri(record)}
    if record.provenance != UNKNOWN:
        source["provenance"] = record.provenance
    line: dict[str, Any] = {
        "op": "remember",
        "tenant": record.tenant_id,
        "agent": scope.agent,
        "subject": scope.subject,
        "purposes": scope.purposes,
        "visibility": scope.visibility,
        "kind": KINDS.get(record.kind, record.kind),
        "class": record.memory_class,
        "statement": record.content,
        "source": source,
        "confidence": record.confidence,
        "sensitivity": scope.sensitivity,
        "ttl": scope.ttl,
        "external_id": record.memory_id,
        # What a memory says never changes: it is the seed at its first version, whatever happened to it since.
        "derived_from": [
            {"memory_id": _id_of(record, scope.agent, each), "version": 1} for each in record.derived_from
        ],
        "memory_id": memory_id,
        "idempotency_key": f"seed-{memory_id}-{record.revision}",
    }
    try:
        return msgspec.json.encode(line)
    except UnicodeEncodeError:
        # A lone surrogate, which YAML can write as an escape. The error itself would quote it.
        raise ValueError("Memory record is not Unicode text") from None


def seed_lines(raw: bytes, scope: SeedScope) -> tuple[bytes, ...]:
    """All records as lines, in order; see `read_seeds` for what is raised."""
    return tuple(seed_line(record, scope) for record in read_seeds(raw))


def _uri(record: MemoryRecord) -> str:
    """The entry and revision of the file, under the source it names; not the file's name, which may change."""
    return f"seed:{quote(record.source, safe='')}/{quote(record.memory_id, safe='')}@{record.revision}"


def _place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return "" if mark is None else f" (line {mark.line + 1}, column {mark.column + 1})"

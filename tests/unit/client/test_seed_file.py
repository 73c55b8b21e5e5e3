"""`memory.yaml` becomes the lines that `eunoe ingest` takes, the same ones each time."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from eunoe.client.lines import RememberLine, parse_line
from eunoe.client.seed_file import NotYaml, SeedScope, is_seed_file, read_seeds, seed_lines
from eunoe.client.seed_keys import BadSeedKeys
from eunoe.schemas.ids import is_uuid
from eunoe.schemas.values import MemoryClass, SourceKind, Visibility

FILE = b"""\
memory:
  seed_records:
    - tenant_id: acme
      memory_class: profile
      kind: language_preference
      content: Prefers concise English answers.
      source: trusted_profile
      confidence: 0.95
      provenance: user_confirmed_preference
    - tenant_id: acme
      memory_class: long_term
      kind: validated_fact
      content: Tickets must name who asked.
      source: trusted_service
      provenance: validated_service_rule
    - memory_id: note-7
      tenant_id: acme
      memory_class: short_term
      kind: working_note
      content: The last run used one tool.
      source: session_state
      confidence: 0.7
      provenance: ephemeral_session_note
      revision: 2
    - tenant_id: acme
      memory_class: long_term
      kind: episode
      content: Somebody said so.
      source: some web page
"""
SCOPE = SeedScope(agent="bot", purposes=("support",), ttl="P30D")
CANARY = "canary-Quirin"


def lines(raw: bytes = FILE, scope: SeedScope = SCOPE) -> list[RememberLine]:
    parsed = [parse_line(line) for line in seed_lines(raw, scope)]
    assert all(type(line) is RememberLine for line in parsed)
    return [line for line in parsed if isinstance(line, RememberLine)]


def seeds(**changes: Any) -> bytes:
    usual = {"tenant_id": "acme", "memory_class": "profile", "kind": "note", "content": "x", "source": "tool"}
    return str(yaml.safe_dump({"memory": {"seed_records": [{**usual, **changes}]}})).encode()


def test_kinds_classes_and_sources_are_those_of_eunoe() -> None:
    assert [line.kind for line in lines()] == ["preference", "fact", "note", "episode"]
    assert [line.memory_class for line in lines()] == [
        MemoryClass.PROFILE,
        MemoryClass.LONG_TERM,
        MemoryClass.SHORT_TERM,
        MemoryClass.LONG_TERM,
    ]
    assert [line.source.kind for line in lines()] == [
        SourceKind.USER_EXPLICIT,
        SourceKind.SYSTEM,
        SourceKind.TOOL,
        SourceKind.THIRD_PARTY,
    ]
    assert lines(seeds(source="user_explicit"))[0].source.kind is SourceKind.USER_EXPLICIT


def test_the_files_ids_stay_as_external_ids_and_the_place_in_the_file_is_the_source() -> None:
    assert [line.external_id for line in lines()] == ["mem-001", "mem-002", "note-7", "mem-004"]
    assert lines()[2].source.uri == "seed:session_state/note-7@2"
    assert lines()[3].source.uri == "seed:some%20web%20page/mem-004@1"
    assert [line.source.provenance for line in lines()][1:] == [
        "validated_service_rule",
        "ephemeral_session_note",
        None,
    ]


def test_a_memory_id_comes_of_tenant_agent_and_the_files_id_alone() -> None:
    usual = lines(seeds())[0]
    assert usual.memory_id is not None
    assert is_uuid(usual.memory_id)
    assert lines(seeds(content="other", confidence=1, revision=9))[0].memory_id == usual.memory_id
    others = [
        lines(seeds(tenant_id="other"))[0],
        lines(seeds(memory_id="mem-002"))[0],
        lines(seeds(), SeedScope(agent="other", purposes=("support",), ttl="P30D"))[0],
    ]
    assert len({usual.memory_id, *(each.memory_id for each in others)}) == 4


def test_the_same_file_gives_the_same_bytes_and_another_revision_another_idempotency_key() -> None:
    assert seed_lines(FILE, SCOPE) == seed_lines(FILE, SCOPE)
    assert lines(seeds(content="a"))[0].idempotency_key == lines(seeds(content="b"))[0].idempotency_key
    assert lines(seeds(revision=1))[0].idempotency_key != lines(seeds(revision=2))[0].idempotency_key


def test_what_the_file_cannot_say_is_the_scopes() -> None:
    said = {"ttl": "P7D", "subject": "anna", "visibility": "shared", "sensitivity": "public"}
    scope = SeedScope(agent="bot", purposes=("a", "b"), **said)
    line = lines(seeds(), scope)[0]
    assert (line.agent, line.purposes, line.subject) == ("bot", ("a", "b"), "anna")
    assert (line.visibility, line.sensitivity, line.ttl) == (Visibility.SHARED, "public", "P7D")


@pytest.mark.parametrize(("name", "is_one"), [("memory.yaml", True), ("M.YML", True), ("m.jsonl", False), ("m", False)])
def test_a_file_is_told_by_its_suffix(name: str, is_one: bool) -> None:
    assert is_seed_file(Path(name)) is is_one


@pytest.mark.parametrize(
    "raw",
    [
        f"memory: [{CANARY}".encode(),
        f"memory: {{a: b}}\n  {CANARY}: c: d".encode(),
        b"memory: \xff\xfe" + CANARY.encode(),
        f"memory: !!python/object/apply:os.getenv [{CANARY}]".encode(),
        f"when: 2026-13-45\n{CANARY}: 1".encode(),
        b"[" * 5_000 + CANARY.encode(),
    ],
)
def test_what_is_no_yaml_is_refused_without_a_word_of_it(raw: bytes) -> None:
    with pytest.raises(NotYaml, match="Memory store config is not YAML") as refused:
        read_seeds(raw)
    assert CANARY not in str(refused.value)


def test_a_wrong_record_is_refused_in_the_words_of_the_contract_and_with_it_the_file() -> None:
    good = FILE.decode()
    with pytest.raises(TypeError, match=r"^Memory record #4 field must be a string: content$"):
        seed_lines(good.replace("Somebody said so.", "2026-01-01").encode(), SCOPE)
    with pytest.raises(TypeError, match=r"^Memory store config must be a mapping$"):
        seed_lines(b"", SCOPE)
    with pytest.raises(ValueError, match=r"^Memory record #2 confidence must be between 0 and 1$"):
        seed_lines(good.replace("source: trusted_service", "source: x\n      confidence: .nan").encode(), SCOPE)
    with pytest.raises(ValueError, match=r"^Memory record is not Unicode text$"):
        seed_lines(good.replace("Somebody said so.", '"\\ud800"').encode(), SCOPE)
    assert len(seed_lines(FILE, SCOPE)) == 4


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("confidence: 0.95", "confidense: 0.95", 8, "'confidense' is no field of a record; known: confidence, content"),
        ("confidence: 0.95", "confidence: 0.95\n      confidence: 0.1", 9, "'confidence' is there twice"),
        ("memory:\n", "memory:\n  seed_records: []\n", 3, "'seed_records' is there twice"),
        ("confidence: 0.95", f"{CANARY} said so: 1", 8, "a key is no field"),
        ("confidence: 0.95", "<<: {confidense: 1}", 8, "'confidense' is no field"),
    ],
)
def test_a_key_that_is_there_twice_or_that_no_record_has_is_refused_with_its_line(
    old: str, new: str, line: int, told: str
) -> None:
    with pytest.raises(BadSeedKeys) as caught:
        read_seeds(FILE.replace(old.encode(), new.encode(), 1))
    assert str(caught.value).startswith(f"Memory store config line {line}: {told}")
    assert CANARY not in str(caught.value)


def test_an_alias_that_leads_back_and_a_merge_of_fields_are_read() -> None:
    merged = FILE.replace(b"confidence: 0.95", b"<<: {confidence: 0.9, revision: 3}")
    assert (read_seeds(merged)[0].confidence, read_seeds(merged)[0].revision) == (0.9, 3)
    with pytest.raises((NotYaml, TypeError, ValueError)):
        read_seeds(b"memory: &m\n  seed_records:\n    - *m\n")

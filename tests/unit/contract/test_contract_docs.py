"""docs/contracts.md is true: its examples are taken. Its error texts are held to account in `test_contract_errors`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from eunoe.schemas.contract.documents import DOCUMENTS, parse_document
from eunoe.schemas.contract.json_schema import stored_schema
from eunoe.schemas.contract.seeds import seed_records

PAGE = (Path(__file__).parents[3] / "docs" / "contracts.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_there_is_an_example_of_each_document() -> None:
    kinds = [json.loads(block)["kind"] for block in blocks("json")]
    assert sorted(kinds) == sorted(str(each.__struct_config__.tag) for each in DOCUMENTS)


@pytest.mark.parametrize("block", blocks("json"))
def test_an_example_is_taken_by_type_and_schema(block: str) -> None:
    plain: dict[str, Any] = json.loads(block)
    Draft202012Validator(stored_schema(plain["kind"])).validate(plain)
    assert set(plain) == set(stored_schema(plain["kind"])["properties"])
    parse_document(block)


def test_the_start_up_file_loads() -> None:
    (block,) = blocks("yaml")
    (record,) = seed_records(yaml.safe_load(block))
    assert (record.memory_id, record.revision) == ("mem-001", 1)

"""Each benchmark from end to end in tiny sizes: it runs, and its document is whole. What it measures is not judged."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eunoe.bench.locomo_data import locomo_folder
from eunoe.stack.provider import Endpoints

_SECONDS = 150


def document_of(stack: Endpoints, *arguments: str) -> dict[str, Any]:
    """What ``eunoe bench … --json`` prints."""
    named = {"EUNOE_KAFKA": stack.kafka, "EUNOE_REDIS": stack.redis, "EUNOE_DECIDE_BATCH": "50"}
    result = subprocess.run(
        [sys.executable, "-m", "eunoe.cli.main", "bench", *arguments, "--json"],
        capture_output=True,
        env={**os.environ, **named, "EUNOE_PROJECT_BATCH": "50"},
        timeout=_SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stderr.decode()
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["bench"] == arguments[0]
    assert document["machine"]["cores"] >= 1
    assert all(each["values"] and each["low"] > 0 for each in document["figures"])
    return document


def names(document: dict[str, Any]) -> set[str]:
    return {each["name"] for each in document["bars"]}


def test_decide(stack: Endpoints) -> None:
    document = document_of(stack, "decide", "--records", "300", "--repetitions", "1", "--agent-records", "150")
    assert len(names(document)) == 3
    assert document["sizes"]["batch"] == 50


def test_project(stack: Endpoints) -> None:
    document = document_of(stack, "project", "--records", "200", "--repetitions", "1")
    assert document["sizes"]["postings_a_record"] == pytest.approx(20, abs=0.5)
    figures = {each["name"]: each["median"] for each in document["figures"]}
    assert 500 < figures["bytes in Redis, recall alone"] < 20_000


def test_search(stack: Endpoints) -> None:
    sizes = ("--records", "200", "--records", "400", "--queries", "20", "--rounds", "1", "--exact", "10")
    document = document_of(stack, "search", *sizes)
    recalls = [each for each in document["bars"] if "recall@10" in each["name"]]
    assert len(recalls) == 2
    assert {row[1] for row in document["grids"][0]["rows"]} == {"default ranking", "all passes"}
    assert all(0 < each["found"] <= 1 for each in recalls)
    assert [each for each in names(document) if "growth" in each]


def test_end_to_end(stack: Endpoints) -> None:
    document = document_of(stack, "end-to-end", "--backlog", "300", "--seconds", "2", "--probes", "10")
    assert len(names(document)) == 2
    assert all(row[1] > 0 for row in document["grids"][0]["rows"])


def test_locomo(stack: Endpoints) -> None:
    if not (locomo_folder() / "26.json").is_file():
        pytest.skip(f"LoCoMo is not in {locomo_folder()}: set EUNOE_LOCOMO to read it from elsewhere")
    document = document_of(stack, "locomo", "--conversation", "26")
    assert document["sizes"] == {"conversations": 1, "observations": 184, "questions": 150}
    assert {row[1] for row in document["grids"][0]["rows"]} == {5, 10, 20}


def test_nothing_is_left_in_somebody_elses_stack(stack: Endpoints, tmp_path: Path) -> None:
    from redis import Redis

    document_of(stack, "project", "--records", "200", "--repetitions", "1")
    with Redis.from_url(stack.redis) as redis:
        assert not list(redis.scan_iter(match="eunoe:installation:bench-*"))


def test_erasure(stack: Endpoints) -> None:
    document = document_of(stack, "erasure", "--subjects", "2", "--records", "1", "--repetitions", "1")
    reached = {row[1]: row[2] for row in document["grids"][0]["rows"]}
    assert (reached["logical"], reached["compacted"]) == (2, 2)
    (bar,) = document["bars"]
    assert bar["name"] == "scanned, 2 at once, slowest of all"
    assert bar["note"] == "proved for 0 of 2", "nobody told this bench where the segment files are"


def test_rebuild(stack: Endpoints) -> None:
    """In sizes this small only the document is looked at; the models were proved equal, or there would be none."""
    document = document_of(stack, "rebuild", "--events", "900", "--searches", "20")
    assert len(names(document)) == 6
    figures = {each["name"]: each["median"] for each in document["figures"]}
    assert figures["900, bare read"] > figures["900, history, live projecting"]
    rows = {
        row[0]: dict(zip(document["grids"][0]["columns"], row, strict=True)) for row in document["grids"][0]["rows"]
    }
    assert set(rows) == {"900, history", "900, recall"}
    assert 500 < rows["900, recall"]["bytes in Redis an item"] < 20_000
    assert rows["900, recall"]["found by words"] > 0
    sizes = document["sizes"]
    assert sizes["superseded"] > 0
    assert sizes["expired"] > 0

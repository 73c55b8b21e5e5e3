"""The diagram in the docs is the table."""

from pathlib import Path

from eunoe.domain.memory import diagram

DOCS = Path(__file__).resolve().parents[3] / "docs" / "lifecycle.md"


def test_the_docs_hold_the_table_as_it_is() -> None:
    assert f"```mermaid\n{diagram()}```" in DOCS.read_text("utf-8")

"""What the bench commands answer before anything is started."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from eunoe.bench.commands import bench
from eunoe.bench.figures import Findings


@pytest.mark.parametrize("name", ["decide", "project", "search", "end-to-end", "erasure", "locomo"])
def test_each_benchmark_is_a_command_with_json(name: str) -> None:
    result = CliRunner().invoke(bench, [name, "--help"])
    assert result.exit_code == 0
    assert "--json" in result.output


def test_absent_data_is_wrong_usage_and_says_what_to_do(tmp_path: Path) -> None:
    result = CliRunner().invoke(bench, ["locomo"], env={"EUNOE_LOCOMO": str(tmp_path / "nowhere")})
    assert result.exit_code == 2
    assert "EUNOE_LOCOMO" in result.output


def test_results_become_markdown(tmp_path: Path) -> None:
    document = Findings(bench="project", sizes={"records": 1}).document({"cores": 2})
    (tmp_path / "one.json").write_text(json.dumps(document), "utf-8")
    result = CliRunner().invoke(bench, ["render", str(tmp_path / "one.json")])
    assert result.exit_code == 0
    assert result.output.startswith("### project\n\nSizes: records 1.\n")


def test_a_size_of_nothing_is_refused() -> None:
    assert CliRunner().invoke(bench, ["decide", "--records", "0"]).exit_code == 2

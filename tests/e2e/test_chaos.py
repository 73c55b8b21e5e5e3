"""A short run of `make chaos`: everything that its report checks holds, and a violation ends it with code 1."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SEED = 4


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_minute_of_faults_loses_doubles_and_leaks_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "eunoe.testing.chaos", "--seed", str(SEED), "--length", "60"]
    done = subprocess.run([*command, "--folder", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]
    report = json.loads((tmp_path / f"seed-{SEED}" / "report.json").read_text())
    assert report["violations"] == []
    assert len(report["seen"]) >= 6, "next to nothing was injected"
    assert report["counts"]["commands"] > 300, "there was hardly any load"
    assert report["counts"]["dead letters"] > 0, "no bad record was sent"

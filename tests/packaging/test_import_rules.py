"""The rules of direction hold, and they would be noticed if they did not."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PORTIONS = ("schemas", "runtime", "processors", "readmodels", "producers", "apps")


def lint_imports(config: Path, cwd: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    environ = {"PYTHONPATH": path, "PATH": "/usr/bin:/bin", "COLUMNS": "200"}
    command = [str(program), "--no-cache", "--config", str(config)]
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)


def test_every_import_goes_down_the_flow() -> None:
    checked = lint_imports(ROOT / "pyproject.toml", ROOT)
    assert checked.returncode == 0, checked.stdout
    assert "0 broken" in checked.stdout


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("eunoe/domain/sly.py", "eunoe.runtime.settings"),
        ("eunoe/domain/sly.py", "eunoe.schemas.codec"),
        ("eunoe/readmodels/sly.py", "eunoe.processors.decider"),
        ("eunoe/producers/sly.py", "eunoe.testing.key_source"),
        ("eunoe/schemas/sly.py", "eunoe.crypto.keyring"),
        ("eunoe/runtime/sly.py", "faust"),
    ],
)
def test_an_import_against_the_flow_is_noticed(tmp_path: Path, module: str, imported: str) -> None:
    merged = tmp_path / "eunoe"
    merged.mkdir()
    for portion in PORTIONS:
        for package in (ROOT / portion / "eunoe").iterdir():
            if package.is_dir() and package.name != "__pycache__":
                target = merged / package.name
                target.mkdir()
                for source in package.rglob("*.py"):
                    copy = target / source.relative_to(package)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy.write_bytes(source.read_bytes())
    (tmp_path / module).write_text(f"import {imported}\n")
    checked = lint_imports(ROOT / "pyproject.toml", tmp_path, str(tmp_path))
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert "sly" in checked.stdout


def test_no_portion_takes_the_namespace_for_itself() -> None:
    strays = [portion for portion in PORTIONS if (ROOT / portion / "eunoe" / "__init__.py").exists()]
    assert strays == []


def test_every_package_says_that_it_is_one() -> None:
    folders = {
        source.parent
        for portion in PORTIONS
        for source in (ROOT / portion / "eunoe").rglob("*.py")
        if source.parent.name != "eunoe"
    }
    assert folders
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []

"""The wheel, installed where the source tree is not: one namespace, its data, and roles that need no more than theirs.

Dependencies come from this environment, so nothing is downloaded; a role's import is tried with everything outside its
extra blocked, which is what an environment without it looks like.
"""

import json
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BASE = ("aiokafka", "cryptography", "fastavro", "msgspec", "redis")
HEAVY = ("faust", "mode", "click", "rich", "prometheus_client", "icu4py", "Stemmer", "bm25s", "numpy", "aiohttp")

_PROBE = """
import importlib, json, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"blocked: {name}", name=name)

BLOCKED, modules = set(json.loads(sys.argv[1])), json.loads(sys.argv[2])
sys.meta_path.insert(0, Blocked())
found = [importlib.import_module(each).__file__ for each in modules]
print(json.dumps({"files": found, "loaded": sorted(BLOCKED & set(sys.modules))}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(out.glob("eunoe-*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh venv that holds the wheel and sees the dependencies of this environment."""
    home = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    interpreter = home / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(interpreter), "install", "--no-deps", "--quiet", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    site = Path(
        subprocess.run(
            [interpreter, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    )
    # Added by path and not as a site folder, whose .pth files would bring the source tree back in.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return interpreter


def probe(python: Path, modules: tuple[str, ...], blocked: tuple[str, ...], cwd: Path) -> dict[str, list[str]]:
    command = [str(python), "-c", _PROBE, json.dumps(blocked), json.dumps(modules)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def test_the_wheel_holds_the_namespace_and_nothing_else(wheel: Path) -> None:
    names = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    assert all(name.startswith("eunoe/") for name in names)
    assert "eunoe/__init__.py" not in names
    for data in (
        "eunoe/schemas/avro/event.1.avsc",
        "eunoe/schemas/policies/development.toml",
        "eunoe/runtime/redis/apply.lua",
        "eunoe/readmodels/recall/recall.lua",
    ):
        assert data in names


def test_a_client_that_only_writes_needs_no_faust(python: Path, tmp_path: Path) -> None:
    modules = ("eunoe.producers.client", "eunoe.crypto.keyring", "eunoe.schemas.codec", "eunoe.runtime.settings")
    found = probe(python, modules, HEAVY, tmp_path)
    assert found["loaded"] == []
    assert all(str(python.parents[1]) in each for each in found["files"]), "the source tree was imported, not the wheel"


def test_what_the_test_above_blocks_is_really_needed_elsewhere(python: Path, tmp_path: Path) -> None:
    command = [str(python), "-c", _PROBE, json.dumps(HEAVY), json.dumps(["eunoe.worker.app"])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "blocked: faust" in done.stderr


@pytest.mark.parametrize("module", ["eunoe.client.memory", "eunoe.worker.app", "eunoe.cli.main", "eunoe.domain.decide"])
def test_every_role_is_imported_from_the_wheel(python: Path, tmp_path: Path, module: str) -> None:
    found = probe(python, (module,), (), tmp_path)
    assert str(python.parents[1]) in found["files"][0]


def test_the_program_is_installed(python: Path, tmp_path: Path) -> None:
    program = python.with_name("eunoe")
    done = subprocess.run([str(program), "--version"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "0.1" in done.stdout

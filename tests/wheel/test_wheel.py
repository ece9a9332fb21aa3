"""The wheel, built, installed in a clean environment and run from elsewhere: themes, profiles and recordings are found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dest = tmp_path_factory.mktemp("wheel")
    argv = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(dest), str(ROOT)]
    subprocess.run(argv, check=True, capture_output=True)
    (built,) = dest.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    venv = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [str(venv / "bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", str(wheel)]
    subprocess.run(pip, check=True, stdin=subprocess.DEVNULL)
    return venv / "bin"


def run(program: Path, *words: str, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([str(program), *words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_data_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.startswith("specconsole/_data/themes/") for name in names)
    assert any(name.startswith("specconsole/_data/profiles/") for name in names)
    assert any(name.startswith("specconsole/host/recordings/") and name.endswith(".gz") for name in names)
    assert not [name for name in names if name.startswith(("tests", "benchmarks"))]
    assert [name for name in names if name.endswith(".data/data/share/man/man1/specconsole.1")]


def test_data_is_found_from_elsewhere(installed: Path, tmp_path: Path) -> None:
    listed = run(installed / "specconsole", "doctor", "--resources", cwd=tmp_path)
    assert "dark" in listed
    assert "minimal" in listed
    assert str(ROOT) not in listed


def test_a_recording_is_played(installed: Path, tmp_path: Path) -> None:
    status = json.loads(run(installed / "specconsole", "status", "demo", "--json", cwd=tmp_path))
    assert status["schema"] == 1
    assert status["units"]


def test_it_completes(installed: Path, tmp_path: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "specconsole" in run(installed / "specconsole", "completions", shell, cwd=tmp_path)
    assert "does-it-pay" in run(installed / "specconsole", "completions", "words", "plan", cwd=tmp_path)


def test_it_runs_as_a_module(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "python", "-m", "specconsole", "--version", cwd=tmp_path).startswith("specconsole ")

"""./dev renews its own environment and clears no other folder; every folder of tests is run by somebody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEV = Path(__file__).resolve().parents[2] / "dev"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"pyvenv.cfg": "", ".checkout": "/somewhere/else"}, "environment of another checkout, /somewhere/else"),
        ({"thesis.txt": "all of it"}, "a folder of something else"),
    ],
)
def test_what_is_not_its_own_stays(files: dict[str, str], said: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "SPECCONSOLE_VENV": str(tmp_path)}
    done = subprocess.run([DEV, "demo"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert said in done.stderr
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files


def test_without_python_it_says_how_to_come_by_one(tmp_path: Path) -> None:
    environment = {**os.environ, "SPECCONSOLE_VENV": str(tmp_path / "venv"), "SPECCONSOLE_PYTHON": "python-that-is-not"}
    done = subprocess.run([DEV, "demo"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("specconsole needs Python 3.10 to 3.13; none is on the PATH.")
    assert "apt-get install python3-venv" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "venv").exists()


def test_an_environment_whose_python_went_away_is_renewed_and_no_index_is_said(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to("/usr/bin/python-that-is-not")
    sums = subprocess.run(["cksum", "pyproject.toml"], cwd=DEV.parent, capture_output=True, text=True, check=True)
    (tmp_path / ".ready").write_text(sums.stdout)
    environment = {
        **os.environ,
        "SPECCONSOLE_VENV": str(tmp_path),
        "SPECCONSOLE_PYTHON": sys.executable,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "",
    }
    done = subprocess.run([DEV, "demo"], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert f"Setting up {tmp_path}" in done.stderr
    assert "It needs a package index" in done.stderr.splitlines()[-1]
    assert not (tmp_path / ".ready").exists()


def test_every_folder_of_tests_is_run() -> None:
    top = DEV.parent
    options = tomllib.loads((top / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    runs = set(options["testpaths"]) | {"tests/e2e", "tests/wheel"}  # of steps of their own in .ci/run
    assert {str(path.parent.relative_to(top)) for path in top.glob("tests/*/test_*.py")} <= runs

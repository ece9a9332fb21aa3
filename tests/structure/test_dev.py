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


def test_every_folder_of_tests_is_run() -> None:
    top = DEV.parent
    options = tomllib.loads((top / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    runs = set(options["testpaths"]) | {"tests/e2e", "tests/wheel"}  # of steps of their own in .ci/run
    assert {str(path.parent.relative_to(top)) for path in top.glob("tests/*/test_*.py")} <= runs

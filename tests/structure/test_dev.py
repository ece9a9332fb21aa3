"""./dev renews its own environment, and clears no other folder that SPECCONSOLE_VENV names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

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

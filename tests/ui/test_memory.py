"""What the screen remembers: written whole and private, read back, never an error."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from specconsole.ui import memory


def test_it_is_read_back(tmp_path: Path) -> None:
    assert memory.save(tmp_path / "state", {"theme": "light"}) == ""
    assert memory.load(tmp_path / "state") == {"theme": "light"}
    assert stat.S_IMODE((tmp_path / "state" / memory.FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize("damaged", ["", "{", "[]", '"x"', '{"theme": 3}', "\x00"])
def test_a_damaged_file_is_as_none(tmp_path: Path, damaged: str) -> None:
    (tmp_path / memory.FILE).write_text(damaged)
    assert memory.load(tmp_path) == {}


def test_no_folder_means_nothing_is_kept() -> None:
    assert memory.load(None) == {}
    assert memory.save(None, {"theme": "x"}) == ""


def test_why_it_was_not_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written" in memory.save(tmp_path / "file" / "below", {})


def test_two_consoles_that_are_left_at_once_do_not_mix_what_they_remember(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from specconsole.ui import memory; "
        "said = {memory.save(Path(sys.argv[1]), {'theme': sys.argv[2] * int(sys.argv[3])}) for _ in range(400)}; "
        "sys.exit(' '.join(said))"
    )
    consoles = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name, length], stderr=subprocess.PIPE)
        for name, length in (("a", "5000"), ("b", "20"))
    ]
    mixed = 0
    while any(console.poll() is None for console in consoles):
        there = (tmp_path / memory.FILE).exists()
        mixed += there and memory.load(tmp_path).get("theme") not in ("a" * 5000, "b" * 20)
    said = [console.communicate()[1] for console in consoles]
    assert (mixed, said) == (0, [b"\n", b"\n"])
    assert [file.name for file in tmp_path.iterdir()] == [memory.FILE]

"""What the screen remembers: written whole and private, read back, never an error."""

from __future__ import annotations

import stat
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

"""Where the program's files lie, on machines where the home is odd or unknown."""

from __future__ import annotations

import errno
import os
import pwd
from pathlib import Path

import pytest

from specconsole import paths
from specconsole.errors import ConfigError, UsageError

NOBODY = "~nobody-is-called-so"


@pytest.fixture(autouse=True)
def _no_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_a_home_that_is_said_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ops")
    assert paths.state_dir() == Path("/home/ops/.local/state/specconsole")
    assert paths.typed("~/x") == Path("/home/ops/x")
    assert paths.typed("~") == Path("/home/ops")


@pytest.mark.parametrize("said", ["", "relative", ".", None])
def test_a_home_that_is_no_place_is_looked_up(monkeypatch: pytest.MonkeyPatch, said: str | None) -> None:
    if said is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", said)
    known = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert paths.state_dir() == known / ".local/state/specconsole"
    assert paths.typed("~/x") == known / "x"


def test_a_relative_xdg_folder_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ops")
    monkeypatch.setenv("XDG_STATE_HOME", "here")
    assert paths.state_dir() == Path("/home/ops/.local/state/specconsole")


def test_a_user_that_the_machine_does_not_know_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    with pytest.raises(ConfigError, match="Set HOME"):
        paths.state_dir()
    assert paths.typed("~/x") == Path("~/x")
    assert paths.typed("/x") == Path("/x")


def test_somebody_who_does_not_exist_stays_as_typed() -> None:
    assert paths.typed(f"{NOBODY}/x") == Path(f"{NOBODY}/x")


def test_a_new_file_is_the_owners_alone_and_over_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new"
    with paths.new_file(path) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert path.stat().st_mode & 0o777 == 0o600
    for there in (path, tmp_path, _dangling(tmp_path)):
        with pytest.raises(UsageError, match="exists already"), paths.new_file(there):
            pytest.fail("it was given")
    assert path.read_bytes() == b"whole"


def _dangling(folder: Path) -> Path:
    link = folder / "link"
    link.symlink_to(folder / "nowhere")
    return link


@pytest.mark.parametrize("end", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt()])
def test_a_new_file_that_is_not_whole_goes_again(tmp_path: Path, end: BaseException) -> None:
    def half() -> None:
        with paths.new_file(tmp_path / "new") as file:
            file.write(b"half")
            raise end

    with pytest.raises((UsageError, KeyboardInterrupt)) as told:
        half()
    assert list(tmp_path.iterdir()) == []
    if isinstance(end, OSError):
        assert "No space left on device. Give another place." in str(told.value)


def test_nothing_is_left_of_what_cannot_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(IsADirectoryError):
        paths.write_private(tmp_path / "there", b"x")
    assert list(tmp_path.iterdir()) == [tmp_path / "there"]

"""The program that writes derived units, in a folder of its own: never over what is not ours, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from specconsole.remote import derive, owned

NEW = b"[Service]\nExecStart=/new\n"
SHOWN = "LoadState=loaded\nActiveState=inactive\nUnitFileState=disabled\nFragmentPath={path}\nDropInPaths=\nJob=\n"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Systemd:
    """What systemctl and systemd-analyze would say."""

    def __init__(self, path: Path) -> None:
        self.shown = SHOWN.format(path=path)
        self.calls: list[tuple[str, ...]] = []
        self.complaints: dict[str, str] = {}
        self.reload = (0, "", "")

    def __call__(self, program: str, *words: str) -> tuple[int, str, str]:
        self.calls.append((program, *words))
        if program == "systemd-analyze":
            where = words[-1]
            said = self.complaints.get("new" if b"/new" in Path(where).read_bytes() else "old", "")
            return 0, "", said.replace("UNIT", where)
        return self.reload if words[0] == "daemon-reload" else (0, self.shown, "")


@pytest.fixture(autouse=True)
def analyzes(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    run = tmp_path_factory.mktemp("run")
    monkeypatch.setattr(derive, "RUN", str(run))
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/systemd-analyze")
    yield
    assert not list(run.iterdir()), "what was verified is gone"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "vllm.service"
    path.write_bytes(b"[Service]\nExecStart=/old\n")
    path.chmod(0o640)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vllm-ngram.service"


@pytest.fixture
def systemd(path: Path) -> Systemd:
    return Systemd(path)


def order(base: Path, path: Path, expect: bytes | None = None) -> dict[str, Any]:
    return {
        "path": str(path),
        "name": path.name,
        "like": str(base),
        "seen": {str(base): digest(base.read_bytes())},
        "expect": "" if expect is None else digest(expect),
    }


def test_it_is_written_with_the_mode_of_the_baseline(base: Path, path: Path, systemd: Systemd) -> None:
    answer = derive.write(order(base, path), NEW, systemd)
    assert (answer["wrote"], answer["mode"]) == (str(path), "0640")
    assert path.read_bytes() == NEW
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(path.parent) == ["vllm-ngram.service", "vllm.service"]
    assert ("systemctl", "daemon-reload") in systemd.calls
    assert derive.write(order(base, path, NEW), NEW + b"#", systemd)["wrote"] == str(path)
    assert path.read_bytes() == NEW + b"#"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def edit_base(base: Path, path: Path) -> None:
    base.write_bytes(b"[Service]\n")


def another_is_there(base: Path, path: Path) -> None:
    path.write_bytes(b"mine\n")


def a_link_is_there(base: Path, path: Path) -> None:
    path.symlink_to(base)


@pytest.mark.parametrize("meanwhile", [edit_base, another_is_there, a_link_is_there])
def test_what_changed_meanwhile_is_left_alone(
    meanwhile: Callable[[Path, Path], None], base: Path, path: Path, systemd: Systemd
) -> None:
    asked = order(base, path)
    meanwhile(base, path)
    before = contents(base.parent)
    with pytest.raises(owned.Refused):
        derive.write(asked, NEW, systemd)
    assert contents(base.parent) == before


@pytest.mark.parametrize("content", [None, b"edited\n"])
def test_what_we_wrote_and_is_not_there_as_shown(
    content: bytes | None, base: Path, path: Path, systemd: Systemd
) -> None:
    if content:
        path.write_bytes(content)
    for do in (derive.write, derive.remove):
        with pytest.raises(owned.Refused):
            do(order(base, path, NEW), NEW, systemd)
    assert path.exists() == (content is not None)


def test_one_that_came_in_the_last_moment_is_not_replaced(base: Path, path: Path) -> None:
    path.write_bytes(b"mine\n")
    with pytest.raises(owned.Refused, match="there already"):
        owned.put(str(path), NEW, owned.Look.like(str(base)), new=True)
    assert path.read_bytes() == b"mine\n"
    assert len(names(path.parent)) == 2


def test_a_unit_that_systemd_does_not_load_is_taken_back(base: Path, path: Path, systemd: Systemd) -> None:
    systemd.shown = systemd.shown.replace("=loaded", "=bad-setting")
    with pytest.raises(owned.Refused, match="bad-setting"):
        derive.write(order(base, path), NEW, systemd)
    assert not path.exists()
    path.write_bytes(b"before")
    with pytest.raises(owned.Refused, match="bad-setting"):
        derive.write(order(base, path, b"before"), NEW, systemd)
    assert path.read_bytes() == b"before"
    systemd.reload = (1, "", "Access denied\n")
    with pytest.raises(owned.Refused, match="Access denied"):
        derive.write(order(base, path, b"before"), NEW, systemd)


def test_only_new_complaints_of_systemd_stand_in_the_way(base: Path, path: Path, systemd: Systemd) -> None:
    usual = "UNIT:3: Unknown key name 'Foo' in section 'Service', ignoring.\n/etc/other.service:1: odd\n"
    systemd.complaints = {"new": usual, "old": usual.replace(":3:", ":1:")}
    answer = derive.write(order(base, path), NEW, systemd)
    assert answer["complaints"] == ["Unknown key name 'Foo' in section 'Service', ignoring."]
    path.unlink()
    systemd.complaints["new"] += "UNIT: Command /new is not executable\n"
    with pytest.raises(owned.Refused, match="Command /new is not executable"):
        derive.write(order(base, path), NEW, systemd)
    assert not path.exists()


@pytest.mark.parametrize(
    ("said", "why"),
    [("ActiveState=active", "is active"), ("Job=123", "inactive"), ("UnitFileState=enabled", "is enabled")],
)
def test_what_runs_or_is_enabled_is_not_removed(said: str, why: str, base: Path, path: Path, systemd: Systemd) -> None:
    path.write_bytes(NEW)
    key = said.partition("=")[0]
    systemd.shown = "\n".join(said if line.startswith(key) else line for line in systemd.shown.splitlines())
    with pytest.raises(owned.Refused, match=why):
        derive.remove(order(base, path, NEW), b"", systemd)
    assert path.exists()


def test_ours_is_removed_and_systemd_told(base: Path, path: Path, systemd: Systemd) -> None:
    path.write_bytes(NEW)
    systemd.shown = systemd.shown.replace("inactive", "failed").replace("DropInPaths=", "DropInPaths=/x.conf")
    answer = derive.remove(order(base, path, NEW), b"", systemd)
    assert (answer["removed"], answer["left"]) == (str(path), "/x.conf")
    assert not path.exists()
    assert [call[1] for call in systemd.calls if call[0] == "systemctl"] == [
        "show",
        "reset-failed",
        "daemon-reload",
        "show",
    ]


def test_looking_changes_nothing(base: Path, path: Path, systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(base.parent)
    assert derive.look(order(base, path), b"", systemd) == {"ready": True}
    assert derive.look(order(base, path.parent / "not" / "yet" / path.name), b"", systemd) == {"ready": True}
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(owned.Refused, match="nothing can be written"):
        derive.look(order(base, path), b"", systemd)
    assert (contents(base.parent), systemd.calls) == (before, [])


def test_it_answers_in_one_line_whatever_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Input:
        class buffer:  # noqa: N801  sys.stdin's own
            @staticmethod
            def read() -> bytes:
                return NEW

    monkeypatch.setattr("sys.stdin", Input)
    asked: dict[str, Any] = {
        "do": "write",
        "name": "y.service",
        "path": str(tmp_path / "y"),
        "like": str(tmp_path / "x"),
        "seen": {str(tmp_path / "x"): "0"},
        "expect": "",
    }
    assert derive.main(asked) == 0
    assert "No such file" in json.loads(capsys.readouterr().out)["refused"] or os.geteuid() != 0

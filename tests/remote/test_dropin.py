"""Drop-ins put into their place on the host: only over our own, unchanged, and taken back when systemd refuses."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from specconsole.remote.dropin import Changes, write
from specconsole.remote.owned import Refused
from specconsole.remote.swap_unit import Ref

UNIT = Ref("v.service")
TEXT = b"[Service]\nKillMode=mixed\n"


class Systemctl:
    """Answers show and daemon-reload; `after` is the load state once files were read anew."""

    def __init__(self, folder: Path, after: str = "loaded", reload: int = 0) -> None:
        self.folder, self.after, self.reload, self.calls = folder, after, reload, []  # type: ignore[var-annotated]

    def __call__(self, program: str, *words: str) -> tuple[int, str, str]:
        assert program == "systemctl"
        self.calls.append(words[0])
        if words[0] == "daemon-reload":
            return self.reload, "", "no bus"
        there = " ".join(map(str, sorted(self.folder.glob("*.conf"))))
        state = self.after if "daemon-reload" in self.calls and there else "loaded"
        return 0, f"LoadState={state}\nDropInPaths={there}\n", ""


def put(path: Path, call: Systemctl, expect: str = "", text: bytes = TEXT, changes: str = "") -> dict[str, object]:
    return write(str(path), text, expect, UNIT, call, Changes(changes))


def test_it_is_written_read_and_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "v.service.d"
    path, record = folder / "90-x.conf", tmp_path / "state" / "changes.jsonl"
    answer = put(path, Systemctl(folder), changes=str(record))
    assert answer["wrote"] == str(path)
    assert path.read_bytes() == TEXT
    assert path.stat().st_mode & 0o777 == 0o644
    first, last = map(json.loads, record.read_text().splitlines())
    assert (first["event"], first["unit"], first["text"], first["before"]) == (
        "dropin",
        "v.service",
        TEXT.decode(),
        None,
    )
    assert last["event"] == "dropin-done"
    assert record.stat().st_mode & 0o777 == 0o600


def test_ours_is_replaced_only_as_it_was_shown(tmp_path: Path) -> None:
    path = tmp_path / "90-x.conf"
    path.write_bytes(b"old")
    put(path, Systemctl(tmp_path), hashlib.sha256(b"old").hexdigest())
    assert path.read_bytes() == TEXT
    with pytest.raises(Refused, match="changed since"):
        put(path, Systemctl(tmp_path), hashlib.sha256(b"old").hexdigest())
    with pytest.raises(Refused, match="did not write it"):
        put(path, Systemctl(tmp_path))
    path.unlink()
    with pytest.raises(Refused, match="not there any more"):
        put(path, Systemctl(tmp_path), "abc")
    assert not list(tmp_path.glob(".specconsole-*"))


def test_a_link_is_never_written_through(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"theirs")
    (tmp_path / "90-x.conf").symlink_to(tmp_path / "target")
    with pytest.raises(Refused, match="no plain file"):
        put(tmp_path / "90-x.conf", Systemctl(tmp_path))
    assert (tmp_path / "target").read_bytes() == b"theirs"


@pytest.mark.parametrize("call", [{"after": "bad-setting"}, {"reload": 1}])
def test_what_systemd_does_not_load_is_taken_back(tmp_path: Path, call: dict[str, object]) -> None:
    folder = tmp_path / "v.service.d"
    systemctl = Systemctl(folder, **call)  # type: ignore[arg-type]
    record = tmp_path / "changes.jsonl"
    with pytest.raises(Refused, match="does not read it"):
        put(folder / "90-x.conf", systemctl, changes=str(record))
    assert not folder.exists()
    assert systemctl.calls.count("daemon-reload") == 2
    assert [json.loads(line)["event"] for line in record.read_text().splitlines()] == ["dropin", "dropin-back"]


def test_what_was_there_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "90-x.conf"
    path.write_bytes(b"old")
    with pytest.raises(Refused):
        put(path, Systemctl(tmp_path, after="error"), hashlib.sha256(b"old").hexdigest())
    assert path.read_bytes() == b"old"

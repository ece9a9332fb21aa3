"""A swap is begun once, in a folder of root's alone, and no secret is in what others can see."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from specconsole.remote import drive_folder, swap_begin, transient
from specconsole.remote.swap_world import World

KEY = "sk-secret-0123456789"
BASE = "vllm-base.service"
PLAN = {"action": "swap", "boot": "b" * 32}


class Here(World):
    """Real files below a folder of the test; systemd-run is only written down."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []
        self.told: list[dict[str, Any]] = []
        self.root, self.boot, self.status, self.said = True, "b" * 32, 0, ""

    def is_root(self) -> bool:
        return self.root

    def boot_id(self) -> str:
        return self.boot

    def hear(self) -> str:
        return json.dumps({"key": KEY}) + "\n"

    def tell(self, **values: Any) -> None:
        self.told.append(values)

    def program(self) -> tuple[str, bytes]:
        return "/usr/bin/python3", b"packed"

    def call(self, argv: Sequence[str], deadline_s: float, ref: object) -> tuple[int, str, str]:
        self.calls.append(list(argv))
        if argv[0] == "systemctl":
            return 0, "ActiveState=active\nDescription=specconsole: swap other\n", ""
        return self.status, "", self.said


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the folders of swaps lie."""
    monkeypatch.setattr(transient, "RUN", str(tmp_path / "run"))
    return tmp_path / "run"


def started(world: Here) -> list[list[str]]:
    """What was handed to systemd."""
    return [call for call in world.calls if call[0] == "systemd-run"]


def begin(world: Here) -> dict[str, Any]:
    swap_begin.begin({"id": "s1", "plan": PLAN}, world)
    return world.told[-1]


def test_it_lies_in_a_folder_of_root_s_alone_and_the_key_in_one_file(run: Path) -> None:
    world = Here()
    assert begin(world) == {"began": "s1"}
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (run / "s1").iterdir()}
    assert modes == dict.fromkeys(("programs", "run.py", "plan", "key"), "0o600")
    assert (run / "s1").stat().st_mode & 0o777 == 0o700
    assert run.stat().st_mode & 0o777 == 0o700
    holding = [path.name for path in (run / "s1").iterdir() if KEY in path.read_text()]
    assert holding == ["key"]
    (argv,) = started(world)
    assert "--unit=specconsole-swap" in argv
    assert "--collect" in argv
    assert KEY not in " ".join(argv)
    post = next(word for word in argv if word.startswith("--property=ExecStopPost="))
    assert post.endswith(f"-I -S -B {run}/s1/run.py swap_post s1")


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"root": False}, "no rights"), ({"boot": "c" * 32}, "the host was rebooted since the plan was made (stale)")],
)
def test_where_it_may_not_begin_nothing_is_written(changes: dict[str, Any], said: str, run: Path) -> None:
    world = Here()
    vars(world).update(changes)
    assert said in begin(world)["refused"]
    assert not world.calls
    assert not run.exists()


def test_the_unit_s_name_is_the_lock(run: Path) -> None:
    world = Here()
    world.status, world.said = (
        1,
        "Failed to start transient service unit: Unit specconsole-swap.service was already loaded\n",
    )
    answer = begin(world)
    assert answer["running"] == "other"
    assert "already loaded" in answer["refused"]
    assert not (run / "s1").exists(), "nothing of the refused one stays"


@pytest.mark.parametrize(
    ("measured", "ended", "refused"),
    [(BASE, False, True), ("", False, True), ("vllm-other.service", False, False), (BASE, True, False)],
    ids=["a unit that is stopped", "not told", "another unit", "over already"],
)
def test_a_benchmark_of_a_unit_that_is_stopped_is_not_cut_off(
    measured: str, ended: bool, refused: bool, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Measuring(Here):
        def call(self, argv: Sequence[str], deadline_s: float, ref: object) -> tuple[int, str, str]:
            if argv[-1] == "specconsole-drive.service":
                return 0, "ActiveState=active\nDescription=specconsole: drive b1\n", ""
            return super().call(argv, deadline_s, ref)

    monkeypatch.setattr(drive_folder, "RUN", str(run))
    (run / "b1").mkdir(parents=True)
    (run / "b1" / "brief").write_text(json.dumps({"unit": measured} if measured else {}))
    (run / "b1" / "stamps").write_text('{"event":"end","why":"done"}\n' if ended else '{"event":"token"}\n')
    world = Measuring()
    swap_begin.begin({"id": "s1", "plan": {**PLAN, "stops": [{"name": BASE, "key": BASE}]}}, world)
    said = world.told[-1]
    assert ("began" not in said) is refused
    assert (f"a benchmark{' of ' + measured if measured else ''} runs (b1)" in said.get("refused", "")) is refused
    assert bool(started(world)) is not refused


def test_a_full_run_is_one_sentence(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = Here()
    monkeypatch.setattr(os, "write", lambda _, data: len(data) - 1)
    assert "No space left on device" in begin(world)["refused"]
    assert not started(world)
    assert not list(run.iterdir())


def test_only_folders_that_nobody_touched_for_a_day_are_swept(run: Path) -> None:
    world = Here()
    for name, age_s in (("old", 25 * 3600), ("today", 3600)):
        (run / name).mkdir(parents=True)
        (run / name / "record").touch()
        for path in (run / name / "record", run / name):
            os.utime(path, (world.now() - age_s, world.now() - age_s))
    begin(world)
    assert sorted(path.name for path in run.iterdir()) == ["s1", "today"]

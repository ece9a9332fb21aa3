"""Process trees by cgroup, on made-up trees of both layouts and on this machine's own /proc."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from pathlib import Path

import pytest

from specconsole.remote import probe_unit
from specconsole.remote.probe_unit import Units

STAT = "{pid} ({comm}) {state} {ppid} 1 1 0 -1 4194304 100 0 {faults} 0 {user} {system} 0 0 20 0 {threads} 0 6000 1000 250 18446744073709551615 1"


class Tree:
    """A made-up /proc and /sys/fs/cgroup."""

    def __init__(self, folder: Path, layout: str = "v2") -> None:
        self.proc, self.cgroup = folder / "proc", folder / "cgroup"
        self.root = {"v2": self.cgroup, "hybrid": self.cgroup / "unified", "v1": self.cgroup / "systemd"}[layout]
        self.root.mkdir(parents=True)
        self.proc.mkdir()
        if layout != "v1":
            (self.root / "cgroup.controllers").touch()
        self.units = Units(str(self.proc), str(self.cgroup))

    def group(self, path: str, *pids: int) -> Path:
        folder = self.root / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))
        return folder

    def process(self, pid: int, title: str = "python", *, state: str = "S", user: int = 100, ppid: int = 1) -> None:
        folder = self.proc / str(pid)
        folder.mkdir()
        stat = STAT.format(pid=pid, comm="a) (b", state=state, ppid=ppid, faults=7, user=user, system=50, threads=3)
        (folder / "stat").write_text(stat)
        (folder / "cmdline").write_bytes(b"\0".join(word.encode() for word in title.split(" ")) + b"\0")
        (folder / "io").write_text("rchar: 123617280\nwchar: 1\nsyscr: 2\nread_bytes: 41205760\n")

    def read(self, name: str) -> dict[str, object]:
        self.units.follow([name])
        return self.units.read()[name]


@pytest.fixture(params=["v2", "hybrid", "v1"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Tree:
    return Tree(tmp_path, request.param)


def processes(of: dict[str, object]) -> list[dict[str, object]]:
    listed = of["processes"]
    assert isinstance(listed, list)
    return listed


def test_the_whole_tree_of_a_unit_nested_groups_too(tree: Tree) -> None:
    tree.group("system.slice/vllm.service", 10)
    tree.group("system.slice/vllm.service/worker", 11, 0)
    tree.group("system.slice/other.service", 12)
    tree.process(10, "vllm serve model")
    tree.process(11, "VLLM::Worker_TP0", state="R", user=9000, ppid=10)
    tree.process(12)
    read = tree.read("vllm.service")
    main, worker = processes(read)
    assert main == {
        "pid": 10, "ppid": 1, "state": "S", "major_faults": 7, "cpu_s": 1.5, "threads": 3, "started_s": 60.0,
        "rss": 250 * os.sysconf("SC_PAGE_SIZE"), "command": "vllm serve model", "read_bytes": 41205760,
        "read_chars": 123617280,
    }  # fmt: skip
    assert (worker["command"], worker["state"], worker["ppid"], worker["cpu_s"]) == ("VLLM::Worker_TP0", "R", 10, 90.5)
    assert read["left_out"] == 0
    assert "why" not in read


@pytest.mark.parametrize(
    "path",
    [
        "system.slice/vllm.service",
        "system.slice/system-vllm.slice/vllm.service",
        "llm.slice/llm-big.slice/vllm.service",
        "user.slice/user-1000.slice/user@1000.service/app.slice/vllm.service",
    ],
)
def test_a_unit_is_found_by_its_name_in_any_slice(tree: Tree, path: str) -> None:
    tree.group(path, 10)
    tree.process(10)
    assert [process["pid"] for process in processes(tree.read("vllm.service"))] == [10]


def test_a_system_unit_goes_before_a_user_s_of_the_same_name(tree: Tree) -> None:
    tree.group("user.slice/user-1000.slice/user@1000.service/app.slice/vllm.service", 10)
    tree.group("z.slice/z-z.slice/z-z-z.slice/z-z-z-z.slice/z-z-z-z-z.slice/vllm.service", 11)
    tree.process(10)
    tree.process(11)
    assert [process["pid"] for process in processes(tree.read("vllm.service"))] == [11]


def test_a_user_s_unit_is_found_by_user_and_name(tree: Tree) -> None:
    uid = os.getuid()
    tree.group(f"user.slice/user-{uid}.slice/user@{uid}.service/app.slice/vllm.service", 10)
    tree.group("system.slice/vllm.service", 11)
    tree.process(10)
    assert [process["pid"] for process in processes(tree.read(f"{getpass.getuser()}/vllm.service"))] == [10]
    assert tree.read("nobody-here/vllm.service")["why"]


def test_a_path_that_is_given_is_taken(tree: Tree) -> None:
    tree.group("odd/place", 10)
    tree.process(10)
    tree.units.follow({"vllm.service": "/odd/place"})
    assert [process["pid"] for process in processes(tree.units.read()["vllm.service"])] == [10]
    tree.units.follow({"vllm.service": "/gone"})
    assert tree.units.read()["vllm.service"]["why"] == "no cgroup: it does not run"


def test_a_unit_that_stops_and_starts_elsewhere_is_found_again(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_unit, "_LOOK_AGAIN_S", 0.0)
    folder = tree.group("system.slice/vllm.service", 10)
    tree.process(10)
    assert len(processes(tree.read("vllm.service"))) == 1
    (folder / "cgroup.procs").unlink()
    folder.rmdir()
    assert tree.units.read()["vllm.service"]["why"] == "no cgroup: it does not run"
    tree.group("llm.slice/vllm.service", 10)
    assert len(processes(tree.units.read()["vllm.service"])) == 1


def test_what_works_is_listed_first_and_the_rest_counted(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_unit, "LISTED", 3)
    tree.group("system.slice/vllm.service", *range(10, 20))
    for pid in range(10, 19):
        tree.process(pid, "compile_worker", user=pid)
    tree.process(19, "ptxas", state="R", user=0)
    read = tree.read("vllm.service")
    assert [process["pid"] for process in processes(read)] == [17, 18, 19]
    assert read["left_out"] == 7


def test_hidden_processes_are_said_to_be_hidden(tree: Tree) -> None:
    tree.group("system.slice/vllm.service", 10, 11)
    read = tree.read("vllm.service")
    assert read["why"] == "this login may not see other users' processes"
    assert read["left_out"] == 2


def test_bytes_that_may_not_be_read_are_unknown(tree: Tree) -> None:
    tree.group("system.slice/vllm.service", 10)
    tree.process(10)
    (tree.proc / "10" / "io").unlink()
    (process,) = processes(tree.read("vllm.service"))
    assert process["read_bytes"] is None


def test_cpu_of_ended_processes_is_kept_by_the_group(tmp_path: Path) -> None:
    two = Tree(tmp_path / "two")
    (two.group("system.slice/vllm.service") / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
    assert two.read("vllm.service")["cpu_s"] == 2.5
    one = Tree(tmp_path / "one", "v1")
    one.group("system.slice/vllm.service")
    assert one.read("vllm.service")["cpu_s"] is None
    counted = one.cgroup / "cpuacct" / "system.slice" / "vllm.service"
    counted.mkdir(parents=True)
    (counted / "cpuacct.usage").write_text("3500000000\n")
    assert one.read("vllm.service")["cpu_s"] == 3.5


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("0::/system.slice/vllm-kimi.service\n", "vllm-kimi.service"),
        ("0::/system.slice/vllm.service/worker/0\n", "vllm.service"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/vllm.service\n", "vllm.service"),
        ("0::/user.slice/user-0.slice/session-3.scope\n", "session-3.scope"),
        ("12:pids:/system.slice/a.service\n1:name=systemd:/system.slice/b.service\n", "b.service"),
        ("1:name=systemd:/system.slice/b.service\n0::/\n", "b.service"),
        ("1:name=systemd:/old.service\n0::/system.slice/new.service\n", "new.service"),
        ("0::/../../system.slice/vllm.service\n", "vllm.service"),
        ("0::/\n", None),
        ("", None),
    ],
)
def test_the_unit_of_a_process(text: str, unit: str | None) -> None:
    assert probe_unit.unit_in(probe_unit.cgroup_path(text) or "") == unit


def test_titles_are_masked_joined_and_cut(tree: Tree) -> None:
    tree.process(10, "vllm serve m --api-key sesame --port 8000")
    tree.process(11, "VLLM::EngineCore" + "\0" * 300)
    tree.process(12, "x" * 1000)
    tree.process(13, "")
    (tree.proc / "13" / "comm").write_text("kworker/0\n")
    proc = str(tree.proc)
    assert probe_unit.title_of(10, proc) == "vllm serve m --api-key *** --port 8000"
    assert probe_unit.title_of(11, proc) == "VLLM::EngineCore"
    assert len(probe_unit.title_of(12, proc) or "") == 200
    assert probe_unit.title_of(13, proc) == "[kworker/0]"
    assert probe_unit.title_of(99, proc) is None


def test_this_machine_s_own_proc() -> None:
    argv = [sys.executable, "-c", "print(flush=True); input()", "--token", "sesame"]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()  # only then has it its own command line
        stat = probe_unit.stat_of(child.pid)
        assert stat is not None
        assert stat["ppid"] == os.getpid()
        assert stat["state"] in "RSD"
        assert stat["threads"] == 1
        details = probe_unit.details_of(child.pid)
        assert details["command"].endswith("--token ***")
        assert isinstance(details["read_bytes"], int)
    finally:
        child.communicate(b"\n")
    assert probe_unit.stat_of(child.pid) is None

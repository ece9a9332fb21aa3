"""Processes, sockets and shared memory of this very machine, as the runner looks at them."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from specconsole.remote import swap_container, swap_process, swap_shm
from specconsole.remote.swap_process import Process, look

SAY = "import sys, time; print(flush=True); time.sleep(100)"


@pytest.fixture
def child() -> Iterator[Process]:
    argv, environment = [sys.executable, "-c", SAY], {**os.environ, "VLLM_API_KEY": "k-1"}
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE) as running:
        assert running.stdout
        running.stdout.readline()  # from here on it is the program: before, /proc shows what it was forked from
        found = look(running.pid)
        assert found
        yield found
        running.kill()


def test_a_process_is_its_pid_and_its_start(child: Process) -> None:
    assert child.parent == os.getpid()
    assert "time.sleep(100)" in child.argv
    assert [replace(one, state=child.state) for one in swap_process.still([child])] == [child], "it may sleep by now"
    assert swap_process.still([replace(child, start=child.start + 1)]) == []
    assert look(2**22 + 7) is None


def test_only_that_process_is_ended(child: Process) -> None:
    assert swap_process.end([replace(child, start=child.start - 1)], 0.1) == []
    assert swap_process.still([child]), "another process of that number is left alone"
    assert swap_process.end([child], 2.0) == []
    assert not swap_process.still([child])


def test_a_key_is_found_in_environment_or_command(child: Process, tmp_path: Path) -> None:
    assert swap_process.api_key([child]) == "k-1"
    for words in (["vllm", "serve", "--api-key", "k-2", "--port", "1"], ["vllm", "serve", "--api-key=k-2"]):
        place = tmp_path / str(child.pid)
        place.mkdir(exist_ok=True)
        (place / "cmdline").write_bytes("\0".join([*words, ""]).encode())
        assert swap_process.api_key([child], str(tmp_path)) == "k-2"
    assert swap_process.api_key([]) == ""


def test_who_listens(tmp_path: Path) -> None:
    with socket.socket() as server, socket.socket() as proxy, socket.socket(socket.AF_UNIX) as local:
        server.bind(("127.0.0.1", 0))
        here = {"port": server.getsockname()[1], "address": "127.0.0.1"}
        assert swap_process.listeners(here) == set(), "bound is not listening"
        proxy.bind(("127.0.0.2", here["port"]))
        proxy.listen()
        assert swap_process.listeners(here) == set(), "the same port of another address"
        server.listen()
        assert swap_process.listeners(here) == {os.getpid()}
        path = str(tmp_path / "s")
        local.bind(path)
        local.listen()
        assert swap_process.listeners({**here, "uds": path}) == {os.getpid()}
    assert swap_process.listeners(here) == set()


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")])
def test_an_address_that_stands_for_all(family: int, address: str) -> None:
    with socket.socket(family) as server:
        server.bind((address, 0))
        server.listen()
        where = {"port": server.getsockname()[1], "address": "127.0.0.1"}
        assert swap_process.listeners(where) == {os.getpid()}


def test_a_server_that_wants_all_addresses_is_kept_out_by_any() -> None:
    """A name instead of an address may stand for any of them, too."""
    with socket.socket() as proxy:
        proxy.bind(("127.0.0.2", 0))
        proxy.listen()
        where = {"port": proxy.getsockname()[1], "address": "127.0.0.1"}
        assert swap_process.listeners(where, binds=True) == set()
        assert swap_process.listeners({**where, "everywhere": True}) == set(), "not where it is connected to"
        assert swap_process.listeners({**where, "everywhere": True}, binds=True) == {os.getpid()}
        assert swap_process.listeners({**where, "address": "gpu-1"}) == {os.getpid()}


def test_only_what_is_held_for_writing_is_taken_down(tmp_path: Path) -> None:
    names = ["psm_rw", "psm_ro", "psm_open", "psm_idle"]
    for name in names:
        (tmp_path / name).write_bytes(b"x" * 4096)
    with (
        (tmp_path / "psm_rw").open("r+b") as rw,
        (tmp_path / "psm_ro").open("rb") as ro,
        (tmp_path / "psm_open").open("r+b"),
        mmap.mmap(rw.fileno(), 0) as first,
        mmap.mmap(ro.fileno(), 0, prot=mmap.PROT_READ) as second,
    ):
        rw.close()
        found = swap_shm.take_down([os.getpid()], str(tmp_path))
        assert {entry.name for entry in found.values()} == {"psm_rw", "psm_open"}
        kept, left = swap_shm.clean(found, 0, frozenset({os.getuid()}), str(tmp_path))
        assert kept == []
        assert {one["why"] for one in left} == {
            "a process still holds it",
            "no process of the unit had it open for writing",
        }
        assert first[0] == second[0]
    removed, left = swap_shm.clean(found, 0, frozenset({os.getuid()}), str(tmp_path))
    assert {one["name"] for one in removed} == {"psm_rw", "psm_open"}
    assert {path.name for path in tmp_path.iterdir()} == {"psm_ro", "psm_idle"}


def mapped(path: Path, flags: int) -> None:
    """Map a file for the rest of this process's life, with no descriptor left: Python's own mmap keeps one."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    with path.open("r+b") as file:
        where = libc.mmap(None, 4096, mmap.PROT_READ | mmap.PROT_WRITE, flags, file.fileno(), 0)
    assert where not in (None, ctypes.c_void_p(-1).value)


def test_what_is_only_mapped_is_held_too() -> None:
    # There a map's device is its file's, as it is for segments; on layered file systems it is not.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for name, flags in (("psm_shared", mmap.MAP_SHARED), ("psm_private", mmap.MAP_PRIVATE), ("psm_idle", 0)):
            (Path(folder) / name).write_bytes(b"x" * 4096)
            if flags:
                mapped(Path(folder) / name, flags)
        found = swap_shm.take_down([os.getpid()], folder)
        assert {entry.name for entry in found.values()} == {"psm_shared"}, "a private map writes to nothing"
        every = {(one.device, one.inode): one for one in swap_shm.entries(folder)}
        removed, left = swap_shm.clean(every, 0, frozenset({os.getuid()}), folder)
        assert [one["name"] for one in removed] == ["psm_idle"]
        assert {one["name"]: one["why"] for one in left} == dict.fromkeys(
            ("psm_shared", "psm_private"), "a process still holds it"
        )
        assert all(0 <= one["age_s"] < 3600 for one in left)


def test_the_container_that_a_command_runs() -> None:
    argv = ["/usr/bin/docker", "run", "--rm", "--name", "box", "vllm/vllm-openai:v0.24.0"]
    assert swap_container.identity(argv) == "box"
    assert swap_container.identity([*argv[:3], "--name=box", argv[-1]]) == "box"
    assert swap_container.identity(["docker", "run", "image"]) is None
    assert swap_container.main_pid("docker", "box", lambda *_: (0, "4711\n", "")) == 4711
    assert swap_container.main_pid("docker", "box", lambda *_: (0, "0\n", "")) is None, "it is not running"
    assert swap_container.main_pid("docker", "box", lambda *_: (1, "", "no such object")) is None


RUN = ["/usr/bin/docker", "run", "--rm", "vllm/vllm-openai:v0.24.0", "--model", "/m"]


def told(process: Process, *containers: tuple[str, list[str] | None]) -> swap_container.Call:
    """A docker that runs containers, each by its image and words; all are this process."""
    lines = [json.dumps({"pid": process.pid, "image": image, "cmd": words}) for image, words in containers]

    def run(argv: Sequence[str], _: float, __: object) -> tuple[int, str, str]:
        return (0, "a b" if lines else "", "") if argv[1] == "ps" else (0, "\n".join(lines), "")

    return run


def test_a_container_without_a_name_is_known_by_its_image_and_words(child: Process) -> None:
    ours, other = (RUN[3], RUN[4:]), (RUN[3], ["--model", "/other"])

    def found(*containers: tuple[str, list[str] | None], argv: Sequence[str] = RUN, since: int = 0) -> int | None:
        return swap_container.unnamed_pid("docker", argv, since, told(child, *containers))

    assert found(other, ours) == child.pid
    assert found(("docker.io/" + RUN[3], RUN[4:])) == child.pid, "podman completes names"
    assert found(("docker.io/vllm/box:latest", RUN[4:]), argv=[*RUN[:3], "vllm/box", *RUN[4:]]) == child.pid
    assert found((RUN[3], ["of", "the image"]), argv=RUN[:4]) == child.pid
    assert found((RUN[3], None), argv=RUN[:4]) == child.pid
    assert found() is None
    assert found(other) is None
    assert found(("vllm/vllm-openai:v0.25.0", RUN[4:])) is None
    assert found(ours, ours) is None, "which of two is not known"
    assert found(ours, since=child.start + 1) is None, "it ran before the command did"

"""The host as a whole, from this machine's real /proc and from made-up files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from specconsole.remote import probe_proc

NET_DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0
  eth0:5000 1 0 0 0 0 0 0 70 1 0 0 0 0 0 0
  eth1: 300 1 0 0 0 0 0 0 4 1 0 0 0 0 0 0
 bond0: 5300 1 0 0 0 0 0 0 74 1 0 0 0 0 0 0
vethab: 5000 1 0 0 0 0 0 0 70 1 0 0 0 0 0 0
"""


def test_this_machine_is_read() -> None:
    values = probe_proc.vitals()
    assert values["memory_total"] > values["memory_available"] > 0
    assert values["cpu_count"] == os.cpu_count()
    assert 0 < values["cpu_busy_s"] < values["uptime_s"] * values["cpu_count"] * 1.1
    assert values["shm_total"] >= values["shm_used"] >= 0


def test_a_host_that_shows_nothing_is_unknown_not_zero(tmp_path: Path) -> None:
    values = probe_proc.vitals(str(tmp_path), str(tmp_path), str(tmp_path / "none"))
    del values["cpu_count"]
    assert set(values.values()) == {None}


def test_memory_is_in_bytes() -> None:
    found = probe_proc.keyed_kib(
        "MemTotal:       127593984 kB\nHugePages_Total:       3\nMemAvailable:   100077212 kB\nbad\n"
    )
    assert found == {"MemTotal": 127593984 * 1024, "HugePages_Total": 3, "MemAvailable": 100077212 * 1024}


def test_idle_and_waiting_for_disks_are_not_busy_and_guests_count_once() -> None:
    assert probe_proc.cpu_busy("cpu  100 20 30 4000 500 6 7 8 100 20\ncpu0 1 2 3 4\n") == pytest.approx(1.71)
    assert probe_proc.cpu_busy("") is None
    assert probe_proc.cpu_busy("intr 1 2 3 4 5 6\n") is None


def test_only_interfaces_with_a_device_count(tmp_path: Path) -> None:
    for name in ("eth0", "eth1"):
        (tmp_path / name / "device").mkdir(parents=True)
    assert probe_proc.network(NET_DEV, str(tmp_path)) == (5300, 74)


def test_in_a_container_all_but_lo_count(tmp_path: Path) -> None:
    assert probe_proc.network(NET_DEV.replace(" bond0", "  lo"), str(tmp_path))[0] == 5000 + 300 + 5000
    assert probe_proc.network("no table", str(tmp_path)) == (None, None)


def test_shared_memory_is_listed_by_size_with_folders_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "psm_1").write_bytes(b"x" * 8192)
    (tmp_path / "model" / "deep").mkdir(parents=True)
    (tmp_path / "model" / "deep" / "a.safetensors").write_bytes(b"x" * 65536)
    os.truncate(os.open(tmp_path / "sparse", os.O_CREAT | os.O_WRONLY), 1 << 30)
    entries, left_out = probe_proc.shared_memory(str(tmp_path))
    assert left_out == 0
    assert [entry["name"] for entry in entries] == ["model", "psm_1", "sparse"]
    assert [entry["size"] for entry in entries] == [65536, 8192, 0]
    assert all(entry["age_s"] >= 0 and entry["uid"] == os.getuid() for entry in entries)


def test_a_crowded_shared_memory_is_cut_and_says_so(tmp_path: Path) -> None:
    for number in range(probe_proc.SHM_LISTED + 7):
        (tmp_path / f"sem.{number}").touch()
    entries, left_out = probe_proc.shared_memory(str(tmp_path))
    assert (len(entries), left_out) == (probe_proc.SHM_LISTED, 7)


def test_strange_names_are_text(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))).touch()
    ((entry,), _) = probe_proc.shared_memory(str(tmp_path))
    entry["name"].encode()


def test_no_shared_memory_is_an_empty_list(tmp_path: Path) -> None:
    assert probe_proc.shared_memory(str(tmp_path / "none")) == ([], 0)


def test_files_longer_than_a_page_are_read_whole_and_limits_hold(tmp_path: Path) -> None:
    (tmp_path / "long").write_text("x" * 10000)
    assert len(probe_proc.text_of(str(tmp_path / "long")) or "") == 10000
    assert len(probe_proc.text_of(str(tmp_path / "long"), 100) or "") == 100
    assert probe_proc.text_of(str(tmp_path / "none")) is None
    assert probe_proc.text_of(str(tmp_path)) is None

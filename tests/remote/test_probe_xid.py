"""Xid errors as the kernel log tells them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from specconsole.remote.probe_xid import KernelLog

FALLEN = "3,901,1000000,-;NVRM: Xid (PCI:0000:0b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
FAULT = "4,902,2000000,-;NVRM: Xid (PCI:0000:0B:00): 31, pid=4711, name=python3, Ch 00000008, intr 00000000. MMU Fault"
OLD_FORM = "4,903,3000000,-;NVRM: Xid (0000:0c:00): 13, Graphics Exception: ESR 0x404600=0x80000002"
CLEANUP = "4,904,{},-;NVRM: Xid (PCI:0000:0b:00): 45, pid=4711, name=python3, Ch 00000008"


def seen(*records: str) -> KernelLog:
    log = KernelLog("/nowhere")
    for record in records:
        log.take(record)
    return log


def row(log: KernelLog, bus: str = "00000000:0b:00.0", now: float = 10.0) -> dict[str, Any]:
    values: dict[str, Any] = {"index": 0, "bus": bus, "why": {}}
    log.add_to([values], now)
    return values


@pytest.mark.parametrize(
    ("record", "bus", "xid"),
    [(FALLEN, "00000000:0b:00.0", 79), (FAULT, "00000000:0b:00.0", 31), (OLD_FORM, "00000000:0C:00.0", 13)],
)
def test_every_form_is_read(record: str, bus: str, xid: int) -> None:
    assert row(seen(record), bus)["xid"] == xid


def test_it_belongs_to_its_gpu_and_has_an_age() -> None:
    log = seen(FALLEN, OLD_FORM)
    assert (row(log)["xid"], row(log)["xid_age_s"]) == (79, 9.0)
    assert "xid" not in row(log, "00000001:0b:00.0")
    assert "xid" not in row(log, "")


def test_the_last_one_counts_but_cleanup_hides_nothing() -> None:
    assert row(seen(FALLEN, FAULT))["xid"] == 31
    assert row(seen(FAULT, CLEANUP.format(2500000)))["xid"] == 31
    assert row(seen(FAULT, CLEANUP.format(900000000)))["xid"] == 45
    assert row(seen(CLEANUP.format(1), CLEANUP.format(5000000)), now=6)["xid_age_s"] == 1.0


@pytest.mark.parametrize(
    "record", ["", "x", "NVRM: Xid (PCI:0000:0b:00): 79", "a,b,c,d;NVRM: Xid (PCI:0000:0b:00): 79", FALLEN[:40]]
)
def test_what_is_no_record_is_left_alone(record: str) -> None:
    assert seen(record).last == {}


def test_a_log_that_cannot_be_read_gives_the_reason() -> None:
    assert row(seen())["why"]["xid"] == "the kernel log cannot be read: No such file or directory"


def test_a_log_is_followed_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "kmsg")
    log = KernelLog(str(tmp_path / "kmsg"))
    log.read()  # nobody writes
    with (tmp_path / "kmsg").open("wb", buffering=0) as into:
        log.read()  # nothing is written
        assert log.last == {}
        into.write(FALLEN.encode())
        log.read()
        assert row(log)["xid"] == 79
        assert "xid" not in row(log)["why"]

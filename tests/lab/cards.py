"""The fake GPUs of a host: files before it boots, and changes while it runs. Keys and units: see nvml_stub.c."""

from __future__ import annotations

import time

from tests.lab.host import LabHost

HOME = "/var/lib/fakegpu"
MIB = 2**20


def cards(count: int = 1, **attributes: object) -> dict[str, str]:
    """Return the files of so many equal GPUs; a dot in a key is written as two underscores: `utilization__gpu=30`."""
    text = _lines({name.replace("__", "."): value for name, value in attributes.items()})
    files: dict[str, str] = {}
    for index in range(count):
        files |= {f"{HOME}/{index}/attrs": text, f"{HOME}/{index}/procs/.keep": ""}
    return files


def _lines(attributes: dict[str, object]) -> str:
    return "".join(f"{key} {value}\n" for key, value in attributes.items())


def set_card(host: LabHost, index: int, **attributes: object) -> None:
    """Replace what a running host's GPU says, at once and whole; `fail__memory=15` is written as `fail memory 15`."""
    named = {
        name.replace("fail__", "fail ").replace("smi__", "smi ").replace("__", "."): value
        for name, value in attributes.items()
    }
    path = host.path(f"{HOME}/{index}/attrs")
    fresh = path.with_name("attrs.new")
    fresh.write_text(_lines(named))
    fresh.rename(path)


def lose_card(host: LabHost, index: int) -> None:
    """Let a GPU fall off the bus: every call says so, its handle included."""
    set_card(host, index, fail__all=15)


def hold_memory(host: LabHost, index: int, pid: int, size: int) -> None:
    """Let a process of the host, by its pid inside, hold bytes of a GPU; -1: the driver does not say how much."""
    host.path(f"{HOME}/{index}/procs/{pid}").write_text(str(size))


def say_kernel(host: LabHost, text: str) -> None:
    """Write into the host's kernel log, which is a plain file here; the first call makes it, none is there before."""
    log = host.path("/dev/kmsg")
    number = log.read_text().count("\n") if log.exists() else 0
    with log.open("a") as records:
        records.write(f"3,{number},{time.monotonic_ns() // 1000},-;{text}\n")

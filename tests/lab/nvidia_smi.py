#!/usr/lib/fakegpu/python3
"""A stand-in for nvidia-smi over the NVML stub, in the formats of driver 580 as seen on an H200.

It knows `--query-gpu=FIELDS`, `--query-compute-apps=FIELDS`, `--format=csv[,noheader][,nounits]`, `-i INDEX|BUS`, `-l S`
and `-L`.
A line "smi FIELD TEXT" in a card's attrs makes that field read TEXT: "smi memory.used [N/A]", "smi power.draw ERR!".
Installed beside its own pynvml and library, so that it works where neither is to be found by others.
"""

# ruff: noqa: ARG005  one shape for all readers

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOME = "/usr/lib/fakegpu"
sys.path.insert(0, HOME)
ctypes.CDLL(f"{HOME}/libnvidia-ml.so.1")  # found by its soname afterwards, also where /usr/lib has no link to it

import pynvml as n  # noqa: E402  the library comes first

Field = tuple[Callable[[Any, int], Any], str]
"""How to read it from a handle and an index, and its unit."""


def mib(value: int) -> int:
    return int(value) >> 20


def memory(what: str) -> Callable[[Any, int], int]:
    return lambda handle, _: mib(getattr(n.nvmlDeviceGetMemoryInfo(handle, n.nvmlMemory_v2), what))


def watts(call: Callable[[Any], int]) -> Callable[[Any, int], str]:
    return lambda handle, _: f"{call(handle) / 1000:.2f}"


def reason(bit: int) -> Callable[[Any, int], str]:
    return lambda handle, _: "Active" if n.nvmlDeviceGetCurrentClocksEventReasons(handle) & bit else "Not Active"


def switch(on: Any) -> str:
    return "Enabled" if on else "Disabled"


GPU: dict[str, Field] = {
    "index": (lambda h, i: i, ""),
    "uuid": (lambda h, _: n.nvmlDeviceGetUUID(h), ""),
    "name": (lambda h, _: n.nvmlDeviceGetName(h), ""),
    "count": (lambda h, _: n.nvmlDeviceGetCount(), ""),
    "driver_version": (lambda h, _: n.nvmlSystemGetDriverVersion(), ""),
    "pci.bus_id": (lambda h, _: n.nvmlDeviceGetPciInfo_v3(h).busId, ""),
    "pstate": (lambda h, _: f"P{n.nvmlDeviceGetPerformanceState(h)}", ""),
    "temperature.gpu": (lambda h, _: n.nvmlDeviceGetTemperature(h, 0), ""),
    "temperature.memory": (lambda h, _: n.nvmlDeviceGetFieldValues(h, [82])[0].value.uiVal, ""),
    "utilization.gpu": (lambda h, _: n.nvmlDeviceGetUtilizationRates(h).gpu, "%"),
    "utilization.memory": (lambda h, _: n.nvmlDeviceGetUtilizationRates(h).memory, "%"),
    "memory.total": (memory("total"), "MiB"),
    "memory.reserved": (memory("reserved"), "MiB"),
    "memory.used": (memory("used"), "MiB"),
    "memory.free": (memory("free"), "MiB"),
    "power.draw": (watts(n.nvmlDeviceGetPowerUsage), "W"),
    "power.draw.instant": (watts(n.nvmlDeviceGetPowerUsage), "W"),
    "power.draw.average": (watts(n.nvmlDeviceGetPowerUsage), "W"),
    "power.limit": (watts(n.nvmlDeviceGetPowerManagementLimit), "W"),
    "enforced.power.limit": (watts(n.nvmlDeviceGetEnforcedPowerLimit), "W"),
    "clocks.current.sm": (lambda h, _: n.nvmlDeviceGetClockInfo(h, 1), "MHz"),
    "clocks.current.memory": (lambda h, _: n.nvmlDeviceGetClockInfo(h, 2), "MHz"),
    "clocks.max.sm": (lambda h, _: n.nvmlDeviceGetMaxClockInfo(h, 1), "MHz"),
    "fan.speed": (lambda h, _: n.nvmlDeviceGetFanSpeed(h), "%"),
    "ecc.errors.corrected.volatile.total": (lambda h, _: n.nvmlDeviceGetTotalEccErrors(h, 0, 0), ""),
    "ecc.errors.uncorrected.volatile.total": (lambda h, _: n.nvmlDeviceGetTotalEccErrors(h, 1, 0), ""),
    "ecc.errors.corrected.aggregate.total": (lambda h, _: n.nvmlDeviceGetTotalEccErrors(h, 0, 1), ""),
    "ecc.errors.uncorrected.aggregate.total": (lambda h, _: n.nvmlDeviceGetTotalEccErrors(h, 1, 1), ""),
    "mig.mode.current": (lambda h, _: switch(n.nvmlDeviceGetMigMode(h)[0]), ""),
    "persistence_mode": (lambda h, _: switch(n.nvmlDeviceGetPersistenceMode(h)), ""),
    "compute_mode": (lambda h, _: "Default", ""),
    "clocks_event_reasons.active": (lambda h, _: f"0x{n.nvmlDeviceGetCurrentClocksEventReasons(h):016X}", ""),
    "clocks_event_reasons.gpu_idle": (reason(1), ""),
    "clocks_event_reasons.sw_power_cap": (reason(4), ""),
    "clocks_event_reasons.hw_slowdown": (reason(8), ""),
    "clocks_event_reasons.sw_thermal_slowdown": (reason(0x20), ""),
    "clocks_event_reasons.hw_thermal_slowdown": (reason(0x40), ""),
    "clocks_event_reasons.hw_power_brake_slowdown": (reason(0x80), ""),
    "pcie.link.gen.current": (lambda h, _: n.nvmlDeviceGetCurrPcieLinkGeneration(h), ""),
    "pcie.link.width.current": (lambda h, _: n.nvmlDeviceGetCurrPcieLinkWidth(h), ""),
}
SYNONYMS = {
    "gpu_uuid": "uuid",
    "gpu_name": "name",
    "gpu_bus_id": "pci.bus_id",
    "clocks.sm": "clocks.current.sm",
    "clocks.mem": "clocks.current.memory",
    "clocks.max.memory": "clocks.current.memory",
    "clocks_throttle_reasons.active": "clocks_event_reasons.active",
}
APPS = ("pid", "process_name", "name", "gpu_uuid", "gpu_bus_id", "gpu_name", "used_memory", "used_gpu_memory")


def fixed(index: int) -> dict[str, str]:
    """Return the texts that a card's attrs prescribe."""
    path = Path(os.environ.get("FAKEGPU_DIR", "/var/lib/fakegpu"), str(index), "attrs")
    if not path.exists():
        return {}
    words = [line.split(" ", 2) for line in path.read_text().splitlines() if line.startswith("smi ")]
    return {field: text for _, field, text in words}


def gpu_cell(field: str, handle: Any, index: int, nounits: bool) -> str:
    if field in (texts := fixed(index)):
        return texts[field]
    read, unit = GPU[SYNONYMS.get(field, field)]
    try:
        value = read(handle, index)
    except n.NVMLError_GpuIsLost:
        return "[GPU is lost]"
    except n.NVMLError_NotSupported:
        return "[N/A]"
    except n.NVMLError:
        return "[Unknown Error]"
    return str(value) if nounits or not unit else f"{value} {unit}"


def process_name(pid: int) -> str:
    try:
        return str(n.nvmlSystemGetProcessName(pid))
    except n.NVMLError:
        return "[Not Found]"


def app_cell(field: str, handle: Any, process: Any, nounits: bool) -> str:
    if field == "pid":
        return str(process.pid)
    if field in ("process_name", "name"):
        return process_name(process.pid)
    if field in ("used_memory", "used_gpu_memory"):
        if process.usedGpuMemory is None:
            return "[N/A]"
        return f"{mib(process.usedGpuMemory)}" + ("" if nounits else " MiB")
    return str(GPU[SYNONYMS[field]][0](handle, 0))


def unit_of(field: str) -> str:
    unit = "MiB" if field in ("used_memory", "used_gpu_memory") else GPU.get(SYNONYMS.get(field, field), (None, ""))[1]
    return f" [{unit}]" if unit else ""


def handle(index: int) -> Any:
    """Open a card; one that is lost ends the whole call, as the real one does."""
    try:
        return n.nvmlDeviceGetHandleByIndex(index)
    except n.NVMLError_InvalidArgument:
        print("No devices were found")
        sys.exit(6)
    except n.NVMLError:
        bus = f"GPU0000:{16 + index:02X}:00.0"
        print(f"Unable to determine the device handle for {bus}: GPU is lost.  Reboot the system to recover this GPU")
        sys.exit(15)


def indices(chosen: str | None) -> list[int]:
    """Tell which cards are asked for: all, or one by its index or PCI address."""
    if chosen is None:
        return list(range(n.nvmlDeviceGetCount()))
    return [int(chosen.split(":")[-2], 16) - 16] if ":" in chosen else [int(chosen)]


def start() -> None:
    try:
        n.nvmlInit()
    except n.NVMLError_LibRmVersionMismatch:
        print("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.159")
        sys.exit(18)
    except n.NVMLError:
        print(
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
            "Make sure that the latest NVIDIA driver is installed and running.\n"
        )
        sys.exit(9)


def main(words: list[str]) -> None:
    options = dict(word.lstrip("-").partition("=")[::2] for word in words)
    chosen = words[words.index("-i") + 1] if "-i" in words else options.get("id")
    start()
    cards = [(index, handle(index)) for index in indices(chosen)]
    if "-L" in words:
        for index, card in cards:
            print(f"GPU {index}: {n.nvmlDeviceGetName(card)} (UUID: {n.nvmlDeviceGetUUID(card)})")
        return
    form = options.get("format", "").split(",")
    what = next((key for key in ("query-gpu", "query-compute-apps") if key in options), None)
    if what is None or "csv" not in form:
        sys.exit("nvidia-smi stand-in: only -L, --query-gpu and --query-compute-apps with --format=csv")
    fields = [field.strip() for field in options[what].split(",")]
    known = APPS if what == "query-compute-apps" else {*GPU, *SYNONYMS}
    if bad := [field for field in fields if field not in known]:
        print(f'Field "{bad[0]}" is not a valid field to query.\n')
        sys.exit(2)
    if "noheader" not in form:
        print(", ".join(field + ("" if "nounits" in form else unit_of(field)) for field in fields))
    table(what, fields, cards, "nounits" in form)
    while "-l" in words:
        sys.stdout.flush()
        time.sleep(float(words[words.index("-l") + 1]))
        table(what, fields, cards, "nounits" in form)


def table(what: str, fields: list[str], cards: list[tuple[int, Any]], nounits: bool) -> None:
    for index, card in cards:
        if what == "query-gpu":
            print(", ".join(gpu_cell(field, card, index, nounits) for field in fields))
            continue
        for process in n.nvmlDeviceGetComputeRunningProcesses(card):
            print(", ".join(app_cell(field, card, process, nounits) for field in fields))


if __name__ == "__main__":
    main(sys.argv[1:])

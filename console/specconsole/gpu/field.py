"""Every field of a GPU: what it is called, how it is written, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from specconsole import text
from specconsole.gpu.sample import Gpu

_SMI = "the host's own nvidia-smi"


@dataclass(frozen=True)
class Field:
    """One field of `Gpu`."""

    name: str
    label: str
    write: Callable[[Any], str]
    """A known value in words."""
    call: str
    """What the probe asks for it."""
    slow_s: float | None = None
    """It is read only this often (seconds), so it may be that much older than the sample; None: with every sample."""


def _whole(unit: str) -> Callable[[Any], str]:
    return lambda value: f"{value:,.0f} {unit}".rstrip()


def _reasons(value: tuple[str, ...]) -> str:
    return text.one_line(", ".join(value)) or "none"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


_SLOW_S = 10.0
FIELDS: tuple[Field, ...] = (
    Field("name", "name", text.one_line, "nvmlDeviceGetName", _SLOW_S),
    Field("uuid", "UUID", text.one_line, "nvmlDeviceGetUUID", _SLOW_S),
    Field("bus", "PCI bus", text.one_line, "nvmlDeviceGetPciInfo", _SLOW_S),
    Field("memory_used", "memory used", text.bytes_binary, "nvmlDeviceGetMemoryInfo, without the driver's reserve"),
    Field(
        "memory_total", "memory there is", text.bytes_binary, "nvmlDeviceGetMemoryInfo, without the driver's reserve"
    ),
    Field("util", "utilisation", text.percent, "nvmlDeviceGetUtilizationRates: share of time in which any kernel ran"),
    Field(
        "util_memory",
        "memory utilisation",
        text.percent,
        "nvmlDeviceGetUtilizationRates: share of time with memory access",
    ),
    Field("sm_active", "SMs with work", text.percent, "NVML's GPM: share of multiprocessors that had a warp"),
    Field("dram_active", "DRAM bandwidth", text.percent, "NVML's GPM: share of the bandwidth that was used"),
    Field("power_w", "power", _whole("W"), "nvmlDeviceGetPowerUsage"),
    Field("power_limit_w", "power limit", _whole("W"), "nvmlDeviceGetEnforcedPowerLimit", _SLOW_S),
    Field("temperature_c", "temperature", _whole("°C"), "nvmlDeviceGetTemperature: the chip"),
    Field("sm_mhz", "SM clock", _whole("MHz"), "nvmlDeviceGetClockInfo"),
    Field("sm_mhz_max", "highest SM clock", _whole("MHz"), "nvmlDeviceGetMaxClockInfo", _SLOW_S),
    Field("memory_mhz", "memory clock", _whole("MHz"), "nvmlDeviceGetClockInfo"),
    Field("throttle", "slowed by", _reasons, "nvmlDeviceGetCurrentClocksEventReasons"),
    Field("pcie_rx", "PCIe in", text.rate, "NVML's GPM, or nvmlDeviceGetPcieThroughput over 20 ms"),
    Field("pcie_tx", "PCIe out", text.rate, "NVML's GPM, or nvmlDeviceGetPcieThroughput over 20 ms"),
    Field(
        "ecc_corrected", "ECC corrected", _whole(""), "nvmlDeviceGetTotalEccErrors since the driver was loaded", _SLOW_S
    ),
    Field(
        "ecc_uncorrected",
        "ECC uncorrected",
        _whole(""),
        "nvmlDeviceGetTotalEccErrors since the driver was loaded",
        _SLOW_S,
    ),
    Field("ecc_corrected_ever", "  of all time", _whole(""), "nvmlDeviceGetTotalEccErrors, corrected", _SLOW_S),
    Field("ecc_uncorrected_ever", "  of all time", _whole(""), "nvmlDeviceGetTotalEccErrors, uncorrected", _SLOW_S),
    Field("xid", "last Xid", _whole(""), "the kernel's log (/dev/kmsg)"),
    Field("xid_age_s", "  how long ago", text.age, "the kernel's log (/dev/kmsg)"),
    Field("mig", "MIG", _yes, "nvmlDeviceGetMigMode", _SLOW_S),
)
"""In the order in which one reads them."""


def shown(field: Field, gpu: Gpu) -> str:
    """The value of a field in words; a dash where it is unknown."""
    value = getattr(gpu, field.name)
    return text.UNKNOWN if value is None or value == "" else field.write(value)


def source(field: Field, of: str) -> str:
    """Where the value of a field comes from, when the sample's source is `of` (nvml, nvidia-smi)."""
    if field.call.startswith("the kernel"):
        return field.call
    return field.call if of == "nvml" else _SMI

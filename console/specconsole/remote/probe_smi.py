"""What nvidia-smi prints, read leniently into the rows of a frame; Python 3.8, standard library.

The same reading serves on the host, where NVML cannot be loaded, and on the console's side, where a host has no Python.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

from specconsole.remote.probe_card import throttle_reasons

Row = Dict[str, Any]

FIELDS = (
    "index",
    "uuid",
    "name",
    "pci.bus_id",
    "driver_version",
    "memory.used",
    "memory.total",
    "utilization.gpu",
    "utilization.memory",
    "power.draw",
    "enforced.power.limit",
    "temperature.gpu",
    "clocks.sm",
    "clocks.max.sm",
    "clocks.mem",
    "clocks_throttle_reasons.active",
    "ecc.errors.corrected.volatile.total",
    "ecc.errors.uncorrected.volatile.total",
    "ecc.errors.corrected.aggregate.total",
    "ecc.errors.uncorrected.aggregate.total",
    "mig.mode.current",
)
"""What is asked for; a driver that does not know one of them is asked again without it."""
OTHER_NAME = {
    "clocks_throttle_reasons.active": "clocks_event_reasons.active",
    "enforced.power.limit": "power.limit",
}
"""The other spelling of a field, old or new."""
APPS = ("gpu_uuid", "pid", "process_name", "used_gpu_memory")

_MIB = 1 << 20
_NUMBERS = {
    "memory.used": ("memory_used", _MIB, int),
    "memory.total": ("memory_total", _MIB, int),
    "utilization.gpu": ("util", 0.01, float),
    "utilization.memory": ("util_memory", 0.01, float),
    "power.draw": ("power_w", 1, float),
    "enforced.power.limit": ("power_limit_w", 1, float),
    "power.limit": ("power_limit_w", 1, float),
    "temperature.gpu": ("temperature_c", 1, float),
    "clocks.sm": ("sm_mhz", 1, int),
    "clocks.current.sm": ("sm_mhz", 1, int),
    "clocks.max.sm": ("sm_mhz_max", 1, int),
    "clocks.mem": ("memory_mhz", 1, int),
    "clocks.current.memory": ("memory_mhz", 1, int),
    "ecc.errors.corrected.volatile.total": ("ecc_corrected", 1, int),
    "ecc.errors.uncorrected.volatile.total": ("ecc_uncorrected", 1, int),
    "ecc.errors.corrected.aggregate.total": ("ecc_corrected_ever", 1, int),
    "ecc.errors.uncorrected.aggregate.total": ("ecc_uncorrected_ever", 1, int),
}  # type: Dict[str, Tuple[str, float, Any]]
"""Field, our key, factor to our unit, and type."""
_NEVER = ("pcie_rx", "pcie_tx", "sm_active", "dram_active")
_ABSENT = re.compile(r"\[.*\]$|N/A$|ERR!$|Not Supported$|Unknown Error$|$", re.IGNORECASE)
_LOST = re.compile(
    r"Unable to de\w+ the device handle for GPU\s*(?:\d{1,3}:\s*)?(?P<bus>[0-9a-f]+:[0-9a-f]+:[0-9a-f]+\.[0-9a-f]):\s*(?P<why>.*)",
    re.IGNORECASE,
)
_UNKNOWN_FIELD = re.compile(r'Field "([^"]+)" is not a valid field')


def query(fields: Sequence[str] = FIELDS, *more: str) -> List[str]:
    """The command that asks for these fields of every GPU."""
    return ["nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits", *more]


def query_apps() -> List[str]:
    """The command that asks which processes hold a GPU."""
    return ["nvidia-smi", "--query-compute-apps=" + ",".join(APPS), "--format=csv,noheader,nounits"]


def unknown_field(text: str) -> Optional[str]:
    """The field that this driver does not know, if that is what it says."""
    found = _UNKNOWN_FIELD.search(text)
    return found.group(1) if found else None


def without(fields: Sequence[str], field: str) -> Tuple[str, ...]:
    """The same fields with one replaced by its other spelling, or left out where it has none."""
    other = OTHER_NAME.get(field)
    if other is None or other in fields:
        return tuple(name for name in fields if name != field)
    return tuple(other if name == field else name for name in fields)


def failure(text: str) -> Optional[str]:
    """Why there is no evidence at all, in one sentence; None when the text is no such failure."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = " ".join(lines)
    if "version mismatch" in said:
        return "driver and library do not match (%s): reboot, or reload the kernel module" % said
    if "couldn't communicate with the NVIDIA driver" in said:
        return "the NVIDIA driver is not loaded"
    if "No devices were found" in said:
        return "the driver sees no GPU"
    if said.startswith(("Failed to initialize NVML", "NVIDIA-SMI has failed")):
        return said
    return None


def rows(text: str, fields: Sequence[str] = FIELDS) -> List[Row]:
    """Read what a query for these fields printed; a header, where there is one, names the columns instead.

    Every GPU gives a row with the keys of a frame's `gpus`. A GPU that cannot be reached gives one with `error`.
    """
    found: List[Row] = []
    for line in text.splitlines():
        lost = _LOST.search(line)
        cells = [cell.strip() for cell in line.split(",")]
        if lost:
            found.append(lost_row(lost.group("bus"), lost.group("why")))
        elif "index" in cells or "name" in cells:
            fields = [re.sub(r"\s*\[.*", "", cell) for cell in cells]
        elif len(cells) == len(fields) and len(cells) > 1:
            found.append(_row(dict(zip(fields, cells))))  # noqa: B905  3.8
    return found


def driver(text: str, fields: Sequence[str] = FIELDS) -> Optional[str]:
    """The driver's version, from the first GPU that says it."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == len(fields) and "driver_version" in fields:
            said = cells[fields.index("driver_version")]
            return None if _ABSENT.match(said) or said == "driver_version" else said
    return None


def lost_row(bus: str, why: str) -> Row:
    """A GPU that nvidia-smi cannot get hold of; which index it had is not said."""
    return {"index": -1, "uuid": "", "name": "", "bus": bus_id(bus), "error": why.strip().rstrip(".") or "GPU is lost"}


def bus_id(text: str) -> str:
    """A PCI address in NVML's own width: 0000:0B:00.0 is 00000000:0b:00.0."""
    domain, _, rest = text.lower().partition(":")
    return "%08x:%s" % (int(domain, 16), rest)


def _row(cells: Dict[str, str]) -> Row:
    index = cells.get("index", "")
    why: Dict[str, str] = {}
    row: Row = {
        "index": int(index) if index.isdecimal() else -1,
        "uuid": cells.get("uuid", ""),
        "name": cells.get("name", ""),
    }
    for field, (key, factor, kind) in _NUMBERS.items():
        if field not in cells:
            continue
        number = _number(cells[field])
        if number is None:
            why.setdefault(key, _reason(cells[field]))
        else:
            row[key] = kind(number * factor)
    if not _ABSENT.match(cells.get("pci.bus_id", "")):
        row["bus"] = cells["pci.bus_id"].lower()
    _modes(row, cells, why)
    why.update(dict.fromkeys(_NEVER, "not given by nvidia-smi"))
    row["why"] = why
    broken = _all_broken(cells)
    if broken:
        return dict({key: row[key] for key in ("index", "uuid", "name", "bus") if key in row}, error=broken)
    return row


def _modes(row: Row, cells: Dict[str, str], why: Dict[str, str]) -> None:
    bits = cells.get("clocks_throttle_reasons.active", cells.get("clocks_event_reasons.active", ""))
    if re.match(r"0x[0-9a-f]{1,16}$", bits, re.IGNORECASE):
        row["throttle"] = throttle_reasons(int(bits, 16))
    else:
        why["throttle"] = _reason(bits)
    mig = cells.get("mig.mode.current", "")
    if mig in ("Enabled", "Disabled"):
        row["mig"] = mig == "Enabled"
    if row.get("mig") and "util" in why:
        why["util"] = why["util_memory"] = "not counted while MIG is on"


def _number(cell: str) -> Optional[float]:
    """The number in a cell, with or without its unit; None for every way in which there is none."""
    found = re.match(r"-?[0-9]{1,15}(?:\.[0-9]{1,9})?(?=\s|$|%)", cell)
    return float(found.group()) if found else None


def _reason(cell: str) -> str:
    return cell.strip("[] ") or "not given by nvidia-smi"


def _all_broken(cells: Dict[str, str]) -> str:
    """A lost GPU may keep its row, with the same complaint in every cell."""
    said = {_reason(cells[field]) for field in _NUMBERS if field in cells}
    bad = [reason for reason in said if "lost" in reason or "reset" in reason or reason == "Unknown Error"]
    return bad[0] if len(said) == 1 and bad else ""


def holders(text: str, fields: Sequence[str] = APPS) -> Dict[str, List[Row]]:
    """Read what the query for processes printed: the processes by the GPU's uuid ("" where it was not asked for)."""
    found: Dict[str, List[Row]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if "pid" in cells:
            fields = [re.sub(r"\s*\[.*", "", cell) for cell in cells]
            continue
        if "process_name" in fields and len(cells) > len(fields):  # a name with commas in it
            at, extra = fields.index("process_name"), len(cells) - len(fields)
            cells[at : at + extra + 1] = [", ".join(cells[at : at + extra + 1])]
        values = dict(zip(fields, cells))  # noqa: B905  3.8
        if len(cells) != len(fields) or not values.get("pid", "").isdecimal():
            continue
        memory = _number(values.get("used_gpu_memory", values.get("used_memory", "")))
        name = values.get("process_name", "")
        found.setdefault(values.get("gpu_uuid", ""), []).append(
            {
                "pid": int(values["pid"]),
                "name": "" if _ABSENT.match(name) else name,
                "memory": None if memory is None else int(memory * _MIB),
                "unit": None,
            }
        )
    return found

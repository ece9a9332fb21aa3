"""One GPU, read through NVML; Python 3.8, pynvml given by the caller.

A card answers with a row: the keys of `gpus` in a frame. What it cannot say is left out and named in `why`. Readings
come in groups, so that the dear ones can be left out and each one's cost is known.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, FrozenSet, List, Tuple, Union

from specconsole.remote import probe_gpm, probe_unit

Row = Dict[str, Any]
Costs = Dict[str, float]
Group = Tuple[str, Callable[[Row], None], Tuple[str, ...]]

SLOW_S = 10.0
"""How often limits, modes and error counters are read: they change by an operator's hand or once in a year."""
TOO_DEAR = "too dear at this rate"

# As operators say them; idle (bit 0) is no reason.
THROTTLE = (
    (0x2, "clock setting"),
    (0x4, "power cap"),
    (0x8, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "thermal"),
    (0x40, "hardware thermal"),
    (0x80, "power brake"),
    (0x100, "display clock setting"),
    (0x200, "board limit"),
    (0x400, "reliability"),
)
HOLDERS = (
    ("compute", "nvmlDeviceGetComputeRunningProcesses"),
    ("compute", "nvmlDeviceGetMPSComputeRunningProcesses"),
    ("graphics", "nvmlDeviceGetGraphicsRunningProcesses"),
)
ECC = (("ecc_corrected", 0, 0), ("ecc_uncorrected", 1, 0), ("ecc_corrected_ever", 0, 1), ("ecc_uncorrected_ever", 1, 1))
"""Field, kind of error (1: uncorrected) and span (0: since the driver was loaded, 1: ever)."""
_GONE = (1, 9, 15, 16)  # uninitialised, driver not loaded, GPU is lost, reset required
_HARMLESS = (3, 13)  # not supported, function not found: these say nothing of the card's health
_NOTHING_ANSWERS = 6


class CardGone(Exception):
    """The whole card does not answer; the text says why."""


def throttle_reasons(bits: int) -> List[str]:
    """Name the reasons that slow the clocks now."""
    known = sum(bit for bit, _ in THROTTLE) | 1
    reasons = [name for bit, name in THROTTLE if bits & bit]
    return reasons + (["unknown reason 0x%x" % (bits & ~known)] if bits & ~known else [])


class Card:
    """One GPU. Its methods block as long as the driver does, so they belong into a thread of its own."""

    def __init__(self, nvml: Any, index: int) -> None:
        self.nvml = nvml
        self.index = index
        self.handle: Any = None
        self.who: Row = {"index": index, "uuid": "", "name": ""}
        """What identifies it; kept while it does not answer."""
        self.gpm: Any = None
        self._slow: Row = {}
        self._slow_why: Dict[str, str] = {}
        self._slow_at = -SLOW_S
        self._why: Dict[str, str] = {}
        self._failed: List[str] = []

    def open(self) -> None:
        """Get hold of the card; raises CardGone."""
        try:
            self.handle = self.nvml.nvmlDeviceGetHandleByIndex(self.index)
        except self.nvml.NVMLError as error:
            raise CardGone(str(error)) from error
        self._into(self.who, "uuid", self._text, "nvmlDeviceGetUUID")
        self._into(self.who, "name", self._text, "nvmlDeviceGetName")
        self._into(self.who, "bus", self._bus)
        self.gpm = probe_gpm.open_gpm(self.nvml, self.handle)

    def read(self, groups: FrozenSet[str]) -> Tuple[Row, Costs]:
        """Read all cheap fields and the dear groups that are wanted (`gpm`, `pcie`, `processes`).

        Returns the row and what each group cost in seconds. A card that is gone gives a row with `error`.
        """
        costs: Costs = {}
        self._why, self._failed = {}, []
        try:
            if self.handle is None:
                self.open()
            row = dict(self.who)
            self._timed(costs, "cheap", self._cheap, row)
            if (
                len(self._failed) >= _NOTHING_ANSWERS
            ):  # off the bus, it may say Unknown Error to all, not that it is lost
                raise CardGone(self._failed[0])
            self._dear(costs, row, groups)
        except CardGone as error:
            self.handle = None  # a card that comes back has a new handle
            return dict(self.who, error=str(error)), costs
        row["why"] = self._why
        return row, costs

    def _timed(self, costs: Costs, group: str, read: Callable[[Row], None], row: Row) -> None:
        started = time.perf_counter()
        read(row)
        costs[group] = time.perf_counter() - started

    def _dear(self, costs: Costs, row: Row, groups: FrozenSet[str]) -> None:
        for group, read, fields in self._groups():
            if group in groups:
                self._timed(costs, group, read, row)
                continue
            self._why.update(dict.fromkeys(fields, TOO_DEAR))
            if group == "gpm":
                self.gpm.forget()

    def _groups(self) -> List[Group]:
        holders: Group = ("processes", self._processes, ("processes",))
        if self.gpm is not None:  # it counts PCIe as well, so the 21 ms counters are never asked
            return [("gpm", self._gpm, probe_gpm.FIELDS), holders]
        self._why.update(dict.fromkeys(("sm_active", "dram_active"), "not offered by this card"))
        return [("pcie", self._pcie, ("pcie_tx", "pcie_rx")), holders]

    def _cheap(self, row: Row) -> None:
        self._into(row, ("memory_used", "memory_total"), self._memory)
        self._into(row, ("util", "util_memory"), self._utilization)
        self._into(row, "power_w", self._scaled, 0.001, "nvmlDeviceGetPowerUsage")
        self._into(row, "temperature_c", self._temperature)
        self._into(row, "sm_mhz", self._call, "nvmlDeviceGetClockInfo", 1)
        self._into(row, "memory_mhz", self._call, "nvmlDeviceGetClockInfo", 2)
        self._into(row, "throttle", self._throttle)
        if time.monotonic() - self._slow_at >= SLOW_S:
            self._read_slow()
        row.update(self._slow)
        self._why.update(self._slow_why)
        if row.get("mig") and "util" in self._why:
            self._why["util"] = self._why["util_memory"] = "not counted while MIG is on"

    def _read_slow(self) -> None:
        slow: Row = {}
        before, self._why = self._why, {}
        self._into(slow, "power_limit_w", self._scaled, 0.001, "nvmlDeviceGetEnforcedPowerLimit")
        self._into(slow, "sm_mhz_max", self._call, "nvmlDeviceGetMaxClockInfo", 1)
        self._into(slow, "mig", self._mig)
        for field, kind, span in ECC:
            self._into(slow, field, self._call, "nvmlDeviceGetTotalEccErrors", kind, span)
        self._slow, self._slow_why, self._slow_at = slow, self._why, time.monotonic()
        self._why = before

    def _memory(self) -> Tuple[int, int]:
        """Version 2, as nvidia-smi: version 1 counts the driver's reserve as used, 615 MiB on an empty H200.

        Before driver 510 there is no version 2, and nvidia-smi shows version 1 too.
        """
        memory = self._first(("nvmlDeviceGetMemoryInfo", self.nvml.nvmlMemory_v2), ("nvmlDeviceGetMemoryInfo",))
        return memory.used, memory.total

    def _utilization(self) -> Tuple[float, float]:
        rates = self._call("nvmlDeviceGetUtilizationRates")
        return rates.gpu / 100.0, rates.memory / 100.0

    def _temperature(self) -> float:
        return float(self._first(("nvmlDeviceGetTemperature", 0), ("nvmlDeviceGetTemperatureV", 0)))

    def _throttle(self) -> List[str]:
        names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")  # before 535
        return throttle_reasons(self._first(*((name,) for name in names)))

    def _mig(self) -> bool:
        return bool(self._call("nvmlDeviceGetMigMode")[0])

    def _bus(self) -> str:
        bus = self._call("nvmlDeviceGetPciInfo").busId
        return (bus.decode() if isinstance(bus, bytes) else str(bus)).lower()

    def _gpm(self, row: Row) -> None:
        values, why = self.gpm.read()
        row.update(values)
        self._why.update(why)

    def _pcie(self, row: Row) -> None:
        """Bytes a second over 20 ms: each direction takes 21 ms."""
        # "KB" is 1000 here: against GPM's MiB on an H200 while weights load the ratio was 1.00 to 1.02.
        for field, counter in (("pcie_tx", 0), ("pcie_rx", 1)):
            self._into(row, field, self._scaled, 1000.0, "nvmlDeviceGetPcieThroughput", counter)

    def _processes(self, row: Row) -> None:
        self._into(row, "processes", self._holders)

    def _holders(self) -> List[Row]:
        found: Dict[int, Row] = {}
        for kind, call in HOLDERS:
            try:
                holders = self._first((call + "_v3",), (call + "_v2",))
            except (self.nvml.NVMLError, AttributeError):
                if call == HOLDERS[0][1]:
                    raise
                continue  # not every card has graphics or MPS
            for holder in holders:
                if holder.pid not in found:
                    found[holder.pid] = _holder(holder.pid, holder.usedGpuMemory, kind)
        return [found[pid] for pid in sorted(found)]

    def _call(self, name: str, *arguments: Any) -> Any:
        return getattr(self.nvml, name)(self.handle, *arguments)

    def _scaled(self, factor: float, name: str, *arguments: Any) -> float:
        value: float = round(self._call(name, *arguments) * factor, 3)
        return value

    def _text(self, name: str) -> str:
        value = self._call(name)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def _first(self, *calls: Tuple[Any, ...]) -> Any:
        """Answer the first of several spellings of a call that driver and pynvml both have."""
        for name, *arguments in calls[:-1]:
            try:
                return self._call(name, *arguments)
            except (self.nvml.NVMLError_FunctionNotFound, AttributeError):
                continue
        name, *arguments = calls[-1]
        return self._call(name, *arguments)

    def _into(self, row: Row, fields: Union[str, Tuple[str, ...]], read: Callable[..., Any], *arguments: Any) -> None:
        """Put a reading into the row, or the reason for its absence into `why`; raises CardGone."""
        names = (fields,) if isinstance(fields, str) else fields
        try:
            value = read(*arguments)
        except self.nvml.NVMLError as error:
            if error.value in _GONE:
                raise CardGone(str(error)) from error
            self._why.update(dict.fromkeys(names, str(error)))
            if error.value not in _HARMLESS:
                self._failed.append(str(error))
        except AttributeError:
            self._why.update(dict.fromkeys(names, "unknown to this pynvml"))
        else:
            row.update([(fields, value)] if isinstance(fields, str) else zip(names, value))  # noqa: B905  3.10


def _holder(pid: int, memory: Any, kind: str) -> Row:
    """A process that holds the card; one that is not visible (gone, or another container's) has no name."""
    name = probe_unit.title_of(pid, width=80)
    return {"pid": pid, "name": name or "", "memory": memory, "unit": probe_unit.unit_of(pid), "kind": kind}

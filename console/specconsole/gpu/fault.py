"""What is wrong with a GPU, told from a stream of samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from specconsole.gpu.history import key
from specconsole.gpu.sample import Fleet, Gpu
from specconsole.remote.swap_judge import numbers
from specconsole.text import age, one_line, percent, rate

LASTING_SAMPLES = 3
LASTING_S = 2.0
"""A sign must show in so many samples in a row and over so long: on a healthy H200 the power cap flashes for two or
three samples while kernels compile, and a single sample may show 100 % utilisation at idle power."""
GHOST_UTIL = 0.95
GHOST_POWER = 0.3
"""Utilisation above and power below (as a share of the limit) which a GPU only seems busy: a hung collective spins at 15
to 22 % of the limit, the lightest real decoding on an H200 takes 35 %."""
GHOST_DRAM = 0.05
"""Above this share of its memory's bandwidth a GPU works, whatever its power; the lightest real decoding shows 30 %."""
HOT = ("thermal", "hardware thermal", "hardware slowdown", "power brake")

XID = {
    13: "graphics engine exception, most often the application's fault",
    31: "page fault, most often the application's fault",
    32: "corrupted push buffer stream",
    38: "driver firmware error",
    43: "the GPU stopped a channel, most often the application's fault",
    45: "cleanup after another error: look for the Xid before it",
    46: "the GPU stopped processing",
    48: "double-bit ECC error",
    61: "internal microcontroller breakpoint",
    62: "internal microcontroller halt",
    63: "a memory row was remapped",
    64: "a memory row could not be remapped",
    69: "graphics engine class error",
    74: "NVLink error: every tensor-parallel start on this host is suspect",
    79: "the GPU has fallen off the bus",
    92: "high rate of single-bit ECC errors",
    94: "contained ECC error: the application that was hit must be restarted",
    95: "uncontained ECC error: the GPU must be reset",
    109: "context switch timeout",
    119: "the GPU's system processor (GSP) does not answer",
    120: "the GPU's system processor (GSP) failed",
    137: "NVLink privilege error: a fault of the fabric or of memory shared over it",
    140: "unrecovered ECC error",
    143: "the GPU could not be initialised",
    **dict.fromkeys(range(144, 151), "NVLink error: every tensor-parallel start on this host is suspect"),
    154: "what the driver wants done changed: its line says whether a reset or a reboot",
}
"""By NVIDIA's list of Xid errors."""
XID_OF_APPLICATIONS = frozenset({13, 31, 43, 45})
XID_MINOR_S, XID_GRAVE_S = 600.0, 86400.0
"""For how long an application's Xid, and any other one, is told."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with one GPU now."""

    gpu: int
    kind: str
    """lost, silent, xid, ecc, slowed or ghost."""
    text: str
    """What is wrong, without the GPU's number."""
    grave: bool = True
    """False for what may be harmless, and is worth a look."""

    def __str__(self) -> str:
        return f"GPU {self.gpu}: {self.text}" if self.gpu >= 0 else f"a GPU: {self.text}"


_SEVERAL = {
    "lost": "lost",
    "silent": "no answer",
    "xid": "Xid errors",
    "ecc": "uncorrected ECC errors",
    "slowed": "slowed",
    "ghost": "kernels only wait",
}
"""What is wrong with several GPUs at once, by the kind of their faults; each one's own words stand with it."""


@dataclass(frozen=True)
class Trouble:
    """Faults of one kind, of one GPU or of several."""

    faults: tuple[Fault, ...]

    @property
    def grave(self) -> bool:
        """None of it is harmless."""
        return self.faults[0].grave

    def __str__(self) -> str:
        gpus = sorted({fault.gpu for fault in self.faults})
        if len(gpus) == 1:
            return str(self.faults[0])
        which = f"GPUs {numbers(gpus)}" if gpus[0] >= 0 else f"{len(gpus)} GPUs"
        return f"{which}: {_SEVERAL[self.faults[0].kind]}"


def troubles(faults: Iterable[Fault]) -> tuple[Trouble, ...]:
    """What is wrong, one thing once: the gravest first, and of equals the one that more GPUs have."""
    found: dict[tuple[str, bool], list[Fault]] = {}
    for fault in faults:
        found.setdefault((fault.kind, fault.grave), []).append(fault)
    made = [Trouble(tuple(one)) for one in found.values()]
    return tuple(sorted(made, key=lambda one: (not one.grave, -len(one.faults))))


class FaultWatch:
    """Remembers how long a sign has lasted; feed it every sample."""

    def __init__(self) -> None:
        self._lasting: dict[tuple[str, str], tuple[int, float]] = {}

    def feed(self, fleet: Fleet) -> tuple[Fault, ...]:
        """Take in a sample and say what is wrong now, the gravest first."""
        signs = [(gpu, fault) for gpu in fleet.gpus for fault in _signs(gpu)]
        before, self._lasting = self._lasting, {}
        faults = []
        for gpu, fault in signs:
            sign = (key(gpu), fault.kind)
            count, since = before.get(sign, (0, fleet.mono))
            self._lasting[sign] = (count + 1, since)
            long_enough = count + 1 >= LASTING_SAMPLES and fleet.mono - since >= LASTING_S
            if long_enough or fault.kind not in ("slowed", "ghost", "silent"):
                faults.append(fault)
        return tuple(sorted(faults, key=lambda fault: not fault.grave))


def certain(gpus: Iterable[Gpu]) -> tuple[Fault, ...]:
    """What a single look is enough for; the rest must last, which `FaultWatch` sees."""
    return tuple(fault for gpu in gpus for fault in _signs(gpu) if fault.kind in ("lost", "xid", "ecc"))


def asked(fleet: Fleet) -> bool:
    """Every card could be asked for faults and answered something: only then may be said that none was seen."""
    return fleet.source == "nvml" and bool(fleet.gpus) and all(map(_answered, fleet.gpus))


def _answered(gpu: Gpu) -> bool:
    """A card of which nothing was read is no healthy one."""
    read = (gpu.memory_used, gpu.util, gpu.power_w, gpu.temperature_c, gpu.processes)
    return "xid" not in gpu.why and any(value is not None for value in read)


def _signs(gpu: Gpu) -> Iterator[Fault]:
    """What one sample shows, whether or not it lasts."""
    if gpu.error is not None:
        kind = "silent" if gpu.is_silent else "lost"
        where = f" ({gpu.bus})" if gpu.index < 0 and gpu.bus else ""
        yield Fault(gpu.index, kind, one_line(gpu.error) + where)
    if gpu.xid is not None and (gpu.xid_age_s or 0.0) <= (
        XID_MINOR_S if gpu.xid in XID_OF_APPLICATIONS else XID_GRAVE_S
    ):
        when = "" if gpu.xid_age_s is None else f" {age(gpu.xid_age_s)} ago"
        text = f"Xid {gpu.xid}{when}, {XID.get(gpu.xid, 'see the list of Xid errors of NVIDIA')}"
        yield Fault(gpu.index, "xid", text, grave=gpu.xid not in XID_OF_APPLICATIONS)
    if gpu.ecc_uncorrected:
        plural = "s" if gpu.ecc_uncorrected > 1 else ""
        yield Fault(
            gpu.index, "ecc", f"{gpu.ecc_uncorrected} uncorrected ECC error{plural} since the driver was loaded"
        )
    if hot := [reason for reason in gpu.throttle or () if reason in HOT]:
        heat = "" if gpu.temperature_c is None else f" at {gpu.temperature_c:.0f} °C"
        yield Fault(gpu.index, "slowed", f"slowed by {' and '.join(hot)}{heat}")
    if is_ghost(gpu):
        busy = f"{percent(gpu.util)} busy at {gpu.power_w:.0f} of {gpu.power_limit_w:.0f} W"
        text = f"a kernel only waits: {busy}{_still(gpu)}"
        yield Fault(gpu.index, "ghost", text, grave=False)


def _still(gpu: Gpu) -> str:
    """What else is known to stand still: memory, PCIe."""
    moved = None if gpu.pcie_rx is None or gpu.pcie_tx is None else gpu.pcie_rx + gpu.pcie_tx
    parts = [
        "" if gpu.dram_active is None else f"DRAM {percent(gpu.dram_active)}",
        "" if moved is None else f"PCIe {rate(moved)}",
    ]
    return "".join(f", {part}" for part in parts if part)


def is_ghost(gpu: Gpu) -> bool:
    """True when one sample shows full utilisation at a power near idle: the kernels that run do no work.

    A card whose memory is read does some. PCIe proves nothing: a kernel that waits for a flag in the host's memory polls it.
    """
    if gpu.util is None or gpu.power_w is None or not gpu.power_limit_w:
        return False
    if (gpu.dram_active or 0.0) > GHOST_DRAM:
        return False
    return gpu.util >= GHOST_UTIL and gpu.power_w <= GHOST_POWER * gpu.power_limit_w

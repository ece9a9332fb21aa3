"""What people call things: short names, totals, and the memory of cards that share it with the host."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from specconsole.gpu.sample import Fleet, Gpu, total
from specconsole.text import UNKNOWN, one_line

GIB = 1 << 30
_NOISE = re.compile(r"\b(NVIDIA|Graphics|GeForce|Tesla|Quadro|Blackwell|Server Edition|Workstation Edition|Max-Q)\b")
_NOT_OFFERED = ("Not Supported", "N/A")


@dataclass(frozen=True)
class Memory:
    """The memory that a GPU works in, in bytes."""

    used: int | None
    total: int | None
    shared: bool = False
    """It is the host's own: used counts the GPU's processes, total is the host's."""

    @property
    def share(self) -> float | None:
        """The part that is used, 0 to 1."""
        return self.used / self.total if self.used is not None and self.total else None


@dataclass(frozen=True)
class Totals:
    """All GPUs of a host together; sums over those that can be read."""

    count: int
    readable: int
    name: str
    """8 × RTX PRO 6000; several kinds are joined by +."""
    memory: Memory
    power_w: float | None

    def __str__(self) -> str:
        if not self.count:
            return "no GPU"
        parts = [self.name, gibibytes(self.memory), watts(self.power_w)]
        if self.readable < self.count:
            parts.append(f"{self.count - self.readable} not readable")
        return "   ".join(parts)


def short_name(name: str) -> str:
    """What operators call a card: RTX PRO 6000, H200, RTX 4090."""
    return " ".join(_NOISE.sub(" ", one_line(name)).split()) or UNKNOWN


def memory(gpu: Gpu, fleet: Fleet) -> Memory:
    """The memory of a GPU; one that shares the host's (GB10, Orin) has none of its own to tell.

    There the driver does not offer the figures, but each process's share: their sum is what the GPU uses of the host's.
    """
    shares = gpu.memory_total is None and gpu.error is None and gpu.why.get("memory_total") in _NOT_OFFERED
    if not shares:
        return Memory(gpu.memory_used, gpu.memory_total)
    held = None if gpu.processes is None else [process.memory for process in gpu.processes]
    used = None if held is None or None in held else sum(bytes_ for bytes_ in held if bytes_ is not None)
    return Memory(used, fleet.vitals.memory_total, shared=True)


def totals(fleet: Fleet) -> Totals:
    """Sum up what can be read; one readable GPU that does not say leaves the sum unknown."""
    readable = [gpu for gpu in fleet.gpus if gpu.error is None]
    each = [memory(gpu, fleet) for gpu in readable]
    kinds = Counter(short_name(gpu.name) for gpu in fleet.gpus if gpu.name)
    name = " + ".join(f"{count} × {kind}" for kind, count in kinds.items()) or f"{len(fleet.gpus)} × {UNKNOWN}"
    shared = bool(each) and all(one.shared for one in each)
    size = each[0].total if shared else total([one.total for one in each])
    return Totals(
        count=len(fleet.gpus),
        readable=len(readable),
        name=name,
        memory=Memory(total([one.used for one in each]), size, shared),
        power_w=total([gpu.power_w for gpu in readable]),
    )


def gibibytes(of: Memory) -> str:
    """Used of total, in one unit: 92.8/95.6 GiB, 742/768 GiB."""
    digits = 0 if (of.total or of.used or 0) >= 200 * GIB else 1
    used, total = (UNKNOWN if value is None else f"{value / GIB:.{digits}f}" for value in (of.used, of.total))
    return f"{used}/{total} GiB" + (" shared" if of.shared else "")


def watts(value: float | None) -> str:
    """Watts as people read them: 288 W, 2.31 kW."""
    if value is None:
        return UNKNOWN
    return f"{value:.0f} W" if value < 1000 else f"{value / 1000:.2f} kW"

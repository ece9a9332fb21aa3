"""Power limits of cards, for where a reading does not give the limit: a table of data, and when a GPU only seems busy."""

from __future__ import annotations

from specconsole.gpu.fault import GHOST_POWER, GHOST_UTIL
from specconsole.gpu.sample import Gpu

LIMIT_W: tuple[tuple[str, float], ...] = (
    ("RTX PRO 6000 Blackwell Max-Q", 300.0),
    ("RTX PRO 6000", 600.0),
    ("RTX PRO 5000", 300.0),
    ("RTX 6000 Ada", 300.0),
    ("RTX 5880 Ada", 285.0),
    ("RTX 5000 Ada", 250.0),
    ("RTX A6000", 300.0),
    ("RTX A5000", 230.0),
    ("RTX 5090", 575.0),
    ("RTX 5080", 360.0),
    ("RTX 4090", 450.0),
    ("RTX 4080", 320.0),
    ("RTX 3090", 350.0),
    ("GB300", 1400.0),
    ("GB200", 1200.0),
    ("B300", 1100.0),
    ("B200", 1000.0),
    ("H200 NVL", 600.0),
    ("GH200", 900.0),
    ("H200", 700.0),
    ("H20", 500.0),
    ("H100 NVL", 400.0),
    ("H100 PCIe", 350.0),
    ("H100", 700.0),
    ("H800", 700.0),
    ("A100-PCIE", 250.0),
    ("A100 80GB PCIe", 300.0),
    ("A100", 400.0),
    ("A800", 400.0),
    ("L40S", 350.0),
    ("L40", 300.0),
    ("L20", 275.0),
    ("L4", 72.0),
    ("A40", 300.0),
    ("A30", 165.0),
    ("A10G", 300.0),
    ("A10", 150.0),
    ("V100", 300.0),
    ("T4", 70.0),
)
"""Watts that a card is sold with, by a part of its name; the first that fits counts."""
SMALL_COPY = 20e6
"""Bytes a second over PCIe below which nothing is copied: a collective that works moves gigabytes."""
BUSY_UTIL, BUSY_DRAM = 0.05, 0.05
"""Utilisation and memory traffic below which a GPU does nothing."""


def limit_w(gpu: Gpu) -> float | None:
    """The card's power limit: as read, else as sold; None for a card that is not known."""
    return gpu.power_limit_w or next((watts for name, watts in LIMIT_W if name in gpu.name), None)


def power_share(gpu: Gpu) -> float | None:
    """Power as a share of the limit; None where either is not known."""
    limit = limit_w(gpu)
    return None if gpu.power_w is None or not limit else gpu.power_w / limit


def copies(gpu: Gpu) -> float | None:
    """Bytes a second over PCIe, both ways as far as they could be read; None: neither was."""
    known = [rate for rate in (gpu.pcie_rx, gpu.pcie_tx) if rate is not None]
    return sum(known) if known else None


def seems_busy(gpu: Gpu) -> bool | None:
    """True: full utilisation at idle power, or without power readings with nothing copied and no memory traffic.

    None: what was read does not tell. A collective that waits for a peer spins at 15 to 22 % of the limit; the lightest
    real decoding on an H200 takes 35 %.
    """
    if gpu.util is None:
        return None
    if gpu.util < GHOST_UTIL:
        return False
    if gpu.dram_active is not None and gpu.dram_active > BUSY_DRAM:
        return False
    if (share := power_share(gpu)) is not None:
        return share <= GHOST_POWER
    if (rate := copies(gpu)) is not None:
        return rate < SMALL_COPY and (gpu.util_memory or 0.0) <= 0.01
    return None


def works(gpu: Gpu) -> bool:
    """It computes or moves data: more than a context that idles, and no spinning kernel."""
    return not seems_busy(gpu) and (computes(gpu) or (copies(gpu) or 0.0) >= SMALL_COPY)


def computes(gpu: Gpu) -> bool:
    """It draws more than a context that idles, or its memory is in use."""
    share = power_share(gpu)
    busy = gpu.util is not None and gpu.util >= BUSY_UTIL and share is not None and share > GHOST_POWER
    return busy or (gpu.dram_active or 0.0) > BUSY_DRAM

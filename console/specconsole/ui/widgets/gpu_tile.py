"""One GPU drawn in one, two or three rows: the pure drawing, and the widget that repaints only what changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from specconsole import text
from specconsole.gpu.fault import Fault
from specconsole.gpu.history import Trend
from specconsole.gpu.sample import Gpu
from specconsole.gpu.view import GIB, Memory, gibibytes
from specconsole.ui.resizing import Sized
from specconsole.ui.rows.row import Row, Run, apart, bar, faded, fill, fitting, spark, width
from specconsole.ui.widgets.rows import Rows

HOT_C = 85.0
"""From here on a temperature is marked; data-centre cards slow down between 83 and 90 °C."""
AT_LIMIT = 0.98
"""Power at this share of its limit is marked."""
_SPARK = 4
_NUMBERS = 23
"""Cells of the numbers that every form has."""
_WIDE = 46
"""From so many cells on PCIe is told with its unit."""
_SHORT = {"lost": "lost", "silent": "silent", "ecc": "ECC", "slowed": "slowed", "ghost": "only waits"}


@dataclass(frozen=True)
class Card:
    """What a tile shows."""

    gpu: Gpu
    memory: Memory
    trend: Trend = field(default_factory=Trend)
    """Its newest samples."""
    faults: tuple[Fault, ...] = ()
    """What is wrong with this GPU."""
    selected: bool = False
    """Enter opens this one."""


def tile(card: Card, cells: int, rows: int) -> tuple[Row, ...]:
    """Draw a GPU on `rows` (1 to 3) rows of `cells` cells; 23 cells are the least that hold every number."""
    if card.gpu.error is not None:
        lost: Row = (index(card), ("✖ " + text.one_line(card.gpu.error), "bad"))
        return (fill(lost, cells), *((fill((), cells),) * (rows - 1)))
    if rows == 1:
        return (line(card, cells),)
    if rows == 2:
        beside = marks(card) or ((pcie(card.gpu), "muted"),)
        return (activity(card, cells), memory(card, cells, beside if cells >= 38 else marks(card)))
    return (activity(card, cells), memory(card, cells, ()), details(card, cells))


def line(card: Card, cells: int) -> Row:
    """Everything on one row: numbers first, then the bar and the curves, which stand still while the numbers change.

    PCIe, bar and curves appear as room allows; what is wrong stands in the bar's place.
    """
    gpu, mark = card.gpu, marks(card)
    room = cells - _NUMBERS
    left: Row = (
        index(card, bad=bool(mark) and room < 7),
        (gib(card.memory), "text"),
        (percent(gpu.util), util_ink(card)),
        (" ", "text"),
        (watts(gpu), power_ink(gpu)),
        *temperature(gpu),
    )
    if room >= 12 + 3 * _SPARK:
        left += ((" ", "text"), (pcie(gpu), "muted"))
        room -= 12
    past = min(room // 4, 16) if room >= 6 * _SPARK else 0
    if room - past >= 7:
        across = min((room - past) * (1 if past else 3) // (2 if past else 5), 24)
        left += (
            (" ", "text"),
            *(fill(mark, across) if mark else bar(card.memory.share, across, "gpu-memory", "gpu-free")),
        )
        room -= across + 1
    if past:
        left += ((" ", "text"), (spark(card.trend.memory, past - 1), "gpu-memory"))
        room -= past
    if room > _SPARK:
        left += ((" ", "text"), (spark(card.trend.util, room - 1), "gpu-util"))
    return fill(left, cells)


def activity(card: Card, cells: int) -> Row:
    """Utilisation, power against limit, temperature: they change every second, so the curve stands behind them.

    A repaint of a line always begins at its left edge; the curve moves on only every few seconds.
    """
    gpu = card.gpu
    left: Row = (
        index(card),
        (percent(gpu.util), util_ink(card)),
        (" ", "text"),
        (power(gpu), power_ink(gpu)),
        *temperature(gpu),
        ("  ", "text"),
    )
    return fill((*left, (spark(card.trend.util, cells - width(left)), "gpu-util")), cells)


def memory(card: Card, cells: int, beside: Row) -> Row:
    """The memory bar with its numbers and its past, and what stands beside them: PCIe, or marks of what is wrong."""
    space: Row = ((" ", "text"),) if beside else ()
    right: Row = ((" ", "text"), (gibibytes(card.memory).rjust(13), "text"), *space, *beside)
    room = max(cells - 3 - width(right), 4)
    past = min(room // 3, 20) if room >= 4 * _SPARK else 0
    curve: Row = ((" ", "text"), (spark(card.trend.memory, past - 1), "gpu-memory")) if past else ()
    shown = bar(card.memory.share, room - past, "gpu-memory", "gpu-free")
    return fill(((" " * 3, "text"), *shown, *curve, *right), cells)


def details(card: Card, cells: int) -> Row:
    """PCIe, clocks and marks, muted: one looks here when something is odd."""
    gpu, mark = card.gpu, marks(card, long=True) or slowed(card)
    top = f"/{gpu.sm_mhz_max:,}" if gpu.sm_mhz_max is not None else ""
    moved = f"▼ {text.rate(gpu.pcie_rx):>9}  ▲ {text.rate(gpu.pcie_tx):>9}" if cells >= _WIDE else pcie(gpu)
    parts: list[tuple[int, Row]] = [
        (1, ((moved, "muted"),)),
        (2, ((f"{gpu.sm_mhz:,}{top} MHz".rjust(15 if top else 9), "muted"),) if gpu.sm_mhz is not None else ()),
        (3, ((f"SM {text.percent(gpu.sm_active):>5}", "muted"),) if gpu.sm_active is not None else ()),
        (4, ((f"DRAM {text.percent(gpu.dram_active):>5}", "muted"),) if gpu.dram_active is not None else ()),
    ]
    shown = fitting(parts, max(cells - 3 - width(mark), 0))
    return apart(((" " * 3, "text"), *shown), mark, cells)


def marks(card: Card, *, long: bool = False) -> Row:
    """What is wrong with a card, in few words, or in a few more; empty when nothing is."""
    runs: list[Run] = []
    for fault in card.faults:
        said = fault.text.partition(",")[0] if fault.kind == "xid" else _SHORT.get(fault.kind, fault.kind)
        if long and fault.kind == "ghost":
            said = "ghost: busy, but only waits"
        space = " " if runs else ""
        sign, ink = ("✖", "bad") if fault.grave else ("▲", "warn")
        runs.append((f"{space}{sign} {text.one_line(said, 28 if long else 12)}", ink))
    return tuple(runs)


def slowed(card: Card) -> Row:
    """Why the clocks are lowered now; the power cap is how a busy card works, so it is no fault."""
    return tuple((f"▾ {text.one_line(reason, 20)}", "muted") for reason in (card.gpu.throttle or ())[:1])


def index(card: Card, *, bad: bool = False) -> Run:
    """The GPU's number, two cells and a sign; a card that the driver cannot number has none."""
    number = f"{card.gpu.index:>2}" if card.gpu.index >= 0 else " ?"
    if bad:
        return (f"{number}✖", "bad")
    return (f"{number}›", "accent") if card.selected else (f"{number} ", "muted")


def util_ink(card: Card) -> str:
    """Utilisation is marked when the kernels only wait."""
    return "warn" if any(fault.kind == "ghost" for fault in card.faults) else "text"


def gib(of: Memory) -> str:
    """Memory used on six cells, in GiB; the unit is spelt out in the title and the help."""
    return (text.UNKNOWN if of.used is None else f"{of.used / GIB:.1f}G").rjust(6)


def percent(fraction: float | None) -> str:
    """A percentage on five cells."""
    return (text.UNKNOWN if fraction is None else f"{fraction * 100:.0f}%").rjust(5)


def watts(gpu: Gpu) -> str:
    """Power on four cells."""
    return (text.UNKNOWN if gpu.power_w is None else f"{gpu.power_w:.0f}W").rjust(4)


def power(gpu: Gpu) -> str:
    """Power against its limit, on eight cells."""
    drawn = text.UNKNOWN if gpu.power_w is None else f"{gpu.power_w:.0f}"
    limit = "" if gpu.power_limit_w is None else f"/{gpu.power_limit_w:.0f}"
    return f"{drawn}{limit}W".rjust(8)


def power_ink(gpu: Gpu) -> str:
    """Power is marked when it presses on the limit."""
    close = gpu.power_w is not None and gpu.power_limit_w and gpu.power_w >= AT_LIMIT * gpu.power_limit_w
    return "gpu-hot" if close else "text"


def temperature(gpu: Gpu) -> Row:
    """Degrees Celsius on four cells, with a mark when hot."""
    if gpu.temperature_c is None:
        return ((text.UNKNOWN.rjust(4), "muted"),)
    hot = gpu.temperature_c >= HOT_C
    degrees = f"{gpu.temperature_c:.0f}°".rjust(3)
    return ((f"▲{degrees}" if hot else f" {degrees}", "gpu-hot" if hot else "text"),)


def pcie(gpu: Gpu) -> str:
    """PCIe into and out of the card in GB/s, on eleven cells."""
    rx, tx = (text.UNKNOWN if value is None else f"{value / 1e9:.1f}" for value in (gpu.pcie_rx, gpu.pcie_tx))
    return f"▼{rx:>4} ▲{tx:>4}"


class GpuTile(Rows, Sized):
    """A tile; `show_card` draws it anew."""

    DEFAULT_CSS = "GpuTile { width: 1fr; height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self._card: tuple[Card, bool] | None = None

    def show_card(self, card: Card, *, stale: bool) -> None:
        """Show a GPU as it was at the last sample; stale numbers lose their inks."""
        self._card = (card, stale)
        if self.size:
            rows = tile(card, self.size.width, min(self.size.height, 3))
            self.show(faded(row) for row in rows) if stale else self.show(rows)

    def resized(self) -> None:
        """Draw for the new size."""
        if self._card is not None:
            self.show_card(self._card[0], stale=self._card[1])

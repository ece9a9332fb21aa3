"""All that is known of one GPU, as rows of a page: curves on fixed scales, processes, errors, each field with its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specconsole import text
from specconsole.gpu import view
from specconsole.gpu.fault import Fault
from specconsole.gpu.field import FIELDS, shown, source
from specconsole.gpu.history import History, key
from specconsole.gpu.sample import Fleet, Gpu, GpuProcess
from specconsole.ui.rows import plot
from specconsole.ui.rows.plot import Curve
from specconsole.ui.rows.row import Row, cut, fill

HOT_TOP_C = 100.0
"""The upper end of the scale of temperatures: no card runs beyond it."""
PCIE_TOPS = (1e9, 4e9, 16e9, 64e9, 128e9)
"""The upper ends that a scale of PCIe may have, in bytes a second: generation 6 with 16 lanes makes 128 GB/s."""
_HIGHEST = 12
"""No plot has more rows than this."""


@dataclass(frozen=True)
class Shown:
    """One GPU, with what the page needs besides."""

    gpu: Gpu
    fleet: Fleet
    samples: History
    faults: tuple[Fault, ...] = ()


def gpu_rows(of: Shown, cells: int, height: int, age_s: float | None) -> list[Row]:
    """The page: curves that fill most of the screen, then processes, and every field."""
    rows = list(_faults(of, cells))
    if of.gpu.error is None or of.samples.times:
        rows += _curves(of, cells, height)
    rows += [(), *_processes(of.gpu, cells), (), *_fields(of, cells, age_s)]
    return [cut(row, cells) for row in rows]


def _faults(of: Shown, cells: int) -> Iterator[Row]:
    if of.gpu.error is not None:
        yield cut(((f" ✖ {text.one_line(of.gpu.error)}", "bad"),), cells)
    for fault in of.faults:
        if fault.kind not in ("lost", "silent"):
            yield cut(
                ((f" {'✖' if fault.grave else '▲'} {text.one_line(fault.text)}", "bad" if fault.grave else "warn"),),
                cells,
            )


def _curves(of: Shown, cells: int, height: int) -> list[Row]:
    across = 4 if cells >= 180 else 2 if cells >= 72 else 1
    width = (cells - 2 * (across - 1)) // across
    curves = list(curves_of(of))
    lines = -(-len(curves) // across)
    rows = min(max((height * 4 // 5) // lines - 1, 2), _HIGHEST)
    times = of.samples.times
    span = plot.covered(times)
    drawn = plot.grid([plot.plot(curve, times, width, rows, span) for curve in curves], across, width)
    below = plot.axis(width, span)
    return [*drawn, *plot.grid([[below]] * across, across, width)]


def curves_of(of: Shown) -> Iterator[Curve]:
    """Every curve that has a value now or had one; the first six are always there."""
    gpu, memory = of.gpu, view.memory(of.gpu, of.fleet)
    gib = None if memory.total is None else memory.total / view.GIB
    limit = gpu.power_limit_w or plot.nice(max(_known(of, "power_w"), default=None))
    clock = float(gpu.sm_mhz_max or plot.nice(max(_known(of, "sm_mhz"), default=None)))
    beside: Row = ((f"  SM {text.percent(gpu.sm_active)}", "muted"),) if gpu.sm_active is not None else ()
    yield Curve("utilisation", (*_share(gpu.util), *beside), _column(of, "util"), 1.0, plot.percent)
    yield Curve(
        "memory",
        ((view.gibibytes(memory), "text"),),
        _column(of, "memory_share"),
        1.0,
        plot.percent if gib is None else lambda share: f"{share * gib:.0f} G",
        "gpu-memory",
    )
    power = ((f"{view.watts(gpu.power_w)} of {view.watts(gpu.power_limit_w)}", "text"),)
    yield Curve("power", power, _column(of, "power_w"), limit, lambda watts: f"{watts:.0f} W")
    heat = plot.figure(gpu.temperature_c, "°C")
    yield Curve("temperature", heat, _column(of, "temperature_c"), HOT_TOP_C, lambda celsius: f"{celsius:.0f}°")
    most = max((*_known(of, "pcie_rx"), *_known(of, "pcie_tx")), default=0.0)
    top = next((one for one in PCIE_TOPS if one >= most), most)
    for name, value, column in (("PCIe in", gpu.pcie_rx, "pcie_rx"), ("PCIe out", gpu.pcie_tx, "pcie_tx")):
        yield Curve(name, ((text.rate(value), "text"),), _column(of, column), top, lambda rate: f"{rate / 1e9:.0f}G/s")
    clocks = plot.figure(gpu.sm_mhz, f"of {gpu.sm_mhz_max:,} MHz" if gpu.sm_mhz_max else "MHz")
    more = [Curve("SM clock", clocks, _column(of, "sm_mhz"), clock, lambda mhz: f"{mhz:.0f}")]
    more.append(Curve("DRAM bandwidth", _share(gpu.dram_active), _column(of, "dram_active"), 1.0, plot.percent))
    yield from (curve for curve in more if any(value is not None for value in curve.values))


def _share(value: float | None) -> Row:
    return ((text.percent(value), "text"),)


def _column(of: Shown, name: str) -> tuple[float | None, ...]:
    return of.samples.column(key(of.gpu), name) or (None,) * len(of.samples.times)


def _known(of: Shown, name: str) -> list[float]:
    return [value for value in _column(of, name) if value is not None]


def _processes(gpu: Gpu, cells: int) -> Iterator[Row]:
    if gpu.processes is None:
        yield ((" processes  ", "title"), (gpu.why.get("processes", "") or text.UNKNOWN, "muted"))
        return
    yield ((" processes  ", "title"), ("none" if not gpu.processes else f"{len(gpu.processes)}", "muted"))
    for process in sorted(gpu.processes, key=lambda one: -(one.memory or 0)):
        yield cut(_process(process), cells)


def _process(process: GpuProcess) -> Row:
    name = text.one_line(process.name, 60)
    who = (name, "text") if name else ("not visible here: gone, or in a container", "muted")
    unit = text.one_line(process.unit or "")
    return (
        (f"{process.pid:>10}  ", "text"),
        (f"{text.bytes_binary(process.memory):>10}  ", "text"),
        who,
        ("  ", "text"),
        (unit or "in no unit", "accent" if unit else "muted"),
        ("" if process.kind == "compute" else f"  {process.kind}", "muted"),
    )


def _fields(of: Shown, cells: int, age_s: float | None) -> Iterator[Row]:
    gpu = of.gpu
    names = max(len(field.label) for field in FIELDS) + 2
    values = min(max(len(shown(field, gpu)) for field in FIELDS) + 2, max(cells // 3, 16))
    yield (
        (" " + "field".ljust(names), "title"),
        ("value".ljust(values), "title"),
        ("age".ljust(8), "title"),
        ("source, or why it is unknown", "title"),
    )
    for field in FIELDS:
        value = shown(field, gpu)
        unknown = value == text.UNKNOWN
        age = (
            ""
            if unknown or age_s is None
            else text.age(age_s)
            if field.slow_s is None
            else f"≤{field.slow_s + age_s:.0f} s"
        )
        where = text.one_line(gpu.why.get(field.name, "")) or "not told" if unknown else source(field, of.fleet.source)
        row: Row = (
            (" " + field.label.ljust(names), "muted"),
            *fill(cut(((value, "muted" if unknown else "text"),), values - 2), values),
            (age.ljust(8), "muted"),
            (where, "muted"),
        )
        yield cut(row, cells)


def neighbour(gpus: Sequence[Gpu], chosen: str, by: int) -> str:
    """The key of the GPU that stands `by` places after the chosen one, around the end; "" without any."""
    if not gpus:
        return ""
    at = next((i for i, gpu in enumerate(gpus) if key(gpu) == chosen), 0)
    return key(gpus[(at + by) % len(gpus)])

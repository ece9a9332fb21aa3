"""The last minutes of every GPU as columns, for sparklines and for rates."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from statistics import median_low

from specconsole.gpu import view
from specconsole.gpu.sample import Fleet, Gpu

COLUMNS = (
    "memory_share",
    "util",
    "power_w",
    "temperature_c",
    "sm_mhz",
    "pcie_rx",
    "pcie_tx",
    "sm_active",
    "dram_active",
)
"""What is kept: fields of `Gpu`, and the share of its memory that is used."""
LENGTH = 600
"""Samples kept: ten minutes at 1 Hz."""
_PACE = 5
"""So many gaps between samples say how far apart they come."""

Column = tuple[float | None, ...]


TREND = 64
"""Points of a trend: as many as the widest tile shows."""
POINT = 5
"""Samples in a point. A curve that moves with every sample would be most of what an idle screen sends."""


@dataclass(frozen=True)
class Trend:
    """What a tile shows of a GPU's past: means of five samples, 0 to 1, the oldest first; None where nothing was read."""

    util: Column = ()
    memory: Column = ()


def key(gpu: Gpu) -> str:
    """What tells GPUs apart over restarts of the host: the uuid, which an unreadable one may not say."""
    return gpu.uuid or f"#{gpu.index}"


class History:
    """A ring of samples: each column of each GPU is as long as `times`, None where nothing was read."""

    def __init__(self, length: int = LENGTH) -> None:
        self.length = length
        self._times: deque[float] = deque(maxlen=length)
        self._columns: dict[str, dict[str, deque[float | None]]] = {}
        self._gaps: deque[float] = deque(maxlen=_PACE)
        self._last: float | None = None
        self._taken = 0

    @property
    def times(self) -> tuple[float, ...]:
        """When each sample was taken: seconds since the epoch by the host's clock, the oldest first."""
        return tuple(self._times)

    def column(self, gpu: Gpu | str, name: str) -> Column:
        """One column of one GPU, the oldest first, as an immutable copy; () for a GPU that was never seen."""
        columns = self._columns.get(gpu if isinstance(gpu, str) else key(gpu))
        return () if columns is None else tuple(columns[name])

    def trend(self, gpu: Gpu) -> Trend:
        """The newest whole points of one GPU."""
        columns = self._columns.get(key(gpu))
        if columns is None:
            return Trend()
        return Trend(*(self._points(columns[name]) for name in ("util", "memory_share")))

    def _points(self, values: deque[float | None]) -> Column:
        """Points begin at whole multiples of their length since the first sample, so they stand still while they move."""
        length = len(values)
        ahead = self._taken - length  # samples that the ring has forgotten
        begin = max(-(-ahead // POINT), (self._taken // POINT) - TREND)
        return tuple(
            _mean(list(islice(values, point * POINT - ahead, (point + 1) * POINT - ahead)))
            for point in range(begin, self._taken // POINT)
        )

    @property
    def pace_s(self) -> float | None:
        """Seconds from one sample to the next, as they come; None before the second one."""
        return median_low(self._gaps) if self._gaps else None

    def add(self, fleet: Fleet) -> None:
        """Take in a sample; a pause in the stream, as after a cut link, leaves a hole as long as it was."""
        self._leave_hole(fleet)
        self._last = fleet.at
        self._append(fleet.at, {key(gpu): _values(gpu, fleet) for gpu in fleet.gpus})

    def _leave_hole(self, fleet: Fleet) -> None:
        """Samples may come slower than the host says (a demo that is played fast, a slow driver): that is no hole."""
        if self._last is None or (gap := fleet.at - self._last) <= 0:
            return
        self._gaps.append(gap)
        pace = max(fleet.interval_s, median_low(self._gaps), 1e-3)
        missing = round(gap / pace) - 1
        if missing >= 2:  # one late tick is no hole
            for count in range(max(missing - self.length, 0) + 1, missing + 1):
                self._append(self._last + count * pace, {})

    def _append(self, at: float, gpus: Mapping[str, Mapping[str, float | None]]) -> None:
        for name in gpus.keys() - self._columns.keys():
            before = [None] * len(self._times)
            self._columns[name] = {column: deque(before, maxlen=self.length) for column in COLUMNS}
        self._times.append(at)
        self._taken += 1
        for name, columns in self._columns.items():
            gpu = gpus.get(name)
            for column, values in columns.items():
                values.append(None if gpu is None else gpu[column])


def _values(gpu: Gpu, fleet: Fleet) -> dict[str, float | None]:
    own = {name: getattr(gpu, name) for name in COLUMNS if name != "memory_share"}
    return {**own, "memory_share": view.memory(gpu, fleet).share}


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None

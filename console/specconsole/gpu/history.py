"""The last minutes of every GPU as columns, for sparklines and for rates."""

from __future__ import annotations

from collections import deque

from specconsole.gpu.sample import Fleet, Gpu

COLUMNS = (
    "memory_used",
    "util",
    "power_w",
    "temperature_c",
    "sm_mhz",
    "pcie_rx",
    "pcie_tx",
    "sm_active",
    "dram_active",
)
"""What is kept: fields of `Gpu`."""
LENGTH = 600
"""Samples kept: ten minutes at 1 Hz."""

Column = tuple[float | None, ...]


def key(gpu: Gpu) -> str:
    """What tells GPUs apart over restarts of the host: the uuid, which an unreadable one may not say."""
    return gpu.uuid or f"#{gpu.index}"


class History:
    """A ring of samples: each column of each GPU is as long as `times`, None where nothing was read."""

    def __init__(self, length: int = LENGTH) -> None:
        self.length = length
        self._times: deque[float] = deque(maxlen=length)
        self._columns: dict[str, dict[str, deque[float | None]]] = {}

    @property
    def times(self) -> tuple[float, ...]:
        """When each sample was taken: seconds since the epoch by the host's clock, the oldest first."""
        return tuple(self._times)

    def column(self, gpu: Gpu | str, name: str) -> Column:
        """One column of one GPU, the oldest first, as an immutable copy; () for a GPU that was never seen."""
        columns = self._columns.get(gpu if isinstance(gpu, str) else key(gpu))
        return () if columns is None else tuple(columns[name])

    def add(self, fleet: Fleet) -> None:
        """Take in a sample; a pause in the stream, as after a cut link, leaves a hole as long as it was."""
        self._leave_hole(fleet)
        self._append(fleet.at, {key(gpu): gpu for gpu in fleet.gpus})

    def _leave_hole(self, fleet: Fleet) -> None:
        if not self._times or fleet.interval_s <= 0:
            return
        last = self._times[-1]
        missing = round((fleet.at - last) / fleet.interval_s) - 1
        if missing >= 2:  # one late tick is no hole
            for count in range(max(missing - self.length, 0) + 1, missing + 1):
                self._append(last + count * fleet.interval_s, {})

    def _append(self, at: float, gpus: dict[str, Gpu]) -> None:
        for name in gpus.keys() - self._columns.keys():
            before = [None] * len(self._times)
            self._columns[name] = {column: deque(before, maxlen=self.length) for column in COLUMNS}
        self._times.append(at)
        for name, columns in self._columns.items():
            gpu = gpus.get(name)
            for column, values in columns.items():
                values.append(None if gpu is None else getattr(gpu, column))

"""One GPU: curves over the last minutes, who holds it, its errors, and every field with its source and age."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.reactive import var

from specconsole import text
from specconsole.gpu import view
from specconsole.gpu.fault import Fault
from specconsole.gpu.history import History, key
from specconsole.gpu.sample import Fleet, Gpu
from specconsole.ui import keys
from specconsole.ui.freshness import Feed, Freshness, judge, label
from specconsole.ui.rows.gpu import Shown, gpu_rows
from specconsole.ui.rows.row import Row, apart, faded
from specconsole.ui.screens.sheet import SheetScreen


class GpuScreen(SheetScreen, inherit_bindings=False):
    """The selected GPU; its reactives are bound to the app's of the same name."""

    NAME = "GPU"
    BINDINGS: ClassVar = keys.bindings(keys.Place.GPU)
    INPUTS = ("fleet", "faults", "selected_gpu", "feeds", "now")

    fleet: var[Fleet | None] = var(None)
    """The newest sample of the host."""
    samples: var[History | None] = var(None)
    """All samples that are kept."""
    faults: var[tuple[Fault, ...]] = var(())
    """What is wrong with any GPU now."""
    selected_gpu: var[str] = var("")
    """The key of the GPU to show; "": the first one."""
    feeds: var[dict[str, Feed]] = var({})
    """The state of each source of data."""

    @property
    def gpu(self) -> Gpu | None:
        """The GPU that is shown."""
        gpus = self.fleet.gpus if self.fleet is not None else ()
        return next((gpu for gpu in gpus if key(gpu) == self.selected_gpu), gpus[0] if gpus else None)

    def _fresh(self) -> Freshness:
        return judge(self.feeds.get("gpus", Feed()), self.link, self.now)

    def standing(self, cells: int) -> Row:
        """Which GPU of how many, and how old the sample is."""
        gpu, age = self.gpu, label(self._fresh())
        if gpu is None or self.fleet is None:
            return ((" no GPU can be read", "muted"),)
        number = str(gpu.index) if gpu.index >= 0 else "?"
        left: Row = (
            (f" GPU {number}", "title"),
            (f" of {len(self.fleet.gpus)}", "muted"),
            (f"  {view.short_name(gpu.name)}", "text"),
            (f"  {text.one_line(gpu.bus or '')}", "muted"),
        )
        return apart(left, (*age, (" ", "text")), cells)

    def page(self, cells: int) -> Sequence[Row]:
        """Everything; a stale sample loses its inks."""
        gpu, fleet, samples = self.gpu, self.fleet, self.samples
        if gpu is None or fleet is None or samples is None:
            why = text.one_line(fleet.why or "") if fleet is not None else "waiting for the first sample…"
            return [((f" {why}", "muted"),)]
        fresh = self._fresh()
        faults = tuple(fault for fault in self.faults if fault.gpu == gpu.index)
        rows = gpu_rows(Shown(gpu, fleet, samples, faults), cells, self.sheet.size.height, fresh.age_s)
        return [faded(row) for row in rows] if fresh.stale else rows

"""One entry of the history whole: a load, a swap, an experiment, or a run with its tables."""

from __future__ import annotations

from collections.abc import Sequence

from textual.reactive import var

from specconsole import text
from specconsole.bench import table
from specconsole.bench.run import BenchRun
from specconsole.history.entry import Experiment
from specconsole.ui.local_time import LocalTime
from specconsole.ui.rows.bench import run_rows
from specconsole.ui.rows.history import Item, whole
from specconsole.ui.rows.row import Row, cut
from specconsole.ui.screens.sheet import SheetScreen


class KeptScreen(SheetScreen, inherit_bindings=False):
    """Opened from the history; Esc leads back."""

    NAME = "record"
    INPUTS = ("kept", "kept_error")

    kept: var[tuple[int, BenchRun] | None] = var(None)
    """The run that was read whole last, with its id."""
    kept_error: var[str] = var("")
    """Why it could not be read, in a sentence."""

    def __init__(self, item: Item, stamp: LocalTime) -> None:
        super().__init__()
        self.item, self._stamp = item, stamp

    @property
    def number(self) -> int | None:
        """The id of the run whose body is to be read; None for a load or a swap."""
        return self.item.entry.id if self.item.kind == "runs" else None

    @property
    def run(self) -> BenchRun | None:
        """The run, once it was read."""
        return self.kept[1] if self.kept is not None and self.kept[0] == self.number else None

    def standing(self, cells: int) -> Row:
        """What it is and how it ended."""
        if self.kept_error and self.number is not None and self.run is None:
            return cut(((f" ✖ {text.one_line(self.kept_error)}", "bad"),), cells)
        glyph, ink = self.item.mark
        entry = self.item.entry
        unit = text.one_line((entry.name if isinstance(entry, Experiment) else entry.unit) or "no unit", 40)
        return cut(((f" {glyph} ", ink), (f"{self.item.kind[:-1]} ", "muted"), (unit, "strong"), (f"  {self.item.said}", "text")), cells)  # fmt: skip

    def page(self, cells: int) -> Sequence[Row]:
        """All that is remembered of it."""
        rows = whole(self.item, self._stamp.full, cells)
        if self.number is None:
            return rows
        if self.run is None:
            return rows if self.kept_error else [((" reading the run…", "busy"),), (), *rows]
        return [*run_rows(self.run, cells), (), *rows]

    def copied(self) -> str:
        """A run as Markdown, anything else as it stands."""
        return table.markdown(self.run) if self.run is not None else super().copied()

"""The doctor: what the console can and cannot do on this host, why, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.reactive import var

from specconsole import text
from specconsole.service.check import Check
from specconsole.ui import keys
from specconsole.ui.local_time import LocalTime
from specconsole.ui.part.looked import Looked, age_row
from specconsole.ui.rows.doctor import check_rows, summary_row
from specconsole.ui.rows.row import Row, apart, cut
from specconsole.ui.screens.sheet import SheetScreen


class DoctorScreen(SheetScreen, inherit_bindings=False):
    """What was found when the doctor looked last; its reactives are bound to the app's of the same name."""

    NAME = "doctor"
    BINDINGS: ClassVar = keys.bindings(keys.Place.DOCTOR)
    INPUTS = ("checked", "collected_at", "now")

    checked: var[Looked[tuple[Check, ...]]] = var(Looked())
    """What was found last, and how the present look goes."""
    collected_at: var[float | None] = var(None)
    """When what is played was collected; None: the host is there now."""

    def __init__(self, stamp: LocalTime) -> None:
        super().__init__()
        self._stamp = stamp

    def standing(self, cells: int) -> Row:
        """How many checks there are of each level, and how old they are."""
        checked = self.checked
        if checked.problem:
            return cut(((f" ✖ {text.one_line(checked.problem)}", "bad"),), cells)
        age = age_row([checked], self.now, "looking at the host…", "looked")
        if self.collected_at is not None:
            age = ((f"as collected at {self._stamp.day(self.collected_at)} ", "muted"),)
        return apart(summary_row(checked.found or ()), age, cells)

    def page(self, cells: int) -> Sequence[Row]:
        """Every check; what an earlier look found stays while the doctor looks again."""
        return check_rows(self.checked.found or (), cells)

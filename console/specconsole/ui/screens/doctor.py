"""The doctor: what the console can and cannot do on this host, why, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.reactive import var

from specconsole import text
from specconsole.service.doctor import Check
from specconsole.ui import keys
from specconsole.ui.doctor_rows import check_rows, summary_row
from specconsole.ui.freshness import whole
from specconsole.ui.row import Row, apart, cut
from specconsole.ui.screens.sheet import SheetScreen


class DoctorScreen(SheetScreen, inherit_bindings=False):
    """What was found when the doctor looked last; its reactives are bound to the app's of the same name."""

    NAME = "doctor"
    BINDINGS: ClassVar = keys.bindings(keys.Place.DOCTOR)
    INPUTS = ("checks", "checked_at", "check_error", "checking", "now")

    checks: var[tuple[Check, ...]] = var(())
    """What was found; () before the doctor has looked."""
    checked_at: var[float | None] = var(None)
    """Monotonic seconds at which it had looked."""
    check_error: var[str] = var("")
    """Why it could not look, in a sentence."""
    checking: var[bool] = var(False)
    """It is looking now."""

    def standing(self, cells: int) -> Row:
        """How many checks there are of each level, and how old they are."""
        if self.check_error:
            return cut(((f" ✖ {text.one_line(self.check_error)}", "bad"),), cells)
        age = "" if self.checked_at is None else f"looked {whole(max(self.now - self.checked_at, 0.0))} ago"
        said = "looking at the host…" if self.checking else age
        return apart(summary_row(self.checks), ((said, "busy" if self.checking else "muted"), (" ", "text")), cells)

    def page(self, cells: int) -> Sequence[Row]:
        """Every check; what an earlier look found stays while the doctor looks again."""
        return check_rows(self.checks, cells)

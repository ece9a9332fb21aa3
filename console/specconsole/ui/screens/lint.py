"""What of a unit's settings fails or ends badly, and the drop-in that mends it: shown first, written after a yes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.reactive import var

from specconsole import text
from specconsole.service.unit import Unit
from specconsole.ui import keys
from specconsole.ui.part.looked import Looked, age_row
from specconsole.ui.rows.lint import lint_rows, mend_rows
from specconsole.ui.rows.row import Row, apart, paragraph
from specconsole.ui.rows.unit_word import name
from specconsole.ui.screens.plan import AskScreen
from specconsole.ui.screens.sheet import SheetScreen

if TYPE_CHECKING:
    from specconsole.service.mend import Mend
    from specconsole.service.mending import Overhaul


class LintScreen(SheetScreen, inherit_bindings=False):
    """The findings of one unit; its reactives are bound to the app's of the same name."""

    NAME = "lint"
    BINDINGS: ClassVar = keys.bindings(keys.Place.LINT)
    INPUTS = ("units", "lintings", "now")

    units: var[tuple[Unit, ...]] = var(())
    """All units."""
    lintings: var[Mapping[str, Looked[Overhaul]]] = var({})
    """What was found of units so far, by key."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key

    @property
    def _linting(self) -> Looked[Overhaul]:
        return self.lintings.get(self.key) or Looked()

    def standing(self, cells: int) -> Row:
        """How much there is to say, and how old it is."""
        from specconsole.service.lint import counted

        unit = next((unit for unit in self.units if unit.key == self.key), None)
        found = self._linting.found
        left: Row = ((f" lint {name(unit) if unit else text.one_line(self.key)} ", "strong"),)
        if found is not None:
            calm = not any(finding.severity != "note" for finding in found.linted.findings)
            left += ((f" {counted(found.linted.findings)}", "good" if calm else "warn"),)
        return apart(left, age_row([self._linting], self.now, "looking…", "looked"), cells)

    def page(self, cells: int) -> Sequence[Row]:
        """The findings; that there are none is said only where it was looked."""
        found = self._linting.found
        if found is None:
            return paragraph(f" {self._linting.problem}", cells, 9, "bad") if self._linting.problem else ()
        rows = lint_rows(found.linted.findings, cells)
        return rows or [((" Nothing of its settings fails or ends badly, as far as can be seen.", "good"),)]


class MendScreen(AskScreen):
    """The drop-in that would be written; answers True only to y, and only where it can be."""

    NAME = "drop-in"

    def __init__(self, plan: Mend, host: str) -> None:
        super().__init__()
        self._plan, self._host = plan, host

    @property
    def title_text(self) -> str:
        """What would be written."""
        return f"mend {self._plan.subject.unit.key} on {self._host}"

    @property
    def blocked(self) -> bool:
        """Something stands in the way."""
        return bool(self._plan.blockers)

    def rows(self, cells: int) -> list[Row]:
        """What it mends, and what it says."""
        return mend_rows(self._plan, cells)

"""A unit that would be derived: the findings and the diff stand there, and the default is No."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specconsole.ui.derive_rows import derive_rows
from specconsole.ui.row import Row
from specconsole.ui.screens.plan import AskScreen

if TYPE_CHECKING:
    from specconsole.service.derive import Derivation


class DeriveScreen(AskScreen):
    """Answers True only to y, and only where it can be written."""

    NAME = "derivation"

    def __init__(self, plan: Derivation) -> None:
        super().__init__()
        self._plan = plan

    @property
    def title_text(self) -> str:
        """What it is about."""
        return f"derive {self._plan.name} from {self._plan.baseline.key} on {self._plan.host}"

    @property
    def blocked(self) -> bool:
        """Nothing can be written, or nothing has to be."""
        return bool(self._plan.refusals) or self._plan.unchanged

    def rows(self, cells: int) -> list[Row]:
        """The findings and the diff."""
        return derive_rows(self._plan, cells)

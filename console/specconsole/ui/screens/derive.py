"""A unit that would be derived, or taken away again: the diff stands there, and the default is No."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specconsole.ui.rows.derive import derive_rows, removal_rows
from specconsole.ui.rows.row import Row
from specconsole.ui.screens.plan import AskScreen

if TYPE_CHECKING:
    from specconsole.service.derive import Derivation
    from specconsole.service.derive_write import Removal


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


class RemovalScreen(AskScreen):
    """Answers True only to y, and only where it may be removed."""

    NAME = "removal"

    def __init__(self, plan: Removal, host: str) -> None:
        super().__init__()
        self._plan, self._host = plan, host

    @property
    def title_text(self) -> str:
        """What would go."""
        return f"take {self._plan.unit.key} away on {self._host}"

    @property
    def blocked(self) -> bool:
        """Something stands in the way."""
        return bool(self._plan.blockers)

    def rows(self, cells: int) -> list[Row]:
        """Why it may go, and what goes."""
        return removal_rows(self._plan, cells)

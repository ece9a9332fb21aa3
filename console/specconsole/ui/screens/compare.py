"""The comparison of arms: the marked runs of the history, or the newest of each arm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.reactive import reactive, var

from specconsole.bench import side
from specconsole.ui import keys
from specconsole.ui.feed.history import Compared
from specconsole.ui.local_time import LocalTime
from specconsole.ui.rows.compare import page_rows, standing_row
from specconsole.ui.rows.row import Row, cut
from specconsole.ui.screens.sheet import SheetScreen

if TYPE_CHECKING:
    from specconsole.ui.app import SpecConsole


class CompareScreen(SheetScreen, inherit_bindings=False):
    """The comparison that was made last; its reactives are bound to the app's of the same name."""

    NAME = "compare"
    BINDINGS: ClassVar = keys.bindings(keys.Place.COMPARE)
    INPUTS = ("compared", "compare_error", "comparing", "picked", "at", "rights")

    compared: var[Compared | None] = var(None)
    """The comparison; None: there is nothing to compare yet."""
    compare_error: var[str] = var("")
    """Why none could be made, in a sentence."""
    comparing: var[bool] = var(False)
    """One is being made now."""
    picked: var[tuple[int, ...]] = var((), bindings=True)
    """The runs that the user marked; (): the newest ones are compared."""
    at: reactive[int] = reactive(0, bindings=True)
    """Which of several comparisons is shown."""

    def __init__(self, stamp: LocalTime) -> None:
        super().__init__()
        self._stamp = stamp

    @property
    def _owner(self) -> SpecConsole:
        return cast("SpecConsole", self.app)

    @property
    def _count(self) -> int:
        return len(self.compared.found.comparisons) if self.compared else 0

    @property
    def _place(self) -> int:
        return min(self.at, max(self._count - 1, 0))

    def standing(self, cells: int) -> Row:
        """Which arms, over how many starts."""
        idle = self.compared is None and not self.comparing and not self.compare_error
        if idle and (why := self._owner.withheld):
            return cut(((f" No run of this host is remembered, and none can be made here: {why}.", "muted"),), cells)
        return standing_row(self.compared, self._place, self.comparing, self.compare_error, cells)

    def page(self, cells: int) -> Sequence[Row]:
        """The verdict and all that it rests on."""
        return page_rows(self.compared, self._place, self._stamp.day, cells)

    def watch_compared(self) -> None:
        """What can be gone through changes with it."""
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What there is nothing for is not offered."""
        if action == "other":
            return self._count > 1
        if action == "newest":
            return bool(self.picked)
        return super().check_action(action, parameters)

    def action_other(self, by: int) -> None:
        """Go to the next comparison, or to the one before."""
        if self._count:
            self.at = (self._place + by) % self._count
            self.sheet.action_edge(-1)

    def action_choose(self) -> None:
        """Mark runs in the history."""
        self._owner.choose_runs()

    def action_newest(self) -> None:
        """Forget the marks."""
        self._owner.action_compare_newest()

    def action_again(self) -> None:
        """Make the comparison anew."""
        self._owner.compare_again()

    def copied(self) -> str:
        """The comparison as Markdown."""
        return side.markdown(self.compared.found.comparisons[self._place]) if self.compared and self._count else ""

"""Lint as a part of the app: a unit's findings on a page of their own, and the drop-in that mends them after a yes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.reactive import var

from specconsole.errors import SpecConsoleError
from specconsole.ui.part.inspecting import InspectApp
from specconsole.ui.part.looked import Looked
from specconsole.ui.rows.unit_word import name

if TYPE_CHECKING:
    from specconsole.service.mending import Overhaul
    from specconsole.service.unit import Unit


class LintApp(InspectApp):
    """Looks units over, and mends what a drop-in can."""

    lintings: var[Mapping[str, Looked[Overhaul]]] = var({}, bindings=True)
    """What was found of units so far, by key."""

    def meant_unit(self) -> Unit | None:
        """The unit that a key is about: that of the page, else the selected one."""
        from specconsole.ui.screens.lint import LintScreen
        from specconsole.ui.screens.unit import UnitScreen

        key = self.screen.key if isinstance(self.screen, UnitScreen | LintScreen) else self.selected
        return next((unit for unit in self.units if unit.key == key), None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A drop-in is offered only where there is one to write."""
        return (action != "lint_fix" or self._mendable()) and super().check_action(action, parameters)

    def _mendable(self) -> bool:
        unit = self.meant_unit()
        found = self._linted(unit.key).found if unit is not None else None
        return found is not None and bool(found.mend.text)

    def action_lint(self) -> None:
        """Open the findings of the unit that is meant."""
        from specconsole.ui.screens.lint import LintScreen

        unit = self.meant_unit()
        if unit is None:
            self.tell("No unit is selected.", "warning")
        elif unit.underived:
            self.tell(f"{name(unit)} is not derived yet: there is nothing to look over. D derives it.", "warning")
        else:
            self.push_screen(self._bound(LintScreen(unit.key)))
            self._look_over(unit)

    def action_lint_again(self) -> None:
        """Look the unit of the page over again."""
        if (unit := self.meant_unit()) is not None:
            self._look_over(unit)

    def action_lint_fix(self) -> None:
        """Show the drop-in that mends the unit of the page, and ask."""
        unit = self.meant_unit()
        if unit is not None:
            self.run_worker(self._fix(unit), group="lint-fix", exclusive=True)

    def _look_over(self, unit: Unit) -> None:
        self._note(unit.key, self._linted(unit.key).begun())
        self.run_worker(self._look(unit), group=f"lint {unit.key}", exclusive=True)

    async def _look(self, unit: Unit) -> None:
        try:
            found = await self.sources.lints.look(unit)
            self._note(unit.key, self._linted(unit.key).got(found, self.clock))
        except SpecConsoleError as error:
            self._note(unit.key, self._linted(unit.key).failed(str(error)))

    async def _fix(self, unit: Unit) -> None:
        """The unit is looked over anew: what is shown before the yes is what is written after it."""
        from specconsole.ui.screens.lint import MendScreen

        try:
            async with self.announced(f"Looking {name(unit)} over…"):
                found = await self.sources.lints.look(unit)
            self._note(unit.key, self._linted(unit.key).got(found, self.clock))
            if not found.mend.text:
                self.tell("There is nothing that a drop-in of ours would mend.")
                return
            if not await self.push_screen_wait(MendScreen(found.mend, self.host_name)):
                return
            done = await self.sources.lints.write(found.mend)
            self.tell(f"Wrote {done.path}; it counts from the next start of {name(unit)} on.")
            for finding in done.left:
                self.tell(f"Still so, something else sets it: {finding.evidence}", "warning")
            self._look_over(unit)
        except SpecConsoleError as error:
            self.tell(str(error), "error")

    def _linted(self, key: str) -> Looked[Overhaul]:
        return self.lintings.get(key) or Looked()

    def _note(self, key: str, now: Looked[Overhaul]) -> None:
        self.lintings = {**self.lintings, key: now}

"""One unit: its command, environment, starts and files; and how it differs from another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.reactive import reactive, var

from specconsole import text
from specconsole.service.difference import differ
from specconsole.ui import keys
from specconsole.ui.part.looked import Looked, Wanted, age_row
from specconsole.ui.rows.definition import definition_rows, difference_rows
from specconsole.ui.rows.row import Row, apart
from specconsole.ui.rows.unit_word import StateWord, name, state_word
from specconsole.ui.screens.choose import ChooseScreen
from specconsole.ui.screens.sheet import SheetScreen

if TYPE_CHECKING:
    from specconsole.history.entry import Load
    from specconsole.service.definition import Definition
    from specconsole.service.unit import Unit
    from specconsole.ui.local_time import LocalTime


class UnitScreen(SheetScreen, inherit_bindings=False):
    """A unit, or how it differs from another; its reactives are bound to the app's of the same name."""

    NAME = "unit"
    BINDINGS: ClassVar = keys.bindings(keys.Place.UNIT)
    INPUTS = ("units", "server", "looked", "loads", "now", "other")

    units: var[tuple[Unit, ...]] = var(())
    """All units."""
    server: var[tuple[str, StateWord] | None] = var(None)
    """The key of the unit whose engine is asked, and how that is."""
    looked: var[Mapping[str, Looked[Definition]]] = var({})
    """What was read of units so far, by key."""
    loads: var[Mapping[str, tuple[Load, ...]]] = var({})
    """What this machine remembers of their loads, by key."""
    other: reactive[str] = reactive("", bindings=True)
    """The key of the unit that it is compared with; "" for none."""

    def __init__(self, key: str, stamp: LocalTime) -> None:
        super().__init__()
        self.key, self._stamp = key, stamp

    def _unit(self, key: str) -> Unit | None:
        return next((unit for unit in self.units if unit.key == key), None)

    def _said(self, key: str) -> str:
        unit = self._unit(key)
        return name(unit) if unit else text.one_line(key)

    def standing(self, cells: int) -> Row:
        """The unit's state, and how old what stands below is."""
        unit = self._unit(self.key)
        if unit is None:
            left: Row = ((f" {text.one_line(self.key)}", "strong"), ("  there is no such unit any more", "warn"))
        else:
            said = state_word(unit, self.server[1] if self.server and self.server[0] == unit.key else None)
            restarts = text.number(unit.state.restarts)
            left = (
                (f" {name(unit)} ", "strong"),
                (f" {said.glyph} {said.word} ", said.ink),
                (
                    f" {text.one_line(unit.state.enabled) or text.UNKNOWN} · {restarts} restarts · {text.one_line(unit.key)}",
                    "muted",
                ),
            )
        shown = [self._looked(key) for key in (self.key, self.other) if key]
        return apart(left, age_row(shown, self.now, "reading…", "read"), cells)

    def _looked(self, key: str) -> Looked[Definition]:
        return self.looked.get(key) or Looked()

    def page(self, cells: int) -> Sequence[Row]:
        """The definition; or the difference, once both are there."""
        mine = self._looked(self.key).found
        if mine is None:
            return ()
        if not self.other:
            unit = self._unit(self.key)
            running = unit.state.invocation if unit and unit.state.running else ""
            return definition_rows(mine, self.loads.get(self.key, ()), self._stamp.day, cells, running)
        theirs = self._looked(self.other).found
        if theirs is None:
            return ()
        return difference_rows(differ(mine, theirs), self._said(self.key), self._said(self.other), cells)

    def action_differ(self) -> None:
        """Choose the unit to compare with; where there is only one other there is nothing to choose."""
        others = [unit for unit in self.units if unit.key != self.key]
        if not others:
            self.notify("There is no other unit to compare with.", markup=False)
        elif len(others) == 1:
            self._against(others[0].key)
        else:
            entries = [(unit.key, f"{name(unit)}  {unit.key}") for unit in others]
            self.app.push_screen(ChooseScreen(f"Compare {self._said(self.key)} with", entries), self._against)

    def _against(self, key: str | None) -> None:
        if key:
            self.other = key
            self.sheet.action_edge(-1)
            self.post_message(Wanted(key))

    def action_again(self) -> None:
        """Read anew what is shown."""
        for key in filter(None, (self.key, self.other)):
            self.post_message(Wanted(key))

    async def action_back(self) -> None:
        """From the difference to the unit, from the unit to where it was opened."""
        if self.other:
            self.other = ""
            self.sheet.action_edge(-1)
        else:
            await super().action_back()

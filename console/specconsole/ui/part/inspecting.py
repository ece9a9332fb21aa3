"""Units looked into as a part of the app: what defines them, how two of them differ, and how their last loads went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual import on
from textual.reactive import var

from specconsole.ui.part.feeding import Source, follow
from specconsole.ui.part.looked import Looked, Wanted
from specconsole.ui.part.swapping import SwapApp
from specconsole.ui.widgets.units import Opened

if TYPE_CHECKING:
    from specconsole.service.definition import Definition
    from specconsole.service.unit import Unit
    from specconsole.ui.screens.live import LiveScreen


class InspectApp(SwapApp):
    """Opens units."""

    looked: var[Mapping[str, Looked[Definition]]] = var({})
    """What was read of units so far, by key."""

    def open_unit(self, key: str) -> None:
        """Open a unit's screen above the one that is shown."""
        from specconsole.ui.screens.unit import UnitScreen

        self.push_screen(self._bound(UnitScreen(key, self.stamp)))
        self.read_unit(key)

    def read_unit(self, key: str) -> None:
        """Read what defines a unit anew; what was read before stays until then."""
        if unit := next((unit for unit in self.units if unit.key == key), None):
            self._set(key, self._known(key).begun())
            self.run_worker(self._read(unit), group=f"unit {key}", exclusive=True)

    async def _read(self, unit: Unit) -> None:
        def take(definition: Definition) -> None:
            self._set(unit.key, self._known(unit.key).got(definition, self.clock))

        def fail(why: str) -> None:
            self._set(unit.key, self._known(unit.key).failed(why))

        source = Source(f"unit {unit.key}", lambda: self.sources.definition(unit), take, fail, again=False)
        await follow(source, self.clock, self._faults, lambda said: self.tell(said, "error"))

    def _known(self, key: str) -> Looked[Definition]:
        return self.looked.get(key) or Looked()

    def _set(self, key: str, now: Looked[Definition]) -> None:
        self.looked = {**self.looked, key: now}

    def _bound(self, screen: LiveScreen) -> LiveScreen:
        raise NotImplementedError

    @on(Opened)
    def _unit_opened(self, message: Opened) -> None:
        self.open_unit(message.key)

    @on(Wanted)
    def _unit_wanted(self, message: Wanted) -> None:
        self.read_unit(message.key)

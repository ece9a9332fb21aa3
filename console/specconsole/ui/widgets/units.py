"""The units pane: one row a unit, its state in glyph and word, and since when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.message import Message
from textual.reactive import var

from specconsole import text
from specconsole.service.unit import Unit
from specconsole.ui import keys
from specconsole.ui.freshness import Freshness
from specconsole.ui.row import Row, apart, cut, fill, width
from specconsole.ui.unit_word import name, state_word
from specconsole.ui.widgets.pane import Pane
from specconsole.ui.widgets.rows import Rows


def unit_row(unit: Unit, cells: int, *, since_s: float | None, answers: bool | None, names: int, stale: bool) -> Row:
    """One unit: glyph, name, word, restarts and speculation where room is, and the time in this state."""
    said = state_word(unit, answers)
    ink = "stale" if stale and said.ink == "good" else said.ink
    right: Row = ((text.duration(since_s), "muted"),)
    left: Row = (*fill(((name(unit), "text"),), names), (" ", "text"), (said.word, ink))
    left = ((f"{said.glyph} ", ink), *left)
    extras = [(f"{count} restarts", "warn")] if (count := unit.state.restarts) else []
    if speculation := unit.serving.speculation:
        depth = "" if speculation.tokens is None else f" k={speculation.tokens}"
        extras.append((text.one_line(speculation.method + depth, 20), "muted"))
    for extra in extras:
        if width((*left, ("  ", "text"), extra, (" ", "text"), *right)) <= cells:
            left += (("  ", "text"), extra)
    return apart(left, right, cells)


@dataclass
class Chosen(Message):
    """The user selected another unit."""

    key: str


class UnitsPane(Pane):
    """The units of the host, with the selected one marked."""

    NAME = "units"
    FEED = "units"
    INPUTS = ("units", "units_at", "selected", "answers")
    BINDINGS: ClassVar = keys.bindings(keys.Place.UNITS)

    units: var[tuple[Unit, ...]] = var(())
    """All units that were found; None of them selected only when there is none."""
    units_at: var[float | None] = var(None)
    """Monotonic seconds of their last reading."""
    selected: var[str] = var("")
    """The key of the unit whose log is shown."""
    answers: var[tuple[str, bool] | None] = var(None)
    """The key of the unit whose engine is asked and whether it answers; None: not known."""

    def summary(self, fresh: Freshness) -> Row:
        """How many units there are."""
        return () if fresh.waiting else ((f"{len(self.units)}", "muted"),)

    def draw(self, fresh: Freshness) -> None:
        """One row a unit; when room is short, the rows around the selected one."""
        body = self.query_one(".pane--body", Rows)
        cells, room = self.size.width, max(body.size.height, 1)
        if not self.units:
            body.show([cut(((f"  {self._nothing(fresh)}", "muted"),), cells)])
            return
        names = min(max(len(name(unit)) for unit in self.units), max(cells - 24, 8))
        first = self._first(room)
        body.show(self._row(unit, cells, names, fresh) for unit in self.units[first : first + room])

    def _row(self, unit: Unit, cells: int, names: int, fresh: Freshness) -> Row:
        at = self.now if not fresh.stale or fresh.age_s is None else self.now - fresh.age_s
        since = unit.state.since_s
        if since is not None and self.units_at is not None:
            since += max(at - self.units_at, 0.0)
        answers = self.answers[1] if self.answers and self.answers[0] == unit.key else None
        row = unit_row(unit, cells - 3, since_s=since, answers=answers, names=names, stale=fresh.stale)
        if unit.key != self.selected:
            return (("  ", "text"), *row, (" ", "text"))
        return (("› ", "accent"), *((run, "strong" if ink == "text" else ink) for run, ink in row), (" ", "text"))

    def _first(self, room: int) -> int:
        return min(max(self.index - room + 1, 0), max(len(self.units) - room, 0))

    def _nothing(self, fresh: Freshness) -> str:
        return "looking for units…" if fresh.waiting else "no unit that runs vLLM was found"

    @property
    def index(self) -> int:
        """The position of the selected unit; 0 when none is."""
        return next((i for i, unit in enumerate(self.units) if unit.key == self.selected), 0)

    def action_select(self, by: int) -> None:
        """Select the next or the previous unit."""
        if self.units:
            self._choose(min(max(self.index + by, 0), len(self.units) - 1))

    def on_click(self, event: events.Click) -> None:
        """Select the unit under the mouse."""
        body = self.query_one(".pane--body", Rows)
        row = event.screen_y - body.region.y + self._first(max(body.size.height, 1))
        if event.screen_y >= body.region.y and row < len(self.units):
            self._choose(row)

    def _choose(self, index: int) -> None:
        if (key := self.units[index].key) != self.selected:
            self.post_message(Chosen(key))

"""The units pane: one row a unit, its state in glyph and word, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.message import Message
from textual.reactive import var

from specconsole import text
from specconsole.service.unit import Unit
from specconsole.ui import keys
from specconsole.ui.freshness import Freshness
from specconsole.ui.row import Row, apart, faded, fill, paragraph, width
from specconsole.ui.unit_word import StateWord, name, state_word
from specconsole.ui.widgets.pane import Pane
from specconsole.ui.widgets.rows import Rows


@dataclass(frozen=True)
class Entry:
    """A unit as a row shows it."""

    unit: Unit
    said: StateWord
    since_s: float | None
    """Seconds in this state; None: unknown."""

    @property
    def time(self) -> str:
        """The time in this state; of a unit that never ran nothing. Where it rests, seconds are told for ten minutes only."""
        if self.since_s is None:
            return ""
        return text.duration(self.since_s) if self.said.ink == "busy" else text.about(self.since_s)


def unit_rows(entries: Sequence[Entry], cells: int) -> list[Row]:
    """A row a unit: glyph, name, word, then what there is room for, and the time; columns stand below each other."""
    words = max((len(entry.said.word) for entry in entries), default=0)
    times = max((len(entry.time) for entry in entries), default=0)
    names = min(max((cell_len(name(entry.unit)) for entry in entries), default=0), max(cells - words - times - 4, 8))
    return [_row(entry, cells, names) for entry in entries]


def _row(entry: Entry, cells: int, names: int) -> Row:
    said, state = entry.said, entry.unit.state
    right: Row = ((entry.time, "muted"),)
    left: Row = (
        (f"{said.glyph} ", said.ink),
        *fill(((name(entry.unit), "text"),), names),
        (" ", "text"),
        (said.word, said.ink),
    )
    extras = [(f"{state.restarts} restarts", "warn")] if state.restarts else []
    if speculation := entry.unit.serving.speculation:
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
    INPUTS = ("units", "units_at", "selected", "server")
    TICKS = True
    BINDINGS: ClassVar = keys.bindings(keys.Place.UNITS)

    units: var[tuple[Unit, ...]] = var(())
    """All units that were found; None of them selected only when there is none."""
    units_at: var[float | None] = var(None)
    """Monotonic seconds of their last reading."""
    selected: var[str] = var("")
    """The key of the unit whose log is shown."""
    server: var[tuple[str, StateWord] | None] = var(None)
    """The key of the unit whose engine is asked, and how that is; None: not known."""

    def summary(self, fresh: Freshness) -> Row:
        """How many units there are."""
        return () if fresh.waiting else ((f"{len(self.units)}", "muted"),)

    def draw(self, fresh: Freshness) -> None:
        """One row a unit; when room is short, the rows around the selected one."""
        body = self.query_one(".pane--body", Rows)
        cells, room = self.size.width, max(body.size.height, 1)
        if not self.units:
            body.show(paragraph(self._nothing(fresh), cells, room, "text" if fresh.problem else "muted"))
            return
        first = self._first(room)
        entries = [self._entry(unit, fresh) for unit in self.units[first : first + room]]
        rows = unit_rows(entries, cells - 3)
        body.show(self._marked(entry.unit, row, stale=fresh.stale) for entry, row in zip(entries, rows, strict=True))

    def _entry(self, unit: Unit, fresh: Freshness) -> Entry:
        at = self.now if not fresh.stale or fresh.age_s is None else self.now - fresh.age_s
        since = unit.state.since_s
        if since is not None and self.units_at is not None:
            since += max(at - self.units_at, 0.0) + self._older(unit)
        server = self.server[1] if self.server and self.server[0] == unit.key else None
        return Entry(unit, state_word(unit, server), since)

    def _older(self, unit: Unit) -> float:
        """By how much a unit's state was read before the newest one: a change of one unit does not read the others anew."""
        read = [other.state.mono for other in self.units if other.state.mono is not None]
        return max(read) - unit.state.mono if unit.state.mono is not None else 0.0

    def _marked(self, unit: Unit, row: Row, *, stale: bool) -> Row:
        if stale:
            row = faded(row)
        if unit.key != self.selected:
            return (("  ", "text"), *row, (" ", "text"))
        return (("› ", "accent"), *((run, "strong" if ink == "text" else ink) for run, ink in row), (" ", "text"))

    def _first(self, room: int) -> int:
        return min(max(self.index - room + 1, 0), max(len(self.units) - room, 0))

    def _nothing(self, fresh: Freshness) -> str:
        if fresh.problem:
            return fresh.problem
        return "looking for units…" if fresh.waiting else "no vLLM unit was found"

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

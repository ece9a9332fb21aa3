"""The units pane: one row a unit, its state in glyph and word, and since when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.message import Message
from textual.reactive import var

from specconsole import text
from specconsole.history.entry import Load
from specconsole.service.unit import Unit
from specconsole.ui import keys
from specconsole.ui.freshness import Freshness
from specconsole.ui.loading import Loading
from specconsole.ui.rows.row import Row, Run, apart, faded, fill, paragraph, width
from specconsole.ui.rows.unit_word import LOADING, StateWord, name, state_word
from specconsole.ui.widgets.pane import Pane
from specconsole.ui.widgets.rows import Rows


@dataclass(frozen=True)
class Entry:
    """A unit as a row shows it."""

    unit: Unit
    said: StateWord
    since_s: float | None
    """Seconds in this state; None: unknown."""
    load: Load | None = None
    """Its last load, as far as this machine remembers."""

    @property
    def time(self) -> str:
        """The time in this state; of a unit that never ran nothing. Where it rests, seconds are told for ten minutes only."""
        if self.since_s is None:
            return ""
        return text.duration(self.since_s) if self.said.ink == "busy" else text.about(self.since_s)


_GAP = 2
"""Blank cells before each further column."""


def unit_rows(entries: Sequence[Entry], cells: int) -> list[Row]:
    """A row a unit: glyph, name, word, then the columns that there is room for, and the time; each stands below its like."""
    words = max((len(entry.said.word) for entry in entries), default=0)
    times = max((len(entry.time) for entry in entries), default=0)
    names = min(max((cell_len(name(entry.unit)) for entry in entries), default=0), max(cells - words - times - 4, 8))
    columns = [_extras(entry) for entry in entries]
    widths = [max(width((extra,)) for extra in column) for column in zip(*columns, strict=True)]
    room, shown = cells - names - words - times - 4, []
    for at, size in enumerate(widths):
        if size and size + _GAP <= room:
            shown.append(at)
            room -= size + _GAP
    return [
        _row(entry, cells, names, words, [(extras[at], widths[at]) for at in shown])
        for entry, extras in zip(entries, columns, strict=True)
    ]


def _row(entry: Entry, cells: int, names: int, words: int, extras: Sequence[tuple[Run, int]]) -> Row:
    said = entry.said
    left: Row = (
        (f"{said.glyph} ", said.ink),
        *fill(((name(entry.unit), "text"),), names),
        (" ", "text"),
        (said.word.ljust(words) if extras else said.word, said.ink),
    )
    for extra, size in extras:
        left += ((" " * _GAP, "text"), *fill((extra,), size))
    return apart(left, ((entry.time, "muted"),), cells)


def _extras(entry: Entry) -> tuple[Run, ...]:
    """What else there is to say of a unit, the most telling first: "" where there is nothing."""
    state = entry.unit.state
    masked = state.load == "masked" or state.enabled.startswith("masked")
    enabled = "masked" if masked else text.one_line(state.enabled, 16)
    return (
        (f"{state.restarts} restarts" if state.restarts else "", "warn"),
        (_speculation(entry.unit), "muted"),
        (_last(entry.load), "bad" if entry.load and entry.load.outcome == "failed" else "muted"),
        (enabled, "warn" if masked else "muted"),
    )


def _last(load: Load | None) -> str:
    """How the last load went: how long it took to be ready, or that it failed."""
    if load is None:
        return ""
    if load.outcome == "failed":
        return "load failed"
    took = next((at - load.started for at in (load.ready, load.answering) if at is not None), None)
    return "" if took is None else f"load {text.duration(took)}"


def _speculation(unit: Unit) -> str:
    speculation = unit.serving.speculation
    if speculation is None:
        return ""
    depth = "" if speculation.tokens is None else f" k={speculation.tokens}"
    return text.one_line(speculation.method + depth, 20)


@dataclass
class Chosen(Message):
    """The user selected another unit."""

    key: str


@dataclass
class Opened(Message):
    """The user wants to look into a unit."""

    key: str


class UnitsPane(Pane):
    """The units of the host, with the selected one marked."""

    NAME = "units"
    FEED = "units"
    INPUTS = ("units", "units_at", "selected", "server", "loads", "starts")
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
    starts: var[tuple[Loading, ...]] = var(())
    """The starts of all units that run: one that goes on is called loading while its server is not asked."""
    loads: var[Mapping[str, tuple[Load, ...]]] = var({})
    """What this machine remembers of their loads, by key, the newest first."""

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
        read = self.units_at if unit.state.read is None else unit.state.read
        if since is not None and read is not None:
            since += max(at - read, 0.0)
        load = self._load(unit)
        server = self.server[1] if self.server and self.server[0] == unit.key else self._by_start(load)
        said = state_word(unit, server)
        if load is not None and said == LOADING and load.age_s is not None and not fresh.stale:
            since = load.age_s  # one number with the load pane: two readings of one start differ by what each took
        return Entry(unit, said, since, next(iter(self.loads.get(unit.key, ())), None))

    def _load(self, unit: Unit) -> Loading | None:
        """The start of the unit that goes on now."""
        mine = (one for one in self.starts if one.unit.key == unit.key and one.goes_on)
        return next((one for one in mine if one.attempt.invocation == unit.state.invocation), None)

    def _by_start(self, load: Loading | None) -> StateWord | None:
        return LOADING if load is not None and load.refused else None

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

    def action_open(self) -> None:
        """Look into the selected unit."""
        if self.units:
            self.post_message(Opened(self.units[self.index].key))

    def on_click(self, event: events.Click) -> None:
        """Select the unit under the mouse; a double click opens it."""
        body = self.query_one(".pane--body", Rows)
        row = event.screen_y - body.region.y + self._first(max(body.size.height, 1))
        if event.screen_y >= body.region.y and row < len(self.units):
            self._choose(row)
            if event.chain == 2:
                self.post_message(Opened(self.units[row].key))

    def _choose(self, index: int) -> None:
        if (key := self.units[index].key) != self.selected:
            self.post_message(Chosen(key))

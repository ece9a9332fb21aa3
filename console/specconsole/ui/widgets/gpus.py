"""The GPU pane: a grid of tiles in the largest form that fits, and the totals in its title."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.containers import Grid
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget

from specconsole import text
from specconsole.gpu import view
from specconsole.gpu.fault import Fault, Trouble, asked, troubles
from specconsole.gpu.history import Trend, key
from specconsole.gpu.sample import Fleet
from specconsole.ui import keys, layout
from specconsole.ui.freshness import Freshness
from specconsole.ui.rows.row import Row, faded, fitting, join, paragraph, width
from specconsole.ui.widgets.gpu_tile import Card, GpuTile
from specconsole.ui.widgets.pane import Pane
from specconsole.ui.widgets.rows import Covered, Rows


def totals(fleet: Fleet, faults: tuple[Fault, ...], cells: int, *, stale: bool) -> Row:
    """What the title says: the cards, memory, power, and faults; "no fault seen" only when all could be asked now."""
    sums = view.totals(fleet)
    missing = sums.count - sums.readable
    parts: list[tuple[int, Row]] = [
        (3, ((sums.name, "muted"),)),
        (1, ((view.gibibytes(sums.memory), "text"),)),
        (2, ((view.watts(sums.power_w), "text"),) if sums.power_w is not None else ()),
        (4, ((f"{missing} not readable", "warn"),) if missing and not faults else ()),
        (0, trouble(fleet, faults, cells) if faults or not stale else ()),
        (1, ((text.one_line(fleet.why or ""), "warn"),) if fleet.why and fleet.source == "nvml" else ()),
        (5, ((f"by {fleet.source}", "warn"),) if fleet.source not in ("nvml", "none") else ()),
        (6, ((f"left out: {', '.join(fleet.dropped)}", "muted"),) if fleet.dropped else ()),
    ]
    shown = fitting([(rank, row) for rank, row in parts if row], cells)
    return faded(shown) if stale else shown


def trouble(fleet: Fleet, faults: tuple[Fault, ...], cells: int) -> Row:
    """What is wrong, the gravest first, and how much more; that nothing is is said only when every card could be asked."""
    if not faults:
        return (("no fault seen", "muted"),) if asked(fleet) else ()
    found = troubles(faults)
    for shown in range(len(found), 0, -1):
        row = _troubles(found[:shown], len(found) - shown)
        if width(row) <= cells:
            return row
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    (said, ink), *_ = _troubles(found[:1], 0)
    return ((text.one_line(said, max(cells - len(more), 16)) + more, ink),)


def _troubles(found: Sequence[Trouble], more: int) -> Row:
    said = [
        ((f"{'✖' if one.grave else '▲'} {text.one_line(str(one))}", "bad" if one.grave else "warn"),) for one in found
    ]
    rest: Row = ((f" and {more} more", "warn"),) if more else ()
    return (*join(said), *rest)


@dataclass
class GpuChosen(Message):
    """The user selected a GPU."""

    key: str
    opened: bool = False
    """All of it is to be shown."""


class Tiles(Grid, Covered):
    """The grid of tiles."""


class GpusPane(Pane):
    """All GPUs of the host."""

    NAME = "GPUs"
    FEED = "gpus"
    INPUTS = ("fleet", "history", "faults", "selected_gpu")
    BINDINGS: ClassVar = keys.bindings(keys.Place.GPUS)
    DEFAULT_CSS = """
    GpusPane > Tiles { height: 1fr; width: 1fr; margin: 0 1 0 0; overflow: hidden; }
    GpusPane > #note { height: 1fr; }
    """

    fleet: var[Fleet | None] = var(None)
    """The newest sample of the host."""
    history: var[Mapping[str, Trend]] = var({})
    """The newest samples by GPU key."""
    faults: var[tuple[Fault, ...]] = var(())
    """What is wrong with any GPU now, the gravest first."""
    selected_gpu: var[str] = var("")
    """The key of the selected GPU; "": the first one."""

    _form = layout.Tiles(0, 0, 0)
    _width = 0
    _shown: tuple[Fleet, bool, Size, int] | None = None

    def body(self) -> Iterable[Widget]:
        """The grid of tiles, and the line that stands there when there are none."""
        yield Tiles()
        yield Rows(id="note")

    def summary(self, fresh: Freshness) -> Row:
        """Totals of all cards."""
        if self.fleet is None or not self.fleet.gpus:
            return ()
        return totals(self.fleet, self.faults, self.size.width - 12 - (10 if fresh.stale else 4), stale=fresh.stale)

    def draw(self, fresh: Freshness) -> None:
        """Each tile anew, or why there is none."""
        fleet = self.fleet
        gpus = fleet.gpus if fleet is not None else ()
        grid, note = self.query_one(Tiles), self.query_one("#note", Rows)
        grid.display, note.display = bool(gpus), not gpus
        if fleet is None or not gpus:
            room = max(note.size.height, self.size.height - 1, 1)
            note.show(paragraph(self._nothing(fleet), self.size.width, room, "text" if fleet else "muted"))
            return
        self._arrange(grid, len(gpus))
        if (shown := (fleet, fresh.stale, self.size, self._marked)) == self._shown:
            return  # only the age went on
        self._shown = shown
        with self.app.batch_update():
            for position, tile in enumerate(grid.query_children(GpuTile)):
                if (number := self._number(position)) < len(gpus):
                    tile.show_card(self._card(fleet, number), stale=fresh.stale)

    def _card(self, fleet: Fleet, number: int) -> Card:
        gpu = fleet.gpus[number]
        faults = tuple(fault for fault in self.faults if fault.gpu == gpu.index)
        trend = self.history.get(key(gpu), Trend())
        return Card(gpu, view.memory(gpu, fleet), trend, faults, selected=number == self._marked)

    def _number(self, position: int) -> int:
        """Which GPU the tile at a place of the grid shows: they are numbered down the columns."""
        line, column = divmod(position, max(self._form.columns, 1))
        return column * self._form.lines + line

    @property
    def index(self) -> int:
        """The place of the selected GPU among all."""
        gpus = self.fleet.gpus if self.fleet is not None else ()
        return next((i for i, gpu in enumerate(gpus) if key(gpu) == self.selected_gpu), 0)

    @property
    def _marked(self) -> int:
        """The tile that is marked: one can be selected while the pane is in focus."""
        return self.index if self.has_focus else -1

    def action_select(self, right: int, down: int) -> None:
        """Select the tile beside, or the one below or above."""
        if self.fleet is None or not self.fleet.gpus:
            return
        column, line = divmod(self.index, max(self._form.lines, 1))
        wanted = (column + right) * self._form.lines + line + down
        if column + right >= 0 and 0 <= wanted < len(self.fleet.gpus):
            self._choose(wanted)

    def action_open(self) -> None:
        """Show all of the selected GPU."""
        if self.fleet is not None and self.fleet.gpus:
            self.post_message(GpuChosen(key(self.fleet.gpus[self.index]), opened=True))

    def on_click(self, event: events.Click) -> None:
        """Select the GPU under the mouse; a second click opens it."""
        for position, tile in enumerate(self.query(GpuTile)):
            if tile.region.contains(event.screen_x, event.screen_y):
                self._choose(self._number(position), opened=event.chain > 1)

    def _choose(self, number: int, *, opened: bool = False) -> None:
        if self.fleet is not None and number < len(self.fleet.gpus):
            self.post_message(GpuChosen(key(self.fleet.gpus[number]), opened))

    def _nothing(self, fleet: Fleet | None) -> str:
        if fleet is None:
            return "waiting for the first sample…"
        return f"▲ no GPU evidence: {text.one_line(fleet.why or 'the probe gives no reason')}"

    def _arrange(self, grid: Grid, count: int) -> None:
        form = layout.tiles(count, self.size.width - 1, max(self.size.height - 1, 1))
        if (form, self.size.width) != (self._form, self._width):
            self._form, self._width = form, self.size.width
            across = (self.size.width - 1 - layout.GAP * (form.columns - 1)) // form.columns
            grid.styles.width = form.columns * across + layout.GAP * (form.columns - 1)  # all tiles equally wide
            grid.styles.grid_size_columns = form.columns
            grid.styles.grid_size_rows = form.lines
            grid.styles.grid_rows = (str(form.tile_rows),)
            grid.styles.grid_gutter_vertical = layout.GAP  # the gap between columns; Textual names it by its lines
        missing = form.columns * form.lines - len(grid.children)
        if missing > 0:
            grid.mount_all([GpuTile() for _ in range(missing)])
        elif missing < 0:
            grid.remove_children(list(grid.children)[missing:])

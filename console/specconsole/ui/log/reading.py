"""What the user reads of the log: which records, where, what is searched for; one for all screens that show the log."""

from __future__ import annotations

from dataclasses import replace

from specconsole.logs.buffer import LogBuffer
from specconsole.logs.pattern import Pattern
from specconsole.logs.record import LogRecord
from specconsole.logs.sweep import number_and_line, spot
from specconsole.ui.log.choice import ALL, Choice
from specconsole.ui.log.layout import PLAIN, Layout, column, line_of
from specconsole.ui.log.line import Look
from specconsole.ui.log.search import LogSearch
from specconsole.ui.log.window import Line, LogWindow

ASIDE = 16
"""Cells that one step to the side moves."""


class LogReading:
    """A window over the log, the choice of what is in it, and a search; a widget draws it and tells it its size."""

    def __init__(self) -> None:
        self.window: LogWindow | None = None
        self.search: LogSearch | None = None
        self.choice = Choice()
        self.aside = 0
        """Cells of the text that are scrolled out at the left."""
        self.wrap = False
        self._selected = ""

    def show(self, buffer: LogBuffer, selected: str) -> None:
        """Read a log, of one unit unless the choice says another one, from its end on; nothing where it is read already."""
        if selected != self._selected:  # who selects a unit wants to see that one
            self.choice = replace(self.choice, unit="")
        self._selected = selected
        wanted = self.choice.filter(selected)
        if self.window is None or self.window.buffer is not buffer:
            self.window = LogWindow(buffer, wanted)
        elif self.window.wanted != wanted:
            self.window.to_end()
            self.window.choose(wanted)
        else:
            return
        self._search_anew()

    def choose(self, choice: Choice) -> None:
        """Show other records from now on, near those that are shown now."""
        self.choice = choice
        if self.window is not None:
            self.window.choose(choice.filter(self._selected))
            self._search_anew()

    def find(self, pattern: Pattern | None, shown: list[Line]) -> None:
        """Search for something from now on, and go to the nearest hit; None: for nothing."""
        self.search = None
        if self.window is not None and pattern is not None:
            self.search = LogSearch(self.window, pattern)
            if shown:
                self.search.show(self._spot(shown[0]), self._spot(shown[-1]))

    def _spot(self, line: Line) -> int:
        layout = self.window.layout if self.window is not None else PLAIN
        return spot(line.record.seq, layout.row(line.record, line.part).line)

    def _search_anew(self) -> None:
        if self.search is not None and self.window is not None:
            self.search = LogSearch(self.window, self.search.pattern)

    @property
    def unit(self) -> str:
        """The key of the unit whose records are shown; `ALL` for all."""
        return self.choice.unit or self._selected

    def look(self, cells: int) -> Look:
        """How rows of so many cells are drawn."""
        search = self.search
        pattern = search.pattern if search is not None and not search.problem else None
        look = Look(cells, self.aside, PLAIN, pattern, self.unit == ALL)
        return replace(look, layout=Layout(look.room)) if self.wrap else look

    def fit(self, cells: int, rows: int) -> None:
        """Take the room that there is."""
        if self.window is not None:
            if self.window.layout != (layout := self.look(cells).layout):
                self.window.relayout(layout)
            if self.window.height != max(rows, 1):
                self.window.resize(rows)

    def reveal(self, cells: int) -> None:
        """Move sideways as far as it takes to see the hit."""
        search, window, look = self.search, self.window, self.look(cells)
        if search is None or search.at is None or window is None or self.wrap:
            return
        number, line = number_and_line(search.at)
        for record in window.buffer.get(number, number + 1):
            self._reveal(record, line, search.pattern, look.room)

    def _reveal(self, record: LogRecord, line: int, pattern: Pattern, room: int) -> None:
        text = line_of(record.text, line)
        at = column(text, pattern.first(text))
        if not self.aside <= at < self.aside + room - min(len(pattern.text), room - 1):
            self.aside = max(at - room // 3, 0) // ASIDE * ASIDE

    @property
    def unfinished(self) -> bool:
        """Whether the filter or the search has not seen all of the log yet."""
        window, search = self.window, self.search
        return (window is not None and not window.sweep.done) or (search is not None and not search.done)

    def advance(self) -> None:
        """Look at one slice more."""
        if self.window is not None and not self.window.sweep.done:
            self.window.advance()
        elif self.search is not None:
            self.search.advance()

    def sync(self) -> bool:
        """Take in what came; says whether what is in view may have changed."""
        if self.window is None:
            return False
        changed = self.window.sync()
        if self.search is not None:
            self.search.sync()
        return changed

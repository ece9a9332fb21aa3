"""How a log record looks: time, a mark, a glyph for its level, who printed it, its text, and what was searched for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from specconsole.logs.pattern import Pattern
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.text import clean, one_line
from specconsole.ui.log.layout import PLAIN, Layout, Piece, line_of, piece
from specconsole.ui.log.window import Line
from specconsole.ui.rows.row import Row, Run, fill

Stamp = Callable[[float], str]
"""Seconds since the epoch as HH:MM:SS, eight characters."""
Span = tuple[int, int, str]
"""Characters from … to …, and the ink they get."""

HEAD = 11
"""Cells of time, mark and glyph, with their blanks."""
_WHO = 9
"""Cells of the printing process's short name, with its blank."""
_UNIT = 13
"""Cells of the unit's name, where several units are shown."""
_WHO_FROM = 90
"""On fewer columns than this the process's name is left out."""
MARK = "⚑"

_BY_LEVEL = {
    Level.DEBUG: ("∙", "log-debug"),
    Level.INFO: (" ", "text"),
    Level.WARNING: ("▲", "log-warning"),
    Level.ERROR: ("✖", "log-error"),
    Level.CRITICAL: ("✖", "log-critical"),
}
_BY_KIND = {
    Kind.SYSTEMD: ("◆", "log-systemd"),
    Kind.GAP: ("╌", "log-gap"),
    Kind.ACCESS: ("→", "muted"),
    Kind.BAR: ("▸", "muted"),
}


@dataclass(frozen=True)
class Look:
    """What all lines of a view have in common."""

    cells: int
    aside: int = 0
    """How many cells of the text are scrolled out at the left."""
    layout: Layout = PLAIN
    pattern: Pattern | None = None
    """What is searched for."""
    units: bool = False
    """Whether to name the unit of each record."""

    @property
    def head(self) -> int:
        """Cells ahead of the text."""
        return HEAD + (_UNIT if self.units else 0) + (_WHO if self.cells >= _WHO_FROM else 0)

    @property
    def room(self) -> int:
        """Cells of the text."""
        return max(self.cells - self.head, 1)


def glyph(record: LogRecord) -> tuple[str, str]:
    """The sign and the ink of a record: its level when that is grave, else its kind."""
    if record.kind is not Kind.GAP and (record.level >= Level.WARNING or record.kind not in _BY_KIND):
        return _BY_LEVEL[record.level]
    return _BY_KIND[record.kind]


def draw(line: Line, look: Look, stamp: Stamp, *, hit: bool = False, selected: tuple[int, int] | None = None) -> Row:
    """Draw one row of a record.

    Args:
        line: what stands on it.
        look: how all rows are drawn.
        stamp: writes the time.
        hit: the search stands at this line.
        selected: characters of `full` that the mouse has selected, from … to …; -1: to the end.
    """
    head, text = _head(line, look, stamp), shown_text(line, look)
    start, stop = selected or (0, 0)
    size = sum(len(part) for part, _ in head)
    stop = size + len(text) if stop < 0 else stop
    if start < min(stop, size):
        head = _inked(head, start, stop)
    spans = _hits(line, look, text, hit=hit)
    if stop > size:
        spans = [*spans, (max(start - size, 0), stop - size, "select")]
    return (*head, *_body(line, look, text, spans))


def full(line: Line, look: Look, stamp: Stamp) -> str:
    """The text of one row, as wide as it is; for copying."""
    return "".join(text for text, _ in _head(line, look, stamp)) + shown_text(line, look)


def offset(line: Line, look: Look) -> int:
    """How many characters of the row's text are scrolled out at the left."""
    return 0 if look.layout.room else piece(shown_text(line, look), look.aside, look.room).start


def shown_text(line: Line, look: Look) -> str:
    """The text of one row without its head, as wide as it is."""
    number, start, stop = look.layout.row(line.record, line.part)
    text = line_of(line.record.text, number)
    return text[start:stop] + (_more(line) if stop == len(text) and not number else "")


def who(record: LogRecord) -> str:
    """Who printed it, in at most eight characters: API, Engine, TP3, systemd."""
    if record.kind is Kind.SYSTEMD:
        return "systemd"
    if record.rank is not None:
        return f"TP{record.rank}"
    name = clean(record.process or "").removeprefix("Worker_")
    for long, short in (("APIServer", "API"), ("ApiServer", "API"), ("EngineCore", "Engine")):
        if name.startswith(long):
            name = short + name.removeprefix(long).replace("_", "").replace("DP", "")
    return name[: _WHO - 1]


def _more(line: Line) -> str:
    """What else the first line stands for."""
    said = f"  (+{line.record.folded} like it)" if line.record.folded else ""
    return said + (f"  ×{len(line.ranks) + 1}" if line.ranks else "")


def _head(line: Line, look: Look, stamp: Stamp) -> Row:
    record, wide = line.record, look.cells >= _WHO_FROM
    if line.part:
        blank = " " * look.head
        return ((blank[:8], "cursor"), (blank[8:], "muted")) if line.chosen else ((blank, "muted"),)
    sign, ink = glyph(record)
    unit = one_line(record.unit.removesuffix(".service"))[-_UNIT + 1 :].ljust(_UNIT) if look.units else ""
    name = unit + (who(record).ljust(_WHO) if wide else "")
    time: Run = (stamp(record.at), "cursor" if line.chosen else "muted")
    mark: Run = (MARK, "key") if line.marked else (" ", "muted")
    if sign == " " and not line.chosen and not line.marked:
        return ((f"{time[0]}   {name}", "muted"),)
    return (time, mark, (sign, ink), (" " + name, "muted"))


def _ink(record: LogRecord) -> str:
    ink = glyph(record)[1]
    return "text" if ink == "log-systemd" else ink


def _hits(line: Line, look: Look, text: str, *, hit: bool) -> list[Span]:
    """What was searched for, in the part of the text that is in view; nothing where that takes too long."""
    if look.pattern is None:
        return []
    number, start, _ = look.layout.row(line.record, line.part)
    whole = line_of(line.record.text, number)
    stop = start + len(text) if look.layout.room else piece(whole, look.aside, look.room).stop
    ink = "hit-now" if hit else "hit"
    return [(first - start, last - start, ink) for first, last in look.pattern.spans(whole, stop) if last > start]


def _body(line: Line, look: Look, text: str, spans: list[Span]) -> Row:
    ink = _ink(line.record)
    if look.layout.room:
        return _runs(text, Piece(0, 0, len(text), 0), ink, spans)
    part = piece(text, look.aside, look.room)
    if part.stop < len(text) and look.room > 1:
        part = piece(text, look.aside, look.room - 1)
        body = _runs(text, part, ink, spans)
        return (*_filled(body, text, part, look.room - 1), ("›", "muted"))
    return _runs(text, part, ink, spans)


def _filled(body: Row, text: str, part: Piece, cells: int) -> Row:
    return body if text.isascii() and part.stop - part.start == cells else fill(body, cells)


def _runs(text: str, part: Piece, ink: str, spans: Iterable[Span]) -> Row:
    """A piece of a text as runs, with the inks of spans over its own; later spans cover earlier ones."""
    if not spans:
        return ((" " * part.before + text[part.start : part.stop] + " " * part.after, ink),)
    inks: list[str] = [ink] * (part.stop - part.start)
    for first, last, over in spans:
        low, high = max(first, part.start) - part.start, min(last, part.stop) - part.start
        if low < high:
            inks[low:high] = [over] * (high - low)
    runs: list[Run] = [(" " * part.before, ink)] if part.before else []
    at = 0
    while at < len(inks):
        end = at
        while end < len(inks) and inks[end] == inks[at]:
            end += 1
        runs.append((text[part.start + at : part.start + end], inks[at]))
        at = end
    return (*runs, (" " * part.after, ink)) if part.after else tuple(runs)


def _inked(row: Row, start: int, stop: int) -> Row:
    """A row with some of its characters selected."""
    runs: list[Run] = []
    at = 0
    for text, ink in row:
        low, high = min(max(start - at, 0), len(text)), min(max(stop - at, 0), len(text))
        runs += [(text[:low], ink), (text[low:high], "select"), (text[high:], ink)]
        at += len(text)
    return tuple(run for run in runs if run[0])

"""How a log record looks: time, a glyph for its level, who printed it, and its text; wide lines are cut to what is seen."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len, split_graphemes

from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.text import clean
from specconsole.ui.row import Row, fill

Stamp = Callable[[float], str]
"""Seconds since the epoch as HH:MM:SS, eight characters."""

HEAD = 11
"""Cells of time and glyph, with their blanks."""
_WHO = 9
"""Cells of the printing process's short name, with its blank."""
_WHO_FROM = 90
"""On fewer columns than this the process's name is left out."""

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


def glyph(record: LogRecord) -> tuple[str, str]:
    """The sign and the ink of a record: its level when that is grave, else its kind."""
    if record.kind is not Kind.GAP and (record.level >= Level.WARNING or record.kind not in _BY_KIND):
        return _BY_LEVEL[record.level]
    return _BY_KIND[record.kind]


def draw(record: LogRecord, part: int, cells: int, aside: int, stamp: Stamp) -> Row:
    """Draw one line of a record.

    Args:
        record: what was logged.
        part: which line of its text; only line 0 has time, glyph and name.
        cells: the room across.
        aside: how many cells of the text are scrolled out at the left.
        stamp: writes the time.
    """
    sign, ink = glyph(record)
    wide = cells >= _WHO_FROM
    name = who(record).ljust(_WHO) if wide and not part else " " * _WHO if wide else ""
    if part:
        head: Row = ((" " * HEAD + name, "muted"),)
    elif sign == " ":
        head = ((f"{stamp(record.at)}   {name}", "muted"),)
    else:
        head = ((stamp(record.at), "muted"), (f" {sign} ", ink), *(((name, "muted"),) if name else ()))
    room = cells - HEAD - (_WHO if wide else 0)
    line = line_of(record, part)
    if record.folded and not part:
        line += f"  (+{record.folded} like it)"
    shown = window(line, aside, room)
    body: Row = ((shown, "text" if ink == "log-systemd" else ink),)
    if len(line) > aside + len(shown) and room > 1:
        body = (*fill(((window(line, aside, room - 1), body[0][1]),), room - 1), ("›", "muted"))
    return (*head, *body)


def line_of(record: LogRecord, part: int) -> str:
    """One line of a record's text, harmless and without tabs."""
    if "\n" not in record.text:
        return clean(record.text).expandtabs(8)
    return clean(record.text.split("\n", part + 1)[part]).expandtabs(8)


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


def window(line: str, aside: int, cells: int) -> str:
    """The part of a line that is in view, at most `cells` wide; a wide character cut at an edge becomes a blank.

    A line of 90,000 characters costs no more than the part up to the right edge.
    """
    if cells <= 0:
        return ""
    if line.isascii():
        return line[aside : aside + cells]
    # Combining characters take no cell, so more characters than cells may be needed; 4 times as many always do in text.
    line = line[: 4 * (aside + cells) + 64]
    shown: list[str] = []
    at = 0
    for start, end, size in split_graphemes(line)[0]:
        if at >= aside + cells:
            break
        if at >= aside and at + size <= aside + cells:
            shown.append(line[start:end])
        elif at + size > aside and size > 1:
            shown.append(" " * (min(at + size, aside + cells) - max(at, aside)))
        at += size
    return "".join(shown)


def widest(line: str) -> int:
    """Cells that a line takes, counted over its first 100,000 characters."""
    return cell_len(line[:100_000])

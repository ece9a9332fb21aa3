"""How the room of a screen is shared out: pure arithmetic, tried on every size by tests."""

from __future__ import annotations

from dataclasses import dataclass

WIDE = 100
"""From this many columns on, units and GPUs stand side by side."""
GAP = 2
"""Blank cells between two tiles of a row."""


@dataclass(frozen=True)
class Tiles:
    """How GPU tiles are laid out."""

    columns: int
    lines: int
    """Tiles one below the other."""
    tile_rows: int
    """Screen rows of a tile, 1 to 3."""

    @property
    def height(self) -> int:
        """Screen rows of all tiles."""
        return self.lines * self.tile_rows


_FORMS = ((3, 38), (2, 40), (1, 64), (1, 35), (1, 23))
"""Rows of a tile and the least width at which that form shows all its numbers, the best form first."""


def tiles(count: int, width: int, height: int) -> Tiles:
    """Lay out `count` tiles in the best form that fits; where none does, the smallest one, cut at the bottom."""
    count = max(count, 1)
    for rows, least in _FORMS:
        for columns in (4, 3, 2, 1):
            across = (width - GAP * (columns - 1)) // columns
            lines = -(-count // columns)
            if columns > count or across < least or (columns > 1 and count % columns):
                continue
            if lines * rows <= height:
                return Tiles(columns, lines, rows)
    columns = max(min((width + GAP) // (23 + GAP), count), 1)
    return Tiles(columns, -(-count // columns), 1)


@dataclass(frozen=True)
class Plan:
    """Rows and columns of the dashboard's panes, title rows included; the log has what is left."""

    stacked: bool
    units_width: int
    """Columns of the units pane; the whole width when stacked."""
    units_height: int
    gpus_height: int
    engine_height: int
    log_height: int


def plan(width: int, height: int, units: int, gpus: int, engine: int = 3) -> Plan:
    """Share out `height` rows (without header and footer) of `width` columns among the panes.

    Each has its least first; what the log then has beyond its share goes to the units, then to the engine, as far as they
    can fill it.

    Args:
        width: columns of the screen.
        height: rows between header and footer.
        units: how many units there are; 0 counts as one line of text.
        gpus: how many GPUs there are, likewise.
        engine: rows that the engine would fill, or the load that stands in its place.
    """
    units = max(units, 1)
    low = 1 + (1 if height < 14 else 2 if height < 30 else 3)
    log = max(6, height * 2 // 5) if height >= 30 else 6 if height >= 14 else 3
    if width < WIDE:
        mine = 1 + min(units, 3 if height < 30 else 6)
        room = max(height - low - log - mine - 1, 1)
        tall = 1 + min(_tall(gpus, width - 1, room), room)
        mine += _more(1 + units - mine, height - low - mine - tall - log)
        low += _more(1 + engine - low, height - low - mine - tall - log)
        return Plan(True, width, mine, tall, low, max(height - low - mine - tall, 0))
    room = max(height - low - log - 1, 1)
    across = _units_width(width, gpus, room)
    tall = 1 + max(min(_tall(gpus, width - across - GAP - 1, room), room), min(units, room))
    low += _more(1 + engine - low, height - low - tall - log)
    return Plan(False, across, tall, tall, low, max(height - low - tall, 0))


def _more(wanted: int, spare: int) -> int:
    """Rows that a pane gets beyond its least."""
    return max(min(wanted, spare), 0)


def _units_width(width: int, gpus: int, room: int) -> int:
    """Columns of the units pane: a third of the screen (speculation has room there) where that costs no tile its form."""
    least, most = min(max(width // 4, 34), 46), min(max(width * 33 // 100, 34), 46)
    forms = [tiles(gpus, width - across - GAP - 1, room) for across in (least, most)]
    return most if forms[0] == forms[1] else least


def _tall(gpus: int, width: int, room: int) -> int:
    """Rows that the tiles want; without any there are two that say why."""
    return tiles(gpus, width, room).height if gpus else min(2, room)

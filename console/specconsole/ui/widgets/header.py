"""The top row: which host, how the link is, what runs there, what may be done, and the time."""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.reactive import var

from specconsole import text
from specconsole.host.base import Link, LinkKind
from specconsole.ui.freshness import whole
from specconsole.ui.rows.row import Row, Run, apart, fitting, split, width
from specconsole.ui.widgets.rows import Covered, Rows

READ_ONLY, READ_WRITE = "read-only", "read/write"
"""What may be done on the host, in a word; "" before it is known."""


@dataclass(frozen=True)
class Served:
    """What the running unit serves, for the header; "" where it is not known."""

    model: str = ""
    version: str = ""
    parallelism: str = ""
    speculation: str = ""


def link_run(link: Link | None, now: float) -> Run:
    """The state of the link in a glyph and words."""
    if link is None:
        return ("◌ connecting", "busy")
    age = whole(max(now - link.since, 0.0))
    if link.kind is LinkKind.UP:
        trip = "" if link.round_trip_s is None else f" {link.round_trip_s * 1000:.0f} ms"
        return (f"● up{trip}", "good")
    if link.kind is LinkKind.LOST:
        return (f"✖ lost{_attempt(link, now)}", "bad")
    reason = f": {text.one_line(link.reason, 60)}" if link.reason else ""
    return {
        LinkKind.CONNECTING: (f"◌ connecting{f', attempt {link.attempt}' if link.attempt else ''}", "busy"),
        LinkKind.STALE: (f"◌ stale {age}", "stale"),
        LinkKind.REFUSED: (f"✖ refused{reason}", "bad"),
        LinkKind.CLOSED: (f"○ closed{reason}", "muted"),
    }[link.kind]


def replay_row(standing: str, end: str) -> Row:
    """How a replay stands, `standing` as `Player` says it; it ends at `end`, a time of day."""
    return {
        "paused": (("‖ paused", "warn"), ("  ; goes on", "muted")),
        "ended": ((f"■ the recording ends here, {end}", "warn"), ("  ( { < go back", "muted")),
    }.get(standing, (("▶ plays", "good"),))


def _attempt(link: Link, now: float) -> str:
    number = f", attempt {link.attempt}" if link.attempt else ""
    if link.next_try is None or link.next_try <= now:
        return f"{number}, trying now"
    return f"{number}, next try in {link.next_try - now:.0f} s"


def header_row(
    host: str,
    link: Link | None,
    served: Served,
    *,
    rights: str,
    clock: str,
    now: float,
    cells: int,
    played: Row = (),
) -> Row:
    """The whole row; parts of less weight go first when room is short, host and link never; a replay has no link."""
    limited = rights == READ_ONLY
    shown: Row = ((rights, "warn" if limited else "muted"),) if rights else ()
    right = fitting([(1 if limited else 2, shown), (3, ((clock, "text"),))], max(cells // 3, 9), "   ")
    dot: Run = (" · ", "muted")
    parts: list[tuple[int, Row]] = [
        (5, (("specconsole", "muted"),)),
        (0, ((text.one_line(host), "strong"), (" ", "text"), *(played or (link_run(link, now),)))),
        (1, (("  ", "text"), (text.one_line(served.model), "text")) if served.model else ()),
        (4, (dot, (f"vLLM {text.one_line(served.version, 24)}", "muted")) if served.version else ()),
        (3, (dot, (served.parallelism, "muted")) if served.parallelism else ()),
        (2, (dot, (text.one_line(served.speculation, 24), "muted")) if served.speculation else ()),
    ]
    room = cells - width(right) - 3
    return (
        (" ", "text"),
        *apart(_tight(parts, room), (*right, (" ", "text")), cells - 1),
    )


def _tight(parts: list[tuple[int, Row]], room: int) -> Row:
    """As `fitting`, but only the brand is set apart: the rest brings its own separators."""
    brand, *rest = parts
    joined = fitting(rest, room, "")
    whole_row: Row = (*brand[1], ("  ", "text"), *joined)
    return whole_row if width(whole_row) <= room and len(joined) else joined


_CLOCK = 10
"""Cells at the right that are a widget of their own: a repaint begins at a widget's left edge, and the clock ticks."""


class Header(Horizontal, Covered):
    """One row at the top of the screen."""

    DEFAULT_CSS = """
    Header { height: 1; width: 1fr; background: $panel; }
    Header > .header--row { height: 1; width: 1fr; background: $panel; }
    Header > .header--clock { height: 1; width: 10; background: $panel; }
    """

    host_name: var[str] = var("")
    """What the user typed to get here."""
    rights: var[str] = var("")
    """What may be done on the host; "" before it is known."""
    link: var[Link | None] = var(None)
    """The state of the link."""
    played: var[Row] = var(())
    """How a replay stands; (): the host is there now."""
    served: var[Served] = var(Served())
    """What runs there."""
    now: var[float] = var(0.0)
    """Monotonic seconds of the last tick."""
    clock_text: var[str] = var("")
    """The time of day."""

    def compose(self) -> ComposeResult:
        """The row, and its last cells."""
        yield Rows(classes="header--row")
        yield Rows(classes="header--clock")

    def on_mount(self) -> None:
        """Draw whenever something changes."""
        for name in ("host_name", "rights", "link", "played", "served", "now", "clock_text"):
            self.watch(self, name, self.redraw)

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.redraw()

    def redraw(self) -> None:
        """Draw the row."""
        if not self.size or not self.is_mounted:
            return
        cells = self.size.width
        row = header_row(
            self.host_name,
            self.link,
            self.served,
            rights=self.rights,
            clock=self.clock_text,
            now=self.now,
            cells=cells,
            played=self.played,
        )
        for rows, part in zip(self.query_children(Rows), split(row, cells - _CLOCK), strict=True):
            rows.show([part])

"""What stands in the title of the log, as rows."""

from __future__ import annotations

from specconsole.ui.log.choice import quoted
from specconsole.ui.log.search import LogSearch
from specconsole.ui.log.window import LogWindow
from specconsole.ui.rows.row import Row


def holding(window: LogWindow) -> Row:
    """Whether the end is followed, and how many entries came since."""
    if window.following:
        return (("following", "text"),)
    new = window.unseen
    words = "held" if not new else f"held, {new:,} new {'entry' if new == 1 else 'entries'}"
    return ((f"▮ {words}", "warn"), ("  G follows", "muted"))


def search_row(search: LogSearch) -> Row:
    """What is searched for, and at which of how many hits it stands: "oom" 3/1,204."""
    said: Row = ((quoted(search.pattern), "accent"), (" ", "text"))
    if search.problem:
        return (*said, (search.problem, "bad"))
    if not search.count and search.complete:
        return (*said, ("no hit", "warn"))
    position, count = search.position, f"{search.count:,}"
    found = count if position is None else f"{position:,}/{count}"
    if search.complete:
        return (*said, (found, "text"))
    return (*said, (f"{found} so far, {search.share:.0%}", "busy"))

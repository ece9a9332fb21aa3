"""How a remembered load went, in words: the same in a terminal and on the screen; pure."""

from __future__ import annotations

from specconsole.history.entry import Load
from specconsole.text import duration, one_line

_SERVED = ("ready", "answering")


def outcome(load: Load) -> str:
    """How the load itself went, in a word or two."""
    if load.outcome == "answering" and not load.complete:
        return "served already"
    return {"answering": "answering, not tried", "loading": "loading when last seen"}.get(load.outcome, load.outcome)


def end(load: Load, width: int = 0) -> str:
    """Why it failed, or what became of the server after the load; "" where neither is known. At most `width` cells (0: all)."""
    if load.outcome in _SERVED:
        return one_line(_served(load), width) if load.ended is not None else ""
    return one_line(load.cause or load.reason, width)


def _served(load: Load) -> str:
    since = load.ready or load.answering
    for_s = f" {duration(load.ended - since)}" if since is not None and load.ended is not None else ""
    why = f": {load.cause or load.reason}" if load.cause or load.reason else ""
    return f"served{for_s}, then ended{why}"

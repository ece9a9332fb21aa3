"""A start as two rows for the engine pane: how long, weights, answering, ready; or how it failed."""

from __future__ import annotations

from specconsole import text
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.ui.row import Row, bar, cut, fitting

_BAR = 16


def load_rows(attempt: LoadTimeline, elapsed_s: float | None, cells: int) -> tuple[Row, Row]:
    """Two rows of a start that is not answering yet, or has failed."""
    if attempt.stage is Stage.FAILED:
        return _failed(attempt, cells)
    weights, drafter = attempt.weights, attempt.drafter
    parts: list[tuple[int, Row]] = [
        (0, ((f"  ◐ loading {text.duration(elapsed_s)}", "busy"),)),
        (0, _bar("weights", weights.done, weights.total, weights.unit) if weights else ()),
        (2, bar(weights.done / weights.total, _BAR, "accent", "rule") if weights and weights.total else ()),
        (
            1,
            _bar("drafter", drafter.done, drafter.total, drafter.unit) if drafter else (),
        ),
        (3, _stamp("weights took", attempt.weights_s)),
        (2, _stamp("model loaded at", _after(attempt, attempt.loaded_at))),
    ]
    said = attempt.note or "not answering yet; ready is health, model list and one generated token"
    return fitting(parts, cells, "   "), cut(((f"  {text.one_line(said)}", "muted"),), cells)


def load_note(attempt: LoadTimeline | None) -> Row:
    """What is said of a start beside the engine that answers: when it was ready, or why that is not known."""
    if attempt is None or attempt.stage not in (Stage.ANSWERING, Stage.READY):
        return ()
    if attempt.note:
        return ((text.one_line(attempt.note, 60), "warn" if "failed" in attempt.note else "muted"),)
    if attempt.late:
        return ()
    if attempt.stage is Stage.READY:
        return ((f"ready {text.duration(_after(attempt, attempt.ready_at))} after its start", "muted"),)
    return (("answering; generating one token…", "busy"),)


def _failed(attempt: LoadTimeline, cells: int) -> tuple[Row, Row]:
    after = text.duration(_after(attempt, attempt.failed_at))
    glyph, ink = ("○", "muted") if attempt.stop_asked else ("✖", "bad")
    said = ((f"  {glyph} ended {after} after its start: ", ink), (text.one_line(attempt.reason), "text"))
    return cut(said, cells), cut(((f"  {text.one_line(attempt.error)}", "text"),), cells) if attempt.error else ()


def _bar(label: str, done: int, total: int, unit: str) -> Row:
    return ((f"{label} ", "muted"), (f"{done}/{total} {unit}", "text"))


def _stamp(label: str, seconds: float | None) -> Row:
    return ((f"{label} ", "muted"), (text.duration(seconds), "text")) if seconds is not None else ()


def _after(attempt: LoadTimeline, at: float | None) -> float | None:
    return at - attempt.started if at is not None and attempt.started is not None else None

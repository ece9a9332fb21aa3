"""A unit over time as rows: a curve a figure, start by start, and what got worse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from specconsole import text
from specconsole.bench.trend import Course, Drift, Trend, sentences
from specconsole.bench.trend_words import FORMS
from specconsole.ui.rows.row import Row, cut, fitting, spark
from specconsole.ui.rows.said import head_rows, said_rows

_DRIFTS = {
    Drift.WORSE: ("✖ worse", "bad"),
    Drift.BETTER: ("✔ better", "good"),
    Drift.STEADY: ("· steady", "muted"),
    Drift.OPEN: ("? open", "muted"),
}
SHOWN = 12
"""Starts whose values are listed, the newest ones."""
NARROWEST = 9
LEAST = ("coverage", "acceptance_rate", "tau")
"""What is left out first of their table."""


def trend_rows(found: Sequence[Trend], day: Callable[[float], str], cells: int) -> list[Row]:
    """All of it: each configuration with its figures, what changed, and the values of its starts."""
    rows: list[Row] = []
    for one in found:
        if rows:
            rows.append(())
        rows += head_rows(text.one_line(one.asked), cells)
        rows += [_course(course, cells) for course in one.courses]
        for said in sentences(one):
            bad = said.startswith("Regression")
            rows += said_rows("✖ " if bad else "· ", "bad" if bad else "muted", said, cells)
        rows += _values(one, day, cells)
    return rows


def _course(course: Course, cells: int) -> Row:
    form, points = FORMS[course.key], course.points
    word, ink = _DRIFTS[course.drift]
    change = course.change
    moved = "" if change is None else f"{'+' if change >= 0 else '−'}{abs(change) * 100:.1f} %"
    starts = f"{len(points)} start{'s' if len(points) != 1 else ''}"
    parts: list[tuple[int, Row]] = [
        (0, ((f" {form.head:<12}", "text"),)),
        (0, ((f"{form.shown(points[-1].value):>10}", "strong"),)),
        (0, ((f"usual {form.shown(course.usual):>10}", "muted"),)),
        (0, ((f"{moved:>8}", "text"),)),
        (0, ((f"{word:<8}", ink),)),
        (1, ((_curve([point.value for point in points], 24), "gpu-util"),)),
        (2, ((starts, "muted"),)),
    ]
    return fitting(parts, cells, "  ")


def _curve(values: Sequence[float], cells: int) -> str:
    """From 0 to a little above the greatest: a change of 2 % must not look like a cliff."""
    top = max(values, default=0.0) * 1.1
    return spark([value / top if top > 0 else None for value in values], cells)


def _values(one: Trend, day: Callable[[float], str], cells: int) -> Iterator[Row]:
    times = sorted({point.at for course in one.courses for point in course.points})[-SHOWN:]
    courses = _fitting(one.courses, cells)
    by_time = [{point.at: point.value for point in course.points} for course in courses]
    wide = [max(len(FORMS[course.key].head), NARROWEST) for course in courses]
    heads = (f"{FORMS[course.key].head:>{size}}" for course, size in zip(courses, wide, strict=True))
    yield cut(((f" {'start':<19} " + " ".join(heads), "muted"),), cells)
    for at in times:
        known = zip(courses, by_time, wide, strict=True)
        shown = (f"{FORMS[course.key].shown(found.get(at)):>{size}}" for course, found, size in known)
        yield cut(((f" {day(at):<19} ", "muted"), (" ".join(shown), "text")), cells)


def _fitting(courses: Sequence[Course], cells: int) -> Sequence[Course]:
    """Without the figures that the others tell between them, where there is no room for all; curves show them still."""
    left = list(courses)
    for key in LEAST:
        if 21 + sum(max(len(FORMS[course.key].head), NARROWEST) + 1 for course in left) > cells:
            left = [course for course in left if course.key != key]
    return left

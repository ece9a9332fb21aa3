"""An experiment as rows: what its plan will do, its arms with their figures as they come, what is going on, what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specconsole import text
from specconsole.ui.rows.compare import comparison_rows
from specconsole.ui.rows.row import Row, apart, cut
from specconsole.ui.rows.said import head_rows, said_rows
from specconsole.ui.rows.swap import topic_rows

if TYPE_CHECKING:
    from specconsole.experiment.fetch import CellResult, StepResult
    from specconsole.experiment.outlook import Span
    from specconsole.experiment.prepare import Prepared
    from specconsole.experiment.watch import Figures, Standing
    from specconsole.ui.feed.experiment import Reported

Stamp = Callable[[float], str]
"""Seconds since the epoch as a time of day."""

_MARKS = {"done": ("✔", "good"), "failed": ("✖", "bad"), "not begun": ("○", "muted")}
_WORDS = {
    "not begun": "to come",
    "begin": "swap and load",
    "swapped": "rest",
    "soaked": "run",
    "done": "done",
    "failed": "passed over",
}
_ENDS = {"finished": ("✔", "good", "finished"), "cancelled": ("◼", "warn", "cancelled")}


def plan_rows(made: Prepared, now: float, stamp: Stamp, cells: int) -> list[Row]:
    """What stands in the way, how long it takes and when it ends, then what will happen, in order."""
    from specconsole.experiment.preview import lines

    said = list(lines(made))
    found = made.forecast
    if found.low is not None and found.high is not None:
        at = next(place for place, (topic, _) in enumerate(said) if topic == "takes") + 1
        said.insert(at, ("ends", f"{moments((found.low, found.high), now, stamp)}, if it begins now"))
    inks = {"left out": "warn", "a failure": "warn", "derive": "warn", "BLOCKED": "bad"}
    first = ("BLOCKED", "takes", "ends")
    return topic_rows(sorted(said, key=lambda line: first.index(line[0]) if line[0] in first else 3), inks, cells)


def moments(span: Span, now: float, stamp: Stamp) -> str:
    """From which to which time of day; the day is said where it is another one."""
    low, high = (stamp(now + seconds)[:5] for seconds in span)
    days = int(span[1] // 86_400)
    until = f" to {high}" if high != low or days else ""
    return f"{low}{until}{f' in {days} d' if days else ''}"


def standing_row(standing: Standing | None, error: str, at: float, stamp: Stamp, cells: int) -> Row:
    """Which experiment, at which step, and when it ends."""
    if error:
        return cut(((f" ✖ {text.one_line(error)}", "bad"),), cells)
    if standing is None:
        said = " No experiment was made or seen in this session; B chooses a plan."
        return cut(((said, "muted"),), cells)
    name = text.one_line(str(standing.plan.get("name") or "experiment"), 40)
    if (end := standing.view.end) is not None:
        outcome = text.one_line(str(end.get("outcome")), 40)
        mark, ink, word = _ENDS.get(outcome, ("✖", "bad", outcome))
        if rest := len(standing.left):
            mark, ink = ("▲", "warn") if ink == "good" else (mark, ink)
            word = f"{word}, {rest} of {len(standing.steps)} steps left; R measures what is left"
        return apart(((f" {mark} {name}: {word}", ink),), ((f"{_took(standing)} ", "muted"),), cells)
    if standing.interrupted:
        said = f" ✖ {name} was interrupted, and nobody goes on with it; R lets it go on"
        return cut(((said, "bad"),), cells)
    link: Row = () if standing.view.linked else (("  ◌ the link is down; the host goes on", "stale"),)
    left: Row = ((f" ▶ {name}", "busy"), (f"  {_place(standing)}", "text"), *link)
    return apart(left, ((f"{_ends(standing, at, stamp)} ", "muted"),), cells)


def _took(standing: Standing) -> str:
    events = standing.view.events
    return f"after {text.about(float(events[-1]['at']) - float(events[0]['at']))}"


def _place(standing: Standing) -> str:
    current = standing.current
    if current is None:
        return "before its first step" if not standing.view.events else "at its end"
    return f"step {current.number + 1} of {len(standing.steps)}, {text.one_line(current.arm, 24)}"


def _ends(standing: Standing, at: float, stamp: Stamp) -> str:
    rest = standing.outlook.rest
    return f"ends {moments(rest, at, stamp)}" if rest is not None else f"ends {text.UNKNOWN}"


def page_rows(standing: Standing | None, reported: Reported | None, at: float, stamp: Stamp, cells: int) -> list[Row]:
    """The whole page."""
    if standing is None:
        return []
    rows = [*_answer(standing, reported, cells), *_steps(standing, cells)]
    if standing.view.end is None and not standing.interrupted:
        rows += [(), *_now(standing, at, stamp, cells)]
    rows += [*_failures(standing, cells), *_in_part(standing, cells)]
    rows += [(), *_afterwards(standing, cells)]
    if reported is not None:
        for one in reported.comparisons:
            rows += [(), *comparison_rows(one, cells)]
    return rows


# -- what came out --


def _answer(standing: Standing, reported: Reported | None, cells: int) -> Iterator[Row]:
    if standing.view.end is None:
        return
    if reported is None:
        yield ((" reading its runs…", "busy"),)
    else:
        for sentence in reported.answer:
            yield from said_rows("· ", "muted", sentence, cells, "strong")
        if reported.path:
            yield from said_rows("→ ", "muted", f"The report: {reported.path}", cells, "key")
        elif reported.trouble:
            yield from said_rows("▲ ", "warn", f"No report was written: {reported.trouble}", cells)
    yield ()


# -- the steps --


@dataclass(frozen=True)
class _Line:
    """A step, or one of the several cells of a step."""

    step: StepResult
    cell: CellResult | None = None
    """None: the step itself."""
    name: str = ""
    figures: Figures | None = None
    """Of a step that has one cell, and of a cell."""

    @property
    def in_part(self) -> bool:
        """Some requests of it failed."""
        return self.cell in self.step.in_part if self.cell else bool(self.step.in_part)


@dataclass(frozen=True)
class _Column:
    head: str
    rank: int
    """Higher ones go first where the screen is narrow."""
    cell: Callable[[_Line], str]


def _columns(standing: Standing) -> tuple[_Column, ...]:
    return (
        _Column("arm", 0, lambda line: text.one_line(line.name, 32)),
        _Column("state", 0, lambda line: _state(standing, line)),
        _Column("swap+load", 2, lambda line: "" if line.cell else _swap(standing, line.step)),
        _Column("run", 3, lambda line: _cell_took(standing, line.cell) if line.cell else _run(standing, line.step)),
        _Column("TPOT p50", 0, lambda line: _figure(line, lambda told: text.milliseconds(told.tpot_p50_s))),
        _Column("τ", 0, lambda line: _figure(line, lambda told: text.number(told.tau, 2))),
        _Column("acc.", 1, lambda line: _figure(line, lambda told: text.percent(told.rate, 1))),
        _Column("J/token", 4, lambda line: _figure(line, lambda told: text.number(told.joules, 2))),
        _Column("°C before", 6, lambda line: "" if line.cell else _degrees(line.step, 0)),
        _Column("after", 5, lambda line: "" if line.cell else _degrees(line.step, 1)),
    )


def _figure(line: _Line, said: Callable[[Figures], str]) -> str:
    """A figure; nothing beside a step whose cells have theirs below it."""
    if line.cell is None and len(line.step.cells) > 1:
        return ""
    return text.UNKNOWN if line.figures is None else said(line.figures)


def _state(standing: Standing, line: _Line) -> str:
    step, figures = line.step, line.figures
    if line.cell is not None:
        going = step is standing.current and step.state == "soaked" and not standing.interrupted
        counted = f" {figures.done}/{figures.total}" if figures is not None else ""
        done = "done in part" if line.in_part else "done"
        words = {"begin": f"run{counted}" if going else "cut off", "done": done, "failed": "passed over"}
        return words.get(line.cell.state, text.one_line(line.cell.state, 20))
    word = _WORDS.get(step.state, text.one_line(step.state, 20))
    if step is standing.current and standing.interrupted:
        return f"{word}, cut off"
    if len(step.cells) > 1 and step.state != "not begun":
        ended = sum(cell.state == "done" for cell in step.cells)
        return f"{word}, {ended} of {len(step.cells)}" if step.state != "begin" or ended else word
    if step.state == "done" and line.in_part:
        return f"{word} in part"
    if step.state == "soaked" and figures is not None:
        return f"{word} {figures.done}/{figures.total}"
    return word


def _cell_took(standing: Standing, cell: CellResult) -> str:
    end = cell.ended if cell.ended is not None or standing.interrupted else standing.now
    return text.UNKNOWN if cell.began is None or end is None else text.duration(end - cell.began)


def _swap(standing: Standing, step: StepResult) -> str:
    if step.served_already:
        return "served"
    end = standing.now if step.state == "begin" and step is standing.current else step.served
    return text.UNKNOWN if step.began is None or end is None else text.duration(end - step.began)


def _run(standing: Standing, step: StepResult) -> str:
    end = step.ended if step.ended is not None else standing.now if step is standing.current else None
    return text.UNKNOWN if step.soaked is None or end is None else text.duration(end - step.soaked)


def _degrees(step: StepResult, place: int) -> str:
    if len(step.heat) <= place:
        return text.UNKNOWN
    known = [row[1] for row in step.heat[place] if len(row) > 1 and row[1] is not None]
    if not known:
        return text.UNKNOWN
    low, high = f"{min(known):.0f}", f"{max(known):.0f}"
    return low if low == high else f"{low} to {high}"


def _lines(standing: Standing) -> Iterator[_Line]:
    """The steps, and below each the cells of it that were begun, where it has several."""
    names = standing.names
    for step in standing.steps:
        if len(step.cells) == 1:
            yield _Line(step, None, step.arm, standing.figures.get((step.number, 0)))
            continue
        yield _Line(step, None, step.arm)
        for cell in step.cells:
            if cell.state != "not begun":
                yield _Line(step, cell, f"  {names[cell.number]}", standing.figures.get((step.number, cell.number)))


def _steps(standing: Standing, cells: int) -> Iterator[Row]:
    columns, lines = list(_columns(standing)), list(_lines(standing))
    shown = [[column.cell(line) for line in lines] for column in columns]
    widths = [max(len(column.head), *map(len, words)) for column, words in zip(columns, shown, strict=True)]
    number = len(str(len(standing.steps)))
    while sum(widths) + 2 * len(widths) + number + 3 > cells and any(column.rank for column in columns):
        worst = max(range(len(columns)), key=lambda place: columns[place].rank)
        del columns[worst], shown[worst], widths[worst]
    head = _line([column.head for column in columns], widths)
    yield cut(((f"   {'':>{number}}  {head}", "title"),), cells)
    for row, line in enumerate(lines):
        words = _line([cell[row] for cell in shown], widths)
        state = line.cell.state if line.cell else line.step.state
        mark, ink = _MARKS.get(state, ("▶", "busy") if line.step is standing.current else ("–", "warn"))
        if state == "done" and line.in_part:
            mark, ink = "▲", "warn"
        here = "strong" if line.step is standing.current else "muted" if state == "not begun" else "text"
        place = "" if line.cell else f"{line.step.number + 1}"
        yield cut(((f" {mark} ", ink), (f"{place:>{number}}  {words}", here)), cells)


def _line(words: Sequence[str], widths: Sequence[int]) -> str:
    """The first two columns are words, the others figures."""
    sides = [(str.ljust if place < 2 else str.rjust) for place in range(len(words))]
    return "  ".join(side(word, size) for side, word, size in zip(sides, words, widths, strict=True))


# -- what is going on --


def _now(standing: Standing, at: float, stamp: Stamp, cells: int) -> Iterator[Row]:
    yield from head_rows("now", cells)
    said = text.one_line(str(standing.view.now.get("text") or ""))
    detail = text.one_line(str(standing.view.now.get("detail") or ""))
    current = standing.current
    what = f"{current.arm}: {said}" if current is not None and said else said or text.UNKNOWN
    yield from said_rows("▶ ", "busy", f"{what}{f': {detail}' if detail else ''}", cells)
    yield from said_rows("  ", "muted", _eta(standing, at, stamp), cells, "muted")


def _eta(standing: Standing, at: float, stamp: Stamp) -> str:
    found = standing.outlook
    parts = []
    if found.late:
        parts.append("this takes longer than it ever did")
    elif found.phase is not None:
        parts.append(f"this is over {moments(found.phase, at, stamp)}")
    if found.rest is not None:
        low, high = (text.about(seconds) for seconds in found.rest)
        parts.append(f"all of it in {low if low == high else f'{low} to {high}'}")
    elif found.unknown:
        parts.append(f"when it ends is not known: no load of {' and '.join(found.unknown)} was seen yet")
    elif not found.late:
        parts.append("when it ends is not known: no run tells how long one takes")
    return "; ".join(parts)


def _failures(standing: Standing, cells: int) -> Iterator[Row]:
    failed = [step for step in standing.steps if step.state == "failed"]
    parts = [(step, cell) for step in standing.steps for cell in step.cells if cell.state == "failed"]
    refused = (standing.plan.get("about") or {}).get("refused") or {}
    if not failed and not parts and not refused:
        return
    yield ()
    yield from head_rows("left out", cells)
    for step in failed:
        yield from said_rows("✖ ", "bad", f"step {step.number + 1}, {step.arm}: {step.why}", cells)
    for step, cell in parts:
        if len(step.cells) > 1:
            said = f"step {step.number + 1}, {step.arm}, {standing.names[cell.number]}: {cell.why}"
            yield from said_rows("✖ ", "bad", said, cells)
    for why in refused.values():
        yield from said_rows("– ", "warn", str(why), cells)


def _in_part(standing: Standing, cells: int) -> Iterator[Row]:
    parts = [(step, cell) for step in standing.steps for cell in step.in_part]
    if parts:
        yield ()
        yield from head_rows("answered in part", cells)
    for step, cell in parts:
        name = f", {standing.names[cell.number]}" if len(step.cells) > 1 else ""
        yield from said_rows("▲ ", "warn", f"step {step.number + 1}, {step.arm}{name}: {cell.why}", cells)


def _afterwards(standing: Standing, cells: int) -> Iterator[Row]:
    choice = next((event for event in reversed(standing.view.events) if event["event"] == "choice"), None)
    soak = float(standing.plan.get("soak_s") or 0)
    yield from head_rows("and then", cells)
    if choice is not None:
        yield from said_rows("→ ", "muted", f"{choice.get('arm')} serves in the end: {choice.get('why')}", cells)
    else:
        winner = "the winner serves in the end, if it is faster beyond margin and noise, else the baseline"
        said = winner if standing.plan.get("end") == "winner" else "the baseline serves in the end"
        yield from said_rows("→ ", "muted", said, cells)
    if soak:
        yield from said_rows(
            "  ", "muted", f"each arm rests {text.duration(soak)} before it is measured", cells, "muted"
        )

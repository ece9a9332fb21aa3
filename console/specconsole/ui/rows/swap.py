"""A swap as rows: what a plan will do, and how one stands, step by step with its evidence."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from specconsole.load.diagnosis import Diagnosis
from specconsole.remote.swap_record import Step, Story
from specconsole.remote.swap_rule import BACK, FORWARD
from specconsole.service.plan import Plan, lines
from specconsole.service.swap import SwapView, ended, title
from specconsole.service.unit import Unit
from specconsole.text import duration, one_line
from specconsole.ui.rows.row import Row, apart, cut
from specconsole.ui.rows.unit_word import StateWord, name, state_word

_MARKS = {"begin": ("▶", "busy"), "done": ("✔", "good"), "failed": ("✖", "bad"), "skipped": ("–", "muted")}
_ENDS = {"committed": ("✔", "good"), "unchanged": ("–", "warn"), "rolled_back": ("↺", "warn")}
_INKS = {"on failure": "warn", "note": "warn", "BLOCKED": "bad", "GPU": "text", "reboot": "text"}
_TOPIC = 12
_TIME = 9


def plan_rows(plan: Plan, cells: int) -> list[Row]:
    """What stands in the way, then what will happen, in order, and what it costs."""
    return topic_rows(sorted(lines(plan), key=lambda line: line[0] != "BLOCKED"), _INKS, cells)


def topic_rows(said: Iterable[tuple[str, str]], inks: Mapping[str, str], cells: int) -> list[Row]:
    """Sentences hung under their topics; some topics have inks of their own."""
    rows: list[Row] = []
    for topic, sentence in said:
        ink = inks.get(topic, "text")
        for number, line in enumerate(_wrapped(sentence, cells - _TOPIC - 2)):
            head = "" if number else topic
            rows.append(((f" {head:<{_TOPIC}} ", "key" if topic not in inks else ink), (line, ink)))
    return rows


def standing_row(view: SwapView | None, error: str, cells: int, since: str = "") -> Row:
    """What is swapped, how far it is, and for how long it has run; `since`: what became of it after its end."""
    if error:
        return cut(((f" ✖ {one_line(error)}", "bad"),), cells)
    if view is None:
        return ((" No swap was made or seen in this session.", "muted"),)
    story = view.story
    if view.interrupted:
        return cut(((f" ✖ {title(story)} was interrupted; nobody goes on with it", "bad"),), cells)
    if story.outcome is not None:
        mark, ink = _ENDS.get(story.outcome, ("✖", "bad"))
        if ink == "good" and (since or story.unproven):
            mark, ink = "▲", "warn"
        took = duration(story.last - story.began)
        return apart(((f" {mark} {title(story)}", ink),), ((ended(story), ink), (f" after {took} ", "muted")), cells)
    ink = "warn" if story.back else "busy"
    doing = "rolling back: " if story.back else ""
    now = max(view.now_at or 0.0, story.last)
    # At the right: names of units are long, and a narrow screen would cut it off behind them.
    link = () if view.linked else (("◌ link down, the host goes on ", "stale"),)
    took = f" {duration(now - story.began)} " if story.began else ""
    return apart(((f" ▶ {doing}{title(story)}", ink),), (*link, (took, "muted")), cells)


def since_then(story: Story, over_at: float | None, units: Sequence[Unit], server: tuple[str, StateWord] | None) -> str:
    """What became of the unit that a swap left serving (or stopped), where that is so no more; "" where it is, or is not known.

    `over_at`: our monotonic seconds at which its end was heard: what was read of another start than ours before that is old.
    """
    if story.outcome not in ("committed", "rolled_back") or over_at is None:
        return ""
    subject = (story.plan.get("back_to") if story.back else story.plan.get("target")) or {}
    unit = next((unit for unit in units if unit.key == subject.get("key")), None)
    if unit is None:
        return ""
    theirs = server[1] if server and server[0] == unit.key else None
    said = state_word(unit, theirs)
    if unit.state.running and theirs and theirs.ink in ("warn", "bad") and story.plan.get("action") != "stop":
        return f"since then {name(unit)} is {said.word}"
    ours = next((invocation for key, invocation in reversed(story.started) if key == unit.key), "")
    is_ours = bool(ours) and unit.state.invocation == ours
    if not is_ours and (unit.state.read is None or unit.state.read < over_at):
        return ""
    if story.plan.get("action") == "stop":
        return f"since then {name(unit)} was started: {said.word}" if unit.state.running else ""
    if not unit.state.running or said.ink in ("warn", "bad"):
        return f"since then {name(unit)} is {said.word}"
    return "" if is_ours or not ours else f"since then {name(unit)} was started anew: {said.word}"


def view_rows(view: SwapView, cells: int, load: Sequence[Row] = (), since: str = "") -> list[Row]:
    """Every step with its time, its reason and what was seen; what is still to come; how it ended and what to do.

    `load`: how far the unit that is started is; it stands below the step that waits for it.
    `since`: what became of it after its end.
    """
    story = view.story
    rows: list[Row] = []
    for step in story.steps:
        rows += _step(step, view, cells)
    rows += load
    rows += [((" " * _TIME + f" ○ {name}", "muted"),) for name in _to_come(story)]
    if story.turned and story.outcome is None:
        rows += [(), *_said(f"Rolls back: {story.turned}", cells, "warn")]
    if story.outcome is not None and story.why:
        rows += [(), *_said(story.why, cells, "warn" if story.unproven else "text")]
        rows += _said(f"▲ {since}", cells, "bad") if since else ()
    if view.diagnosis:
        rows += [(), *_diagnosed(view.diagnosis, cells)]
    if story.advice:
        rows += [(), ((" What to do:", "title"),)]
        rows += [row for line in story.advice for row in _said(line, cells, "key")]
    return rows


def current_rows(view: SwapView, cells: int, load: Sequence[Row] = (), since: str = "") -> range:
    """Which of these rows tell how it stands now: the last step's, or, once it is over, how it ended and what to do."""
    sizes = [len(list(_step(step, view, cells))) for step in view.story.steps]
    if view.story.outcome is not None:
        return range(sum(sizes), len(view_rows(view, cells, since=since)))
    return range(sum(sizes[:-1]), sum(sizes) + len(load))


def _diagnosed(diagnosis: Diagnosis, cells: int) -> Iterator[Row]:
    yield ((f" {diagnosis.title}", "title"),)
    yield from _said(diagnosis.sentence, cells, "text")
    if diagnosis.root_line and diagnosis.root_line not in diagnosis.sentence:
        yield from _said(diagnosis.root_line, cells, "muted")
    for line in (*diagnosis.advice, *diagnosis.notes):
        yield from _said(line, cells, "key" if line in diagnosis.advice else "muted")


def _to_come(story: Story) -> Sequence[str]:
    """The steps that are not begun yet."""
    if story.outcome is not None:
        return ()
    whole = BACK if story.back else FORWARD.get(str(story.plan.get("action")), ())
    last = next((whole.index(step.name) for step in reversed(story.steps) if step.back == story.back), -1)
    return whole[last + 1 :]


def _step(step: Step, view: SwapView, cells: int) -> Iterator[Row]:
    outcome = view.story.outcome
    running = step.state == "begin" and outcome is None
    # The last step is what an outcome ends: nobody writes of it again.
    state = {"committed": "done"}.get(outcome, "failed") if step.state == "begin" and outcome else step.state
    mark, ink = _MARKS.get(state, ("?", "warn"))
    end = step.ended if step.ended is not None else max(view.now_at or 0.0, view.story.last)
    back = "roll back: " if step.back else ""
    took = "" if step.state == "skipped" else duration(max(end - step.began, 0.0))
    yield cut(((f"{took:>{_TIME}}", "muted"), (f" {mark} {back}{step.name}", ink if running else "text")), cells)
    for note in step.notes:
        yield from _said(str(note.get("text", "")), cells, "muted")
    if step.why:
        yield from _said(step.why, cells, "bad" if step.state == "failed" else "muted")
    if running and view.now and view.linked:
        yield from _said(view.now, cells, "busy")


def _said(said: str, cells: int, ink: str) -> Iterator[Row]:
    aside = " " * (_TIME + 3)
    for line in _wrapped(said, cells - len(aside) - 1):
        yield ((aside, "text"), (line, ink))


def _wrapped(said: str, cells: int) -> list[str]:
    return textwrap.wrap(one_line(said), max(cells, 20), break_on_hyphens=False) or [""]

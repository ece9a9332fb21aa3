"""A swap as rows: what a plan will do, and how one stands, step by step with its evidence."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from specconsole.load.diagnosis import Diagnosis
from specconsole.remote.swap_record import Step, Story
from specconsole.remote.swap_rule import BACK, FORWARD
from specconsole.service.plan import Plan, lines
from specconsole.service.swap import OUTCOMES, SwapView, title
from specconsole.text import duration, one_line
from specconsole.ui.row import Row, apart, cut

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


def standing_row(view: SwapView | None, error: str, cells: int) -> Row:
    """What is swapped, how far it is, and for how long it has run."""
    if error:
        return cut(((f" ✖ {one_line(error)}", "bad"),), cells)
    if view is None:
        return ((" No swap was made or seen in this session.", "muted"),)
    story = view.story
    if view.interrupted:
        return cut(((f" ✖ {title(story)} was interrupted; nobody goes on with it", "bad"),), cells)
    if story.outcome is not None:
        mark, ink = _ENDS.get(story.outcome, ("✖", "bad"))
        left: Row = ((f" {mark} {title(story)}: {OUTCOMES.get(story.outcome, story.outcome)}", ink),)
        return apart(left, ((f"after {duration(story.last - story.began)} ", "muted"),), cells)
    ink = "warn" if story.back else "busy"
    doing = "rolling back: " if story.back else ""
    link = () if view.linked else (("  ◌ the link is down; the host goes on", "stale"),)
    now = max(view.now_at or 0.0, story.last)
    left = ((f" ▶ {doing}{title(story)}", ink), *link)
    return apart(left, ((f"{duration(now - story.began)} ", "muted"),), cells) if story.began else left


def view_rows(view: SwapView, cells: int, load: Sequence[Row] = ()) -> list[Row]:
    """Every step with its time, its reason and what was seen; what is still to come; how it ended and what to do.

    `load`: how far the unit that is started is; it stands below the step that waits for it.
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
        rows += [(), *_said(story.why, cells, "text")]
    if view.diagnosis:
        rows += [(), *_diagnosed(view.diagnosis, cells)]
    if story.advice:
        rows += [(), ((" What to do:", "title"),)]
        rows += [row for line in story.advice for row in _said(line, cells, "key")]
    return rows


def current_rows(view: SwapView, cells: int, load: Sequence[Row] = ()) -> range:
    """Which of these rows tell how it stands now: the last step's, or, once it is over, how it ended and what to do."""
    sizes = [len(list(_step(step, view, cells))) for step in view.story.steps]
    if view.story.outcome is not None:
        return range(sum(sizes), len(view_rows(view, cells)))
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

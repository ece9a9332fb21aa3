"""A unit over time: what its starts measured, one after the other, and whether the newest is worse than they usually were.

Only runs that were asked the same are laid in one row. Starts are the replicate: runs of one start are taken together by
their mean. TPOT is judged as two arms are (`judge`). Acceptance is judged by itself: a drafter that lost a tenth of its
acceptance length has met another text, template or model, and that is a regression even while the unit is still faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median

from specconsole.bench.judge import STUDENT, Word, Z, judge
from specconsole.history.entry import Load, Run
from specconsole.text import milliseconds, number, percent

USUAL_OF = 5
"""What is usual is told by so many starts before the newest."""
LENGTH_LOSS = 0.10
"""An acceptance length that fell by this share is a regression, whatever the speed."""
STARTS, MARGIN = 3, 0.10
"""Loads, first tokens and energy are judged against at least so many starts; smaller changes than this are of no interest."""


class Drift(Enum):
    """The newest start against those before it."""

    WORSE = "worse"
    BETTER = "better"
    STEADY = "steady"
    OPEN = "open"
    """Too few starts, or too small a change, to tell."""


@dataclass(frozen=True)
class Point:
    """One start's value; runs of that start are taken together by their mean."""

    at: float
    """Seconds since the epoch of its first run."""
    value: float
    runs: int = 1


@dataclass(frozen=True)
class Course:
    """One figure over the starts."""

    key: str
    """One of `FIGURES`, or ready_s."""
    points: tuple[Point, ...]
    """The oldest first."""
    usual: float | None = None
    """The median of the starts before the newest; None: there are none."""
    drift: Drift = Drift.OPEN

    @property
    def change(self) -> float | None:
        """Of the newest against what is usual: 0.1 is 10 % more."""
        return self.points[-1].value / self.usual - 1 if self.points and self.usual else None


@dataclass(frozen=True)
class Trend:
    """All figures of one configuration that was asked the same."""

    asked: str
    """Arm and what was asked, in words; "loads, cold" and the like for loads."""
    courses: tuple[Course, ...]
    changed: tuple[str, ...] = ()
    """What else differs between the newest start and the one before it, in words."""

    @property
    def regressions(self) -> tuple[Course, ...]:
        """What got worse."""
        return tuple(course for course in self.courses if course.drift is Drift.WORSE)


FIGURES = ("tpot_s", "ttft_s", "tau", "acceptance_length", "acceptance_rate", "coverage", "joules_per_token")
"""The keys of a run's summary that are followed."""
_ASKED = (
    "tool", "mean_over", "input_tokens", "untold",
    "arm", "prompts", "concurrency", "temperature", "max_tokens", "api", "context",
)  # fmt: skip
"""Other tools' runs (the first line is theirs) never stand in a row with our own, nor with each other's."""
_BENEATH = ("model", "version", "runner", "async_scheduling", "driver", "kv_tokens", "argv")


def trends(runs: Sequence[Run], loads: Sequence[Load] = ()) -> tuple[Trend, ...]:
    """What the runs and loads of one unit say over time, the configuration that was measured last first.

    Runs that did not finish, and runs that a check calls wrong, are left out.
    """
    asked: dict[tuple[object, ...], list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.started):
        if run.summary.get("why", "finished") == "finished" and not run.summary.get("wrong"):
            asked.setdefault(tuple(run.summary.get(name) for name in _ASKED), []).append(run)
    newest_first = sorted(asked.values(), key=lambda found: -found[-1].started)
    return (*(_of_runs(found) for found in newest_first), *_of_loads(loads))


def _of_runs(runs: Sequence[Run]) -> Trend:
    starts = list(_starts(runs))
    known = all(run.invocation for run in runs) or not runs[-1].summary.get("tool")
    courses = (_course(key, [point for start in starts if (point := _point(start, key))], known) for key in FIGURES)
    return Trend(_words(runs[-1].summary), tuple(course for course in courses if course.points), _changed(starts))


def _starts(runs: Sequence[Run]) -> Iterator[list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        # Where the start is not known, each run stands for itself: nothing says that two are of one.
        found.setdefault(run.invocation or f"run {run.id} {run.started}", []).append(run)
    yield from found.values()


def _point(runs: Sequence[Run], key: str) -> Point | None:
    values = [value for run in runs if (value := figure(run.summary, key)) is not None]
    return Point(runs[0].started, math.fsum(values) / len(values), len(values)) if values else None


def figure(summary: Mapping[str, object], key: str) -> float | None:
    """A number of a summary; None where it is absent or no number."""
    value = summary.get(key)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def selftest(summary: Mapping[str, object]) -> str:
    """What a kept self-test of the load generator says, in a line; "" for a run of a unit."""
    if summary.get("kind") != "selftest":
        return ""
    streams, step = figure(summary, "streams"), figure(summary, "step_s")
    off = percent(figure(summary, "tpot_error"), 3)
    return f"self-test of the load generator: {number(streams)} at once, step {milliseconds(step)}, TPOT off by {off}"


def _course(key: str, points: Sequence[Point], known: bool) -> Course:
    """`known`: which start each point is of; else none is judged by how starts differ, since all may be of one."""
    if len(points) < 2:
        return Course(key, tuple(points))
    earlier, newest = [point.value for point in points[:-1]][-USUAL_OF:], points[-1].value
    usual = median(earlier)
    judged = known or key == "acceptance_length"
    return Course(key, tuple(points), usual, _drift(key, earlier, usual, newest) if judged else Drift.OPEN)


def _drift(key: str, earlier: Sequence[float], usual: float, newest: float) -> Drift:
    if key == "tpot_s":
        return _speed(earlier, newest)
    if key == "acceptance_length" and usual > 0:
        change = round(newest / usual - 1, 9)  # 2.7 against 3.0 is a tenth
        return Drift.WORSE if change <= -LENGTH_LOSS else Drift.BETTER if change >= LENGTH_LOSS else Drift.STEADY
    return _scattered(earlier, newest) if key in ("ttft_s", "joules_per_token") else Drift.OPEN


def _scattered(earlier: Sequence[float], newest: float) -> Drift:
    """Of what is better the lower it is, and of which nobody has measured how starts differ: by how these do."""
    if len(earlier) < STARTS or min(*earlier, newest) <= 0:
        return Drift.OPEN
    logs = [math.log(value) for value in earlier]
    centre = math.fsum(logs) / len(logs)
    s = math.sqrt(math.fsum((value - centre) ** 2 for value in logs) / (len(logs) - 1))
    quantile = STUDENT[len(logs) - 2] if len(logs) - 2 < len(STUDENT) else Z
    bound = max(math.log1p(MARGIN), quantile * s * math.sqrt(1 + 1 / len(logs)))
    change = math.log(newest) - centre
    return Drift.WORSE if change > bound else Drift.BETTER if change < -bound else Drift.STEADY


def _speed(earlier: Sequence[float], newest: float) -> Drift:
    words = {Word.SLOWER: Drift.WORSE, Word.FASTER: Drift.BETTER, Word.ALIKE: Drift.STEADY}
    return words.get(judge([{"": value} for value in earlier], [{"": newest}]).word, Drift.OPEN)


def _words(summary: Mapping[str, object]) -> str:
    temperature, tokens, context = (figure(summary, key) for key in ("temperature", "max_tokens", "context"))
    tool, inputs = summary.get("tool"), figure(summary, "input_tokens")
    parts = [
        f"from {tool}" if tool else "",
        str(summary.get("arm") or "speculation not known"),
        f"prompts {summary.get('prompts') or 'not known'}" if not tool else "",
        f"{inputs:g} tokens a prompt" if inputs is not None else "",
        f"{summary.get('concurrency', '?')} at once",
        f"temperature {temperature:g}" if temperature is not None else "",
        f"{tokens:g} tokens" if tokens is not None else "",
        f"context {context:g}" if context else "",
        "means over requests" if summary.get("mean_over") else "",
        f"not told: {summary.get('untold')}" if tool and summary.get("untold") else "",
    ]
    return ", ".join(part for part in parts if part)


def _changed(starts: Sequence[Sequence[Run]]) -> tuple[str, ...]:
    if len(starts) < 2:
        return ()
    before, now = starts[-2][-1].fingerprint, starts[-1][-1].fingerprint
    found = []
    for name in _BENEATH:
        if name in before and name in now and before[name] != now[name]:
            said = "" if name == "argv" else f": {before[name]} before, {now[name]} now"
            found.append(f"{_BENEATH_WORDS.get(name, name)}{said}")
    return tuple(found)


_BENEATH_WORDS = {
    "version": "vLLM",
    "runner": "model runner",
    "async_scheduling": "async scheduling",
    "kv_tokens": "tokens of the KV cache",
    "argv": "the command line is another",
}


def _of_loads(loads: Sequence[Load]) -> Iterator[Trend]:
    """How long loads took until a token was generated, cold and warm apart."""
    parted: dict[bool | None, list[Point]] = {}
    for load in sorted(loads, key=lambda load: load.started):
        seconds = ready_s(load)
        if seconds is not None:
            parted.setdefault(load.cold, []).append(Point(load.started, seconds))
    for cold, points in parted.items():
        word = {True: "cold", False: "warm", None: "cold or warm"}[cold]
        yield Trend(f"loads, {word}", (_load_course(points),))


def ready_s(load: Load) -> float | None:
    """Seconds from the start of a load until it was ready; None where that was not watched."""
    return load.ready - load.started if load.complete and load.ready and load.ready > load.started else None


def _load_course(points: Sequence[Point]) -> Course:
    if len(points) < 2:
        return Course("ready_s", tuple(points))
    earlier = [point.value for point in points[:-1]][-USUAL_OF:]
    usual = math.exp(median(map(math.log, earlier)))
    return Course("ready_s", tuple(points), usual, _scattered(earlier, points[-1].value))


def sentences(trend: Trend) -> Iterator[str]:
    """What changed, in words; nothing where nothing can be told."""
    for course in trend.courses:
        if course.drift not in (Drift.WORSE, Drift.BETTER) or course.change is None:
            continue
        change = f"{abs(course.change) * 100:.0f} % {'more' if course.change > 0 else 'less'}"
        if course.key == "acceptance_length" and course.drift is Drift.WORSE:
            faster = next((one for one in trend.courses if one.key == "tpot_s"), None)
            still = " even though it is not slower" if faster and faster.drift is not Drift.WORSE else ""
            yield f"Regression: an acceptance length {change.replace('less', 'below')} what is usual here{still}: another text, template, drafter or model."
        elif course.drift is Drift.WORSE:
            yield f"Regression: {_NAMES[course.key]} {change} than usual."
        else:
            yield f"Better: {_NAMES[course.key]} {change} than usual."
    news = [course.drift in (Drift.WORSE, Drift.BETTER) for course in trend.courses]
    if trend.changed and any(news):
        yield f"Changed at the same time: {'; '.join(trend.changed)}."


_NAMES = {
    "tpot_s": "time per token is",
    "ttft_s": "the time to the first token is",
    "acceptance_length": "acceptance length is",
    "joules_per_token": "the energy of a token is",
    "ready_s": "a load takes",
}

"""The phases of a start moved forward by what was seen, one event at a time; pure.

A phase that ended is not entered again, with one exception: while the phase after it is only presumed (nothing of its
own was printed), more of the ended one may come, of another worker or of a second capture, and takes its place back.
"""

from __future__ import annotations

from dataclasses import replace

from specconsole.load.phase import OPTIONAL, Phase, plan
from specconsole.load.timeline import Certainty, LoadTimeline, Span


def seen(
    load: LoadTimeline,
    phase: Phase,
    at: float,
    *,
    begins: bool = False,
    start: float | None = None,
    again: bool = False,
) -> LoadTimeline:
    """Take in a sign of a phase, at `at`.

    Args:
        load: what was known.
        phase: the phase that it is a sign of.
        at: when.
        begins: it marks the beginning.
        start: the beginning, where the sign tells it (the clock of a bar).
        again: it shows that the phase goes on, even where an earlier sign had ended it.
    """
    phase = _settled(load, phase)
    spans, vacated = _standing(load.spans, phase)
    if spans is None:
        return load
    now = spans[-1] if spans else None
    if now is not None and now.phase is phase:
        if now.end is not None and not again:
            return load
        if now.end is not None or not now.confirmed:
            spans[-1] = replace(now, end=None, confirmed=True)
        if start is not None and now.begun in (Certainty.PRESUMED, Certainty.UNSEEN):
            _move(spans, max(start, _earliest(spans, -1)), Certainty.TIMED)
        return load if tuple(spans) == load.spans else replace(load, spans=tuple(spans))
    return replace(load, spans=tuple(_opened(load, spans, phase, at, begins=begins, start=start, vacated=vacated)))


def ended(
    load: LoadTimeline,
    phase: Phase,
    at: float,
    *,
    took: float | None = None,
    rank: str = "",
    expected: int | None = None,
    enters: bool = True,
) -> LoadTimeline:
    """Take in the end of a phase, told by `rank` of `expected` workers or engines; None: one line tells it for all.

    Not `enters`: the line ends whatever of the phases up to this one goes on.
    """
    spans, vacated = _standing(load.spans, phase)
    if spans is None:
        return load
    if not spans and not enters and expected is None:
        return replace(load, spans=tuple(_next(load, spans, phase, at)))
    if not spans or (spans[-1].phase is not phase and (enters or vacated is not None)):
        start = at - took if took is not None else None
        entered = phase if enters or phase is not Phase.DRAFTER else Phase.POST
        spans = _opened(load, spans, entered, at, begins=False, start=start, vacated=vacated)
    now = spans[-1]
    ranks = now.ranks if not rank or rank in now.ranks else (*now.ranks, rank)
    waits = expected is not None and len(ranks) < expected
    spans[-1] = replace(now, end=None if waits else at, ranks=ranks, confirmed=True)
    if took is not None and now.begun is Certainty.UNSEEN:
        _move(spans, at - took, Certainty.TIMED)
    return replace(load, spans=tuple(spans if waits else _next(load, spans, phase, at)))


def over(load: LoadTimeline, at: float) -> LoadTimeline:
    """End the phase that goes on: the start is over."""
    if not load.spans or load.spans[-1].end is not None:
        return load
    return replace(load, spans=(*load.spans[:-1], replace(load.spans[-1], end=at)))


def planned(load: LoadTimeline) -> LoadTimeline:
    """Make the plan anew from the command and from what the log has said, which is right where they differ."""
    facts, expected = load.facts, load.expected
    model = expected.model or facts.model
    eager = facts.eager if facts.eager is not None else expected.eager
    method = facts.method if facts.speculation else None if facts.speculation is False else expected.method
    phases = plan(replace(expected, model=model, eager=eager, method=method))
    if facts.engine == "V0":
        phases = tuple(phase for phase in phases if phase is not Phase.COMPILE)
    return load if phases == load.plan else replace(load, plan=phases)


def _settled(load: LoadTimeline, phase: Phase) -> Phase:
    """The same words stand for the warm-up before and after capture, and a download needs something to download."""
    if phase is Phase.WARMUP and any(span.phase.order >= Phase.CAPTURE.order and span.confirmed for span in load.spans):
        return Phase.WARMUP_AFTER
    if phase is Phase.DOWNLOAD and Phase.DOWNLOAD not in load.plan:
        return Phase.WEIGHTS
    return phase


def _standing(before: tuple[Span, ...], phase: Phase) -> tuple[list[Span] | None, Span | None]:
    """The spans without those that were only presumed and that this phase contradicts; None: the phase is over.

    Second: a presumed phase that never came, whose time belongs to what came in its place.
    """
    spans = list(before)
    sure = max((place for place, span in enumerate(spans) if span.confirmed), default=-1)
    if sure >= 0 and spans[sure].phase.order > phase.order:
        return None, None
    vacated = None
    while len(spans) - 1 > sure and spans[-1].phase is not phase:
        skipped = spans[-1].phase.order < phase.order
        if skipped and (spans[-1].phase not in OPTIONAL or spans[-1].phase is Phase.WARMUP):
            break  # a warm-up is presumed only where there is no capture, and then it is silent
        gone = spans.pop()
        vacated = gone if skipped else None
    return spans, vacated


def _opened(
    load: LoadTimeline,
    spans: list[Span],
    phase: Phase,
    at: float,
    *,
    begins: bool,
    start: float | None,
    vacated: Span | None,
) -> list[Span]:
    if not spans and phase is Phase.CONFIG:
        return [Span(phase, load.started)]
    if not spans and phase is Phase.INIT and begins and load.started is not None:
        spans = [Span(Phase.CONFIG, load.started)]  # it lasts from the process's start to this very line
    begun = Certainty.SAID
    if start is not None:
        start, begun = max(start, _earliest(spans)), Certainty.TIMED
    elif vacated is not None:
        between = [p for p in load.plan if vacated.phase.order < p.order < phase.order and p not in OPTIONAL]
        start, begun = vacated.start, Certainty.PRESUMED
        if between:
            spans = [*spans, Span(between[0], start, begun=begun)]
            start = at
    elif begins or spans:
        start = at
    else:
        begun = Certainty.UNSEEN
    if spans and start is not None:
        spans[-1] = replace(spans[-1], end=start)
    return [*spans, Span(phase, start, begun=begun)]


def _earliest(spans: list[Span], until: int | None = None) -> float:
    """When the phase before began: a phase can have begun no earlier."""
    return max((span.start for span in spans[:until] if span.start is not None), default=float("-inf"))


def _move(spans: list[Span], start: float, begun: Certainty) -> None:
    """Set the beginning of the last phase, and with it the end of the one before."""
    spans[-1] = replace(spans[-1], start=start, begun=begun)
    if len(spans) > 1:
        spans[-2] = replace(spans[-2], end=start)


def _next(load: LoadTimeline, spans: list[Span], phase: Phase, at: float) -> list[Span]:
    """Presume the phase that comes after one that has ended."""
    after = next((each for each in load.plan if each.order > phase.order and each is not Phase.DRAFTER), None)
    if after is None or after.order > Phase.API.order:
        return spans
    return [*spans, Span(after, at, begun=Certainty.PRESUMED, confirmed=False)]

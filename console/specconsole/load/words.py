"""What a load's estimate and counts are called, the same on the screen and in a terminal; pure."""

from __future__ import annotations

from specconsole import text
from specconsole.load.estimate import Estimate, Interval
from specconsole.load.timeline import LoadTimeline, Progress, Stage

_HOUR_S = 3600.0


def span_words(interval: Interval) -> str:
    """An interval as people say it: 40–55 s, 41–58 min, 1.4–2.1 h; never one number."""
    low, high = interval.low_s, interval.high_s
    if high < 100:
        return _both(f"{low:.0f}", f"{high:.0f}", "s")
    if high < 100 * 60:
        return _both(f"{low / 60:.0f}", f"{high / 60:.0f}", "min")
    return _both(f"{low / _HOUR_S:.1f}", f"{high / _HOUR_S:.1f}", "h")


def _both(low: str, high: str, unit: str) -> str:
    return f"about {high} {unit}" if low == high else f"{low}–{high} {unit}"


def ready_words(estimate: Estimate, load: LoadTimeline) -> str:
    """When it will be ready, and by what that is known; "" for a start that is over.

    A server whose log says that its start-up is complete is waited for no more: it answers, or is not asked yet.
    """
    if load.stage in (Stage.READY, Stage.FAILED) or load.startup_at is not None:
        return ""
    if estimate.ready is not None:
        return f"ready in {span_words(estimate.ready)} ({basis_words(estimate)})"
    if estimate.phase is not None and load.phase is not None:
        return f"{load.phase.title} done in {span_words(estimate.phase)}; to ready: {estimate.why}"
    return f"ready: {estimate.why}" if estimate.why else ""


def basis_words(estimate: Estimate) -> str:
    """The loads that an estimate rests on: 3 earlier loads, cold."""
    loads = f"{estimate.loads} earlier load{'' if estimate.loads == 1 else 's'}"
    if estimate.cold is not None:
        return f"{loads}, {'cold' if estimate.cold else 'warm'}"
    return f"{loads}, cold and warm" if estimate.parted else loads


def count_words(progress: Progress) -> str:
    """A count with its unit: 23/64 shards."""
    return f"{text.number(progress.done)}/{text.number(progress.total)} {progress.unit}"


def waiting_words(load: LoadTimeline) -> str:
    """Which workers are awaited: 7/8 ranks, waiting for TP3; "" where none is."""
    span = load.span
    if span is None or not span.ranks or span.end is not None or not load.workers:
        return ""
    said = f"{len(span.ranks)}/{load.workers} ranks"
    late = load.waiting
    return f"{said}, waiting for {', '.join(late[:3])}{' …' if len(late) > 3 else ''}" if late else said

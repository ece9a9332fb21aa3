"""The evidence of a live load, from its timeline, what its log says of waiting, and the samples of its host; pure."""

from __future__ import annotations

from specconsole.load.condition import Evidence, Machine
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.evidence import HostEvidence
from specconsole.load.ledger import Ledger
from specconsole.load.pace import Pace
from specconsole.load.sign import Signs
from specconsole.load.timeline import LoadTimeline, Progress, Stage

FIRST_SAMPLE_S = 30.0
"""A host that gives no sample for so long after it was asked first gives none."""


def gather(
    timeline: LoadTimeline,
    signs: Signs,
    ledger: Ledger,
    now: float,
    *,
    followed_s: float | None = None,
    running: int | None = None,
    usual_s: float | None = None,
    utilization: float | None = None,
    machine: Machine | None = None,
    diagnosis: Diagnosis | None = None,
) -> Evidence:
    """Put together what is known of a load at `now` (seconds since the epoch by the host's clock).

    Args:
        followed_s: for how long it has been followed; None: the samples are all that there will be.
        running: requests that the server says it has.
        usual_s: the median of the present phase in earlier starts.
        utilization: the unit's --gpu-memory-utilization.
        machine: what is known of the host beyond the load.
        diagnosis: why it failed, where it has.
    """
    host = ledger.host()
    span = timeline.span
    return Evidence(
        now=now,
        stalled_s=_stalled(timeline, signs, ledger, now),
        observed_s=None if ledger.since is None else now - ledger.since,
        signs=signs,
        phase=timeline.phase,
        pace=pace_of(span.progress) if span and span.progress and span.end is None else None,
        host=host,
        gathering=_gathering(host, followed_s),
        serving=timeline.stage in (Stage.ANSWERING, Stage.READY),
        running=running,
        workers=timeline.workers,
        utilization=utilization,
        usual_s=usual_s,
        machine=machine or Machine(),
        diagnosis=diagnosis,
    )


def _gathering(host: HostEvidence | None, followed_s: float | None) -> bool:
    if host is None:
        return followed_s is not None and followed_s < FIRST_SAMPLE_S
    return host.window_s is None


def pace_of(progress: Progress) -> Pace:
    """How a count of the timeline moves."""
    return Pace(progress.done, progress.total, progress.unit, progress.steps)


def _stalled(timeline: LoadTimeline, signs: Signs, ledger: Ledger, now: float) -> float | None:
    """Seconds since anything moved, as far as was seen: a load that was come to late may have moved unseen."""
    span = timeline.span
    counted = span.progress.at if span and span.progress else None
    seen = [
        at for at in (timeline.started, timeline.moved_at, signs.last_at, counted, ledger.moved_at) if at is not None
    ]
    return max(now - max(seen), 0.0) if seen else None

"""The evidence of a load over its whole time, thinned so that 90 minutes take as much room as three; pure.

Each point sums up the samples since the one before it. When there are `MOST` points every second one is let go of and
points come half as often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from specconsole.gpu.sample import Fleet
from specconsole.load.evidence import between

FIRST_STEP_S = 5.0
"""Seconds between the points of a young load."""
MOST = 360


@dataclass(frozen=True)
class Point:
    """What was measured up to one moment; None: not known."""

    at: float
    """Seconds since the epoch by the host's clock."""
    cpu: float | None = None
    """Cores kept busy by the unit's processes."""
    read: float | None = None
    """Bytes a second that they fetched from storage."""
    received: float | None = None
    """Bytes a second that the host received from the network."""
    util: float | None = None
    """Mean utilisation of the unit's GPUs, 0 to 1."""
    power_w: float | None = None
    """Watts of the unit's GPUs together."""
    memory: int | None = None
    """Bytes used on all GPUs of the host."""
    done: float | None = None
    """Share of the weights that was read, 0 to 1."""


@dataclass(frozen=True)
class Trend:
    """Points of one load, oldest first."""

    points: tuple[Point, ...] = ()
    last: Fleet | None = None
    """The sample that the newest point ends with."""
    step_s: float = FIRST_STEP_S


def feed(trend: Trend, fleet: Fleet, unit: str, done: float | None = None) -> Trend:
    """Take in a sample of the host; `unit` is the load's key in `Fleet.units`, `done` the share of weights read."""
    last = trend.last
    if last is None or fleet.mono < last.mono:
        return replace(trend, last=fleet)
    if fleet.mono - last.mono < trend.step_s:
        return trend
    seen = between(last, fleet, unit)
    utils = [gpu.util for gpu in seen.gpus if gpu.util is not None]
    powers = [gpu.power_w for gpu in seen.gpus if gpu.power_w is not None]
    point = Point(
        fleet.at,
        seen.cpu,
        seen.read,
        seen.received,
        sum(utils) / len(utils) if utils else None,
        sum(powers) if powers else None,
        fleet.memory_used,
        done,
    )
    return _thinned(replace(trend, points=(*trend.points, point), last=fleet))


def _thinned(trend: Trend) -> Trend:
    if len(trend.points) < MOST:
        return trend
    return replace(trend, points=trend.points[1::2], step_s=trend.step_s * 2)

"""Several logs: what each says by itself, whether they tell of one start, and which is told; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from specconsole.explain.attempt import Attempt
from specconsole.explain.log import LogReading
from specconsole.explain.report import LogSeen, Report
from specconsole.load.verdict import Judgement
from specconsole.text import one_line

_WORST = ("mixed", "failed", "stuck", "loading", "stopped", "ready", "")
"""What is told first: a log that is well must not hide one that is not."""
_NAMED = 4
"""Logs that a sentence names."""


def seen(log: LogReading, alone: Report) -> LogSeen:
    """What one log says.

    Args:
        log: the log.
        alone: what is made of it without any other file.
    """
    facts = log.last.timeline.facts
    return LogSeen(
        log.name,
        _state(log, alone),
        alone.headline,
        None if log.mixed else facts.model,
        facts.version,
        log.last.details.numbers.get("port"),
        log.first_at,
        log.last_at,
        alone.advice[:2],
    )


def _state(log: LogReading, alone: Report) -> str:
    if log.mixed:
        return "mixed"
    load, verdict = alone.load, alone.verdict
    if (load is not None and load.failed) or (verdict is not None and verdict.judgement is Judgement.FAILED):
        return "failed"
    if load is not None and load.stopped_by:
        return "stopped"
    if verdict is not None and verdict.alarming:
        return "stuck"
    if (load is not None and load.ready) or alone.serving is not None:
        return "ready"
    return "loading" if begun(log.last) else ""


def begun(attempt: Attempt) -> bool:
    """A start, or a server at work, is in it; what else counts as a log only tells of the host."""
    return bool(attempt.timeline.spans) or attempt.signs.stats_at is not None or attempt.timeline.startup_at is not None


def main(logs: Sequence[LogReading], told: Sequence[LogSeen]) -> int | None:
    """The place of the log that is told: the worst, unless a later start of the same server came after it.

    Of a bundle it is the unit's whose lines are the latest; of logs that fare alike, the one that tells most of a start.
    """
    return max(range(len(logs)), key=lambda place: _rank(place, logs, told), default=None)


def _rank(place: int, logs: Sequence[LogReading], told: Sequence[LogSeen]) -> tuple[float, ...]:
    log, one = logs[place], told[place]
    latest = log.last_at if log.unit and log.last_at else 0.0
    followed = any(_follows(one, other) for other in told if other is not one)
    own = begun(log.last)
    return (
        latest,
        own and not followed,
        own,
        -_WORST.index(one.state) if not log.unit else 0,
        len(log.last.timeline.spans),
        log.lines,
    )


def _follows(one: LogSeen, other: LogSeen) -> bool:
    """The other is a later start of the same server."""
    if one.last_at is None or other.first_at is None or other.first_at < one.last_at:
        return False
    return one.model is not None and one.model == other.model and one.port == other.port


def apart(one: LogSeen, other: LogSeen) -> str:
    """Why two logs are not of one start; "" where nothing says so."""
    for name, ours, theirs in (
        ("model", one.model, other.model),
        ("port", one.port, other.port),
        ("version of vLLM", one.version, other.version),
    ):
        if ours is not None and theirs is not None and ours != theirs:
            return f"{name} {ours} and {theirs}"
    times = (one.first_at, one.last_at, other.first_at, other.last_at)
    if None not in times and one.version and other.version:
        first, last, begins, ends = (at or 0.0 for at in times)
        if begins > last or first > ends:
            return "one began when the other had ended"
    return ""


def unsure(told: Sequence[LogSeen]) -> Iterator[str]:
    """Sentences of what nobody can know from logs that are not of one start."""
    for one, other in list(combinations([log for log in told if log.state], 2))[:_NAMED]:
        if why := apart(one, other):
            yield f"what {one.name} and {other.name} have to do with each other: they are not of one start ({why})"


def others(told: Sequence[LogSeen], *, bundle: bool) -> tuple[LogSeen, ...]:
    """The logs that a headline must name beside the one that is told: those that fare otherwise, or tell of another start."""
    this = next((log for log in told if log.told), None)
    if this is None:
        return ()
    rest = [log for log in told if not log.told and log.state]
    named = [log for log in rest if log.state in ("failed", "mixed") or (not bundle and _differs(this, log))]
    return tuple(sorted(named, key=lambda log: _WORST.index(log.state)))


def _differs(this: LogSeen, other: LogSeen) -> bool:
    return this.state != other.state or bool(apart(this, other))


def sentence(headline: str, told: Sequence[LogSeen], *, bundle: bool) -> str:
    """The headline with the name of the log that it is about, and what the others say."""
    named = others(told, bundle=bundle)
    this = next((log for log in told if log.told), None)
    if this is None or not named:
        return headline
    more = f" {len(named) - _NAMED} logs more are not named here." if len(named) > _NAMED else ""
    # A failure that only the host's log tells comes before a start that seems well.
    first = [log for log in named[:_NAMED] if log.state == "failed" != this.state and not _follows(log, this)]
    rest = [log for log in named[:_NAMED] if log not in first]
    before = "".join(f"{log.name}: {one_line(log.headline, 200)} " for log in first)
    after = "".join(f" Another log, {log.name}: {one_line(log.headline, 200)}" for log in rest)
    return f"{before}{this.name}: {headline}{after}{more}"


def advice(told: Sequence[LogSeen], known: Sequence[str]) -> Iterator[str]:
    """What to do about logs that are not told and failed, beyond what is known already."""
    for log in told:
        if not log.told and log.state in ("failed", "mixed", "stuck"):
            said = log.advice or ("explain it alone, for the whole of it.",)
            yield from (f"{log.name}: {one}" for one in said if one not in known)

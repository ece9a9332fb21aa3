"""One start of a server, placed in the demo's time: which moment of its script is now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from specconsole.host.simulated.page import Values
from specconsole.host.simulated.script import Ending, Request, Row, Sample, Script


@dataclass
class Playback:
    """A server from its start on; it repeats its traffic until it is stopped."""

    script: Script
    started: float
    """Seconds since the epoch."""
    invocation: str
    stopped: float | None = None
    """When SIGTERM came."""
    extra: dict[int, float] = field(default_factory=dict)
    """What requests of the demo's user added to the series of the page, by their place."""
    live: list[Request] = field(default_factory=list)
    """The user's requests that run now."""
    extra_requests: int = 0
    """How many the user has sent so far."""
    carry: dict[str, float] = field(default_factory=dict)
    """What the script remembers from answer to answer."""
    held: float | None = None
    """Since when the script's own traffic is held; None: it flows."""
    lost_s: float = 0.0
    """How long it was held before."""
    _sampled: tuple[tuple[object, ...], Sample] | None = None
    """The last sample, and what it was asked with."""

    @property
    def serves(self) -> bool:
        """It becomes ready."""
        return self.script.ready is not None

    def passed(self, now: float) -> float:
        """Seconds since the start, or at SIGTERM, less those for which the traffic was held."""
        end = min(now, self.stopped if self.stopped is not None else now)
        held = max(end - self.held, 0.0) if self.held is not None else 0.0
        return end - self.started - self.lost_s - held

    def hold(self, now: float) -> None:
        """Let the script's traffic stand still, so that the user's requests are alone."""
        if self.held is None:
            self.held = now

    def flow(self, now: float) -> None:
        """Let it go on."""
        if self.held is not None:
            self.lost_s += now - self.held
            self.held = None

    def round(self, now: float) -> tuple[int, float]:
        """How often the traffic has begun again, and the moment of the script, as if there had been no SIGTERM."""
        passed = self.passed(now)
        if not self.serves or passed < self.script.served:
            return 0, passed
        again, served = self.script.again, self.script.served
        times, rest = divmod(passed - again, served - again)
        return int(times), again + rest

    def ready(self, now: float) -> bool:
        """The API answers."""
        ready, exit_at = self.script.ready, self.exit_at
        over = self.stopped is not None or (exit_at is not None and now >= exit_at)
        return ready is not None and not over and now - self.started >= ready

    @property
    def ending(self) -> Ending | None:
        """How it ends: after SIGTERM, or by itself; None: not in sight."""
        return self.script.fate if self.stopped is None else self.script.stopped(self._stopped_at)

    @property
    def _stopped_at(self) -> float:
        """The moment of the script at which SIGTERM came."""
        return self.round(self.stopped if self.stopped is not None else self.started)[1]

    @property
    def ends_from(self) -> float:
        """The moment that the times of `ending` count from."""
        return self.started if self.stopped is None else self.stopped

    @property
    def exit_at(self) -> float | None:
        """When the main process ends; None: not in sight."""
        return self.ends_from + self.ending.exit_s if self.ending else None

    @property
    def gone_at(self) -> float | None:
        """When the last process is gone; None: not in sight."""
        return self.ends_from + self.ending.gone_s if self.ending else None

    def sample(self, now: float) -> Sample:
        """What the probe would see; a moment is asked for by several, for the GPUs, the processes and the room."""
        asked = (now, self.stopped, self.held, self.lost_s, len(self.live))
        if self._sampled is None or self._sampled[0] != asked:
            self._sampled = (asked, self._sample(now))
        return self._sampled[1]

    def _sample(self, now: float) -> Sample:
        if self.stopped is not None and now > self.stopped:
            return self._grown(self.script.stopping(self._stopped_at, now - self.stopped), now)
        sample = self._grown(self.script.sample(self.round(now)[1]), now)
        if self.held is None:
            return sample
        return replace(self.script.alone(now - self.held, len(self.live)), tree=sample.tree)

    def _grown(self, sample: Sample, now: float) -> Sample:
        """Add to what the processes count what they counted in each round."""
        times = self.round(now)[0]
        if not times:
            return sample
        first, last = self._round_rows
        known = first.keys() & last.keys()
        grown = (_more(row, first[row.pid], last[row.pid], times) if row.pid in known else row for row in sample.tree)
        return replace(sample, tree=tuple(grown))

    @cached_property
    def _round_rows(self) -> tuple[dict[int, Row], dict[int, Row]]:
        """The processes by pid where a round begins, and where it ends."""
        again, served = (self.script.sample(moment).tree for moment in (self.script.again, self.script.served))
        return {row.pid: row for row in again}, {row.pid: row for row in served}

    def cpu_s(self, now: float) -> float:
        """CPU seconds of all processes so far, also of those that ended."""
        times, moment = self.round(now)
        used = self.script.cpu_s(moment)
        if not times:
            return used
        return used + times * (self.script.cpu_s(self.script.served) - self.script.cpu_s(self.script.again))

    def lines(self, since: float, until: float) -> list[tuple[float, bytes]]:
        """The log lines that come in a span of time, unless SIGTERM comes or the traffic is held, with their moments."""
        begin = self.started + self.lost_s
        moments = [(begin + at, line) for at, line in self.script.said]
        if self.serves and until > (end := begin + self.script.served):
            again, served = self.script.again, self.script.served
            period, repeated = served - again, [item for item in self.script.said if item[0] >= again]
            first, last = int(max(since - end, 0) // period), int((until - end) // period)
            for number in range(first, last + 1):
                moments += [(end + number * period + at - again, line) for at, line in repeated]
        return [(at, line) for at, line in moments if since < at <= until]

    def last_lines(self) -> list[tuple[float, bytes]]:
        """What the server prints after SIGTERM."""
        if self.stopped is None or self.ending is None:
            return []
        return [(self.stopped + at, line) for at, line in self.ending.lines]

    def requests(self, now: float) -> list[Request]:
        """The requests that run, the script's and the user's."""
        moment = self.round(now)[1]
        own = [] if self.held is not None else self.script.requests
        return [request for request in own if request.at <= moment < request.end] + self.live

    def values(self, now: float) -> Values:
        """The values of the page; what counts goes on counting when the traffic begins again."""
        times, moment = self.round(now)
        values = self.script.values(moment)
        if times:
            served, again = self.script.values(self.script.served), self.script.values(self.script.again)
            values = tuple(
                value if value is None or not series.counts else value + times * ((end or 0) - (begin or 0))
                for value, series, end, begin in zip(values, self.script.page.series, served, again, strict=True)
            )
        if not self.extra:
            return values
        return tuple(value if value is None else value + self.extra.get(i, 0) for i, value in enumerate(values))


def _more(row: Row, again: Row, served: Row, times: int) -> Row:
    """A row with what it counts grown by so many rounds."""
    return row._replace(
        cpu_s=row.cpu_s + times * (served.cpu_s - again.cpu_s),
        read_chars=_plus(row.read_chars, again.read_chars, served.read_chars, times),
        read_bytes=_plus(row.read_bytes, again.read_bytes, served.read_bytes, times),
        major_faults=_plus(row.major_faults, again.major_faults, served.major_faults, times),
    )


def _plus(value: int | None, again: int | None, served: int | None, times: int) -> int | None:
    if value is None or again is None or served is None:
        return value
    return value + times * (served - again)

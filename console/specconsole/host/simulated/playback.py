"""One start of a recorded server, placed in the demo's time: which moment of the recording is now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from specconsole.host.simulated.page import Page
from specconsole.host.simulated.recording import Recording, Request, Sample, Values

_BACK_S = 0.4
"""GPU memory was back at most 0.383 s after SIGTERM in every recorded stop."""


@dataclass
class Playback:
    """A server from its start on; it repeats its recorded traffic until it is stopped."""

    recording: Recording
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
    beyond: float = 0.0
    """The fraction of a token accepted past a request's end that no request has counted yet."""
    held: float | None = None
    """Since when the recorded traffic is held; None: it flows."""
    lost_s: float = 0.0
    """How long it was held before."""

    @cached_property
    def page(self) -> Page:
        """Its page of metrics."""
        return Page(self.recording)

    @property
    def fails(self) -> bool:
        """The recorded start never became ready."""
        return self.recording.ready is None

    def passed(self, now: float) -> float:
        """Seconds since the start, or at SIGTERM, less those for which the traffic was held."""
        end = min(now, self.stopped if self.stopped is not None else now)
        held = max(end - self.held, 0.0) if self.held is not None else 0.0
        return end - self.started - self.lost_s - held

    def hold(self, now: float) -> None:
        """Let the recorded traffic stand still, so that the user's requests are alone."""
        if self.held is None:
            self.held = now

    def flow(self, now: float) -> None:
        """Let it go on."""
        if self.held is not None:
            self.lost_s += now - self.held
            self.held = None

    def round(self, now: float) -> tuple[int, float]:
        """How often the traffic has begun again, and the moment of the recording, as if there had been no SIGTERM."""
        passed = self.passed(now)
        if self.fails or passed < self.recording.moment("served"):
            return 0, passed
        again, served = self.recording.moment("again"), self.recording.moment("served")
        times, rest = divmod(passed - again, served - again)
        return int(times), again + rest

    def ready(self, now: float) -> bool:
        """The API answers."""
        ready = self.recording.ready
        return ready is not None and self.stopped is None and now - self.started >= ready

    @property
    def served_before_stop(self) -> bool:
        """SIGTERM came when the API answered, as in the recording."""
        ready = self.recording.ready
        return ready is not None and self.stopped is not None and self.stopped - self.started >= ready

    @property
    def exit_at(self) -> float | None:
        """When the main process ends: after SIGTERM, or by itself; None: not in sight."""
        if self.stopped is not None:
            return self.stopped + (self._after_stop("exited") if self.served_before_stop else _BACK_S)
        return self.started + self.recording.moment("exited") if self.fails else None

    @property
    def gone_at(self) -> float | None:
        """When the last process is gone; None: not in sight."""
        if self.stopped is not None and self.served_before_stop:
            return self.stopped + self._after_stop("gone")
        return self.exit_at

    def _after_stop(self, name: str) -> float:
        return self.recording.moment(name) - self.recording.moment("stop")

    def sample(self, now: float) -> Sample:
        """What the probe would have seen."""
        if self.stopped is None or now <= self.stopped:
            sample = self._grown(self.recording.sample(self.round(now)[1]), now)
            return sample if self.held is None else replace(self._alone(now - self.held), tree=sample.tree)
        if self.served_before_stop:
            return self._grown(self.recording.sample(self.recording.moment("stop") + now - self.stopped), now)
        before = self.recording.sample(self.round(self.stopped)[1])
        alive = now < (self.exit_at or 0)
        return replace(self.recording.samples[0], tree=before.tree if alive else (), host=before.host)

    def _alone(self, since_s: float) -> Sample:
        """The card under the user's requests alone: as it was under the recorded main batch, or at rest after ready."""
        begin = self.recording.moment("again")
        if not self.live:
            return self.recording.sample(self.recording.moment("ready") + 0.3)
        end = max(request.end for request in self.recording.requests if request.batch == "main-T0")
        return self.recording.sample(begin + since_s % (end - begin))

    def _grown(self, sample: Sample, now: float) -> Sample:
        """Add to what the processes count (all from the CPU seconds on) what they counted in each round."""
        times = self.round(now)[0]
        if not times:
            return sample
        again, served = (self.recording.sample(self.recording.moment(name)).tree for name in ("again", "served"))
        growth = {
            row[0]: [b - a for a, b in zip(row[4:], later[4:], strict=True)]
            for row in again
            for later in served
            if row[0] == later[0]
        }
        rows = (
            (
                *row[:4],
                *(value + times * more for value, more in zip(row[4:], growth.get(row[0], [0] * 4), strict=True)),
            )
            for row in sample.tree
        )
        return replace(sample, tree=tuple(rows))

    def cpu_s(self, now: float) -> float:
        """CPU seconds of all processes so far, also of those that ended."""
        times, moment = self.round(now)
        again, served = (self.recording.moment(name) for name in ("again", "served")) if times else (0.0, 0.0)
        return self.recording.cpu_s(moment) + times * (self.recording.cpu_s(served) - self.recording.cpu_s(again))

    def lines(self, since: float, until: float) -> list[tuple[float, bytes]]:
        """The log lines that come in a span of time, unless SIGTERM comes or the traffic is held, with their moments."""
        begin = self.started + self.lost_s
        moments = [(begin + at, line) for at, line in self._until_served()]
        if not self.fails and until > (end := begin + self.recording.moment("served")):
            again, served = self.recording.moment("again"), self.recording.moment("served")
            period, repeated = served - again, [item for item in self._until_served() if item[0] >= again]
            first, last = int(max(since - end, 0) // period), int((until - end) // period)
            for number in range(first, last + 1):
                moments += [(end + number * period + at - again, line) for at, line in repeated]
        return [(at, line) for at, line in moments if since < at <= until]

    def _until_served(self) -> list[tuple[float, bytes]]:
        if self.fails:
            return list(self.recording.lines)
        return [item for item in self.recording.lines if item[0] < self.recording.moment("served")]

    def last_lines(self) -> list[tuple[float, bytes]]:
        """What the server printed after SIGTERM; nothing where it was stopped while it loaded: that was not recorded."""
        if not self.served_before_stop or self.stopped is None:
            return []
        stop = self.recording.moment("stop")
        return [(self.stopped + at - stop, line) for at, line in self.recording.lines if at >= stop]

    def requests(self, now: float) -> list[Request]:
        """The requests that run, recorded ones and the user's."""
        moment = self.round(now)[1]
        recorded = [] if self.held is not None else self.recording.requests
        return [request for request in recorded if request.at <= moment < request.end] + self.live

    def values(self, now: float) -> Values:
        """The values of the page; what counts goes on counting when the traffic begins again."""
        times, moment = self.round(now)
        values = self.recording.values(moment)
        if times:
            served, again = (self.recording.values(self.recording.moment(name)) for name in ("served", "again"))
            values = tuple(
                value if value is None or not series.counts else value + times * ((end or 0) - (begin or 0))
                for value, series, end, begin in zip(values, self.page.series, served, again, strict=True)
            )
        if not self.extra:
            return values
        return tuple(value if value is None else value + self.extra.get(i, 0) for i, value in enumerate(values))

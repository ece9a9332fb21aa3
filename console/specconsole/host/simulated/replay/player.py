"""A replay and where it stands: a jump opens the host anew at another moment, so what is shown is what a console saw then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from specconsole.clock import Clock
from specconsole.host.simulated.host import SimulatedHost
from specconsole.host.simulated.replay import bundle
from specconsole.host.simulated.replay.bundle import Bundle
from specconsole.host.simulated.replay.make import LEAD_S, PLAY_S, bounds, pace_of, play
from specconsole.host.simulated.replay.moment import BEFORE_S, moment
from specconsole.host.target import FASTEST, SLOWEST

STEP_S = 300.0
"""A jump by time, in seconds of the log."""
_AGAIN_S = 3.0
"""Back means the event before the one that was shown so many seconds of the viewer ago, as music players have it."""


@dataclass(frozen=True)
class Moment:
    """Something that happened, to jump to."""

    at: float
    """Seconds since the epoch."""
    what: str
    bad: bool = False
    """An error."""


@dataclass
class Player:
    """Plays a bundle, again and again from where the viewer wants it."""

    kept: Bundle
    moments: Callable[[], Sequence[Moment]]
    """What happened in it, in order; asked for at the first jump."""
    at: float
    """Where it is to begin, in seconds since the epoch."""
    pace: float
    """How fast the time of the log passes."""
    said: str = ""
    """What is there, for whoever jumped to it."""
    left: Mapping[str, str] = field(default_factory=dict)
    """How the viewer had the screen."""
    again: bool = False
    """A jump was asked for: the host is to be opened anew."""
    shown: SimulatedHost | None = None
    """The host that was made last."""

    @classmethod
    def of(
        cls,
        parts: Mapping[str, bytes],
        speed: float | None,
        at: str | None,
        moments: Callable[[Bundle], Sequence[Moment]],
    ) -> Player:
        """Read a bundle; arguments, and what is raised, as of `replay.make`."""
        kept = bundle.read(parts)
        begin, end = bounds(kept)
        where = begin if at is None else moment(at, kept, begin, end)
        found: list[Sequence[Moment]] = []

        def once() -> Sequence[Moment]:
            if not found:
                found.append(moments(kept))
            return found[0]

        pace = pace_of(kept, where) if speed is None else speed
        usual = f"{pace:.3g} times as fast, so that the log takes {PLAY_S:g} s; , and . change it, ; pauses"
        return cls(kept, once, where, pace, usual if speed is None and pace > SLOWEST else "")

    def host(self, base: Clock | None = None) -> SimulatedHost:
        """The host from the moment on that was asked for, not yet opened."""
        self.again = False
        self.shown = play(self.kept, self.at, self.pace, base)
        return self.shown

    @property
    def end(self) -> float:
        """When what it plays ends, in seconds since the epoch."""
        return bounds(self.kept)[1]

    @property
    def standing(self) -> str:
        """How it stands now: plays, paused or ended."""
        if self.shown is None or not self.shown.held:
            return "plays"
        return "ended" if self.shown.over else "paused"

    def pause(self) -> str:
        """Let the time of the log stand still, or pass again: why neither can be, in a sentence, or ""."""
        if self.shown is None or self.shown.over:
            return "The replay ends here."
        self.shown.hold(not self.shown.held)
        return ""

    def seek(self, now: float, what: str, by: int) -> str:
        """Ask for a jump from now (seconds since the epoch): why there is none, in a sentence; "" when it is to be made.

        `what` is event, error, time (by so many steps) or speed (twice or half as fast, at this moment).
        """
        if what == "speed":
            return self._faster(now, by)
        if what == "time":
            return self._by(now, by)
        ahead = max(BEFORE_S, self.pace)
        here = now + ahead if by > 0 else now - _AGAIN_S * self.pace
        known = [one for one in self.moments() if one.bad or what == "event"]
        found = [one for one in known if (one.at > here if by > 0 else one.at < here)]
        if not found:
            return f"The replay tells of no {what} {'after' if by > 0 else 'before'} this."
        goal = found[0] if by > 0 else found[-1]
        return self._go(max(goal.at - ahead, bounds(self.kept)[0]), goal.what)

    def _by(self, now: float, by: int) -> str:
        begin, end = bounds(self.kept)
        goal = min(max(now + by * STEP_S, begin), max(end - LEAD_S, begin))
        if (goal - now) * by <= 0:
            return f"The replay {'ends' if by > 0 else 'begins'} here."
        return self._go(goal, "")

    def _faster(self, now: float, by: int) -> str:
        pace = min(max(self.pace * 2.0**by, SLOWEST), FASTEST)
        if pace == self.pace:
            return f"A replay passes {SLOWEST:g} to {FASTEST:g} times as fast."
        self.pace = pace
        begin, end = bounds(self.kept)
        return self._go(min(max(now, begin), end), f"{pace:.3g} times as fast")

    def _go(self, at: float, said: str) -> str:
        self.at, self.said, self.again = at, said, True
        return ""

"""The starts of all units that run, kept up with what the app sees; what the screens show of them is made here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from specconsole.load import trend
from specconsole.load.estimate import Estimate
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.load.trend import Trend
from specconsole.ui.loading import ASKING, NOT_ASKED, Loading

if TYPE_CHECKING:
    from specconsole.clock import Clock
    from specconsole.engine.snapshot import EngineSnapshot
    from specconsole.gpu.sample import Fleet
    from specconsole.history.entry import Load
    from specconsole.host.base import Host
    from specconsole.logs.record import LogRecord
    from specconsole.service.start import Follower
    from specconsole.service.unit import Unit

_Step = tuple[str, Stage, str]


class Starts:
    """One follower for each unit that runs, and for each whose start was seen to end."""

    def __init__(self, host: Host, clock: Clock) -> None:
        self._host, self._clock = host, clock
        self._followers: dict[str, Follower] = {}
        self._trends: dict[str, Trend] = {}
        self._told: dict[str, _Step] = {}
        self._shown: dict[str, Loading] = {}
        self._begun: dict[str, tuple[str, bool]] = {}
        """Of each unit the invocation that was met last, and whether its beginning was seen."""
        self._mute: set[str] = set()
        """Units whose servers cannot be asked: what their logs say has to do."""

    @property
    def followers(self) -> tuple[Follower, ...]:
        """All of them."""
        return tuple(self._followers.values())

    def of(self, key: str) -> Follower | None:
        """The follower of a unit."""
        return self._followers.get(key)

    def units(self, units: Sequence[Unit]) -> None:
        """Take in the units; one that runs is followed from now on, one that is gone no more."""
        from specconsole.service.start import Follower

        for unit in units:
            if unit.state.running and unit.key not in self._followers:
                self._followers[unit.key] = Follower(self._host, unit, self._clock)
        for key in self._followers.keys() - {unit.key for unit in units}:
            del self._followers[key]
        for key, follower in self._followers.items():
            follower.units(units)
            attempt = follower.attempt
            if attempt and self._begun.get(key, ("",))[0] != attempt.invocation:
                self._begun[key] = attempt.invocation, bool(attempt.spans)  # no line of it was read yet

    def mute(self, key: str) -> None:
        """A unit's server cannot be asked."""
        self._mute.add(key)

    def records(self, key: str, records: Sequence[LogRecord]) -> None:
        """Take in a unit's log records."""
        if follower := self._followers.get(key):
            follower.records(records)

    def engine(self, key: str, seen: EngineSnapshot) -> Follower | None:
        """Take in what a unit's server says; the follower where a token is to be generated now.

        Who comes late only looks: a token is generated where the start was watched.
        """
        follower = self._followers.get(key)
        if follower is None:
            return None
        self._mute.discard(key)
        follower.engine(seen)
        return follower if follower.unproven and follower.attempt and not follower.attempt.late else None

    def fleet(self, fleet: Fleet) -> None:
        """Take in a sample of the host."""
        for key, follower in self._followers.items():
            attempt = follower.attempt
            if attempt is None or attempt.stage is not Stage.LOADING:
                continue
            follower.fleet(fleet)
            weights = attempt.weights
            known = self._trends.get(key, Trend())
            self._trends[key] = trend.feed(known, fleet, key, weights.fraction if weights else None)

    def changed(self) -> Iterator[tuple[Unit, LoadTimeline, str]]:
        """What came to another stage since this was asked last, or to another reason why it failed, to be remembered."""
        for key, follower in self._followers.items():
            attempt = follower.attempt
            if attempt is None or self._told.get(key) == (attempt.invocation, attempt.stage, follower.why):
                continue
            if self._told.get(key, ("", attempt.stage, ""))[0] != attempt.invocation:
                self._trends.pop(key, None)
            self._told[key] = (attempt.invocation, attempt.stage, follower.why)
            yield follower.unit, attempt, follower.why

    def loading(self) -> tuple[str, ...]:
        """The units whose servers do not answer yet, and may soon."""
        return tuple(
            key
            for key, follower in self._followers.items()
            if follower.attempt and follower.attempt.stage in (Stage.LOADING, Stage.ANSWERING)
        )

    def view(self, past: Mapping[str, Sequence[Load]]) -> tuple[Loading, ...]:
        """All starts as they are shown now; `past` are earlier loads by unit."""
        known = {key: shown for key, follower in self._followers.items() if (shown := self._view(key, follower, past))}
        self._shown = known
        return tuple(known.values())

    def _view(self, key: str, follower: Follower, past: Mapping[str, Sequence[Load]]) -> Loading | None:
        attempt = follower.attempt
        if attempt is None:
            return None
        follower.past = past.get(key, ())
        before = self._shown.get(key)
        same = before is not None and before.attempt.invocation == attempt.invocation
        if attempt.stage is Stage.LOADING:
            expected = follower.expected(attempt)
        else:
            expected = before.expected if before and same else Estimate()
        standing = follower.standing(attempt)
        still = (follower.unit, attempt, standing.diagnosis)
        if attempt.stage is not Stage.LOADING and before and (before.unit, before.attempt, before.diagnosis) == still:
            return before  # what is over does not change from tick to tick
        return Loading(
            follower.unit,
            attempt,
            follower.now(),
            expected,
            standing.verdict,
            standing.diagnosis,
            self._trends.get(key, Trend()),
            follower.watched == attempt.invocation,
            self._unsure(key, follower, attempt),
        )

    def _unsure(self, key: str, follower: Follower, attempt: LoadTimeline) -> str:
        """Why all that is known of a start is that systemd calls its unit active; "" where more is."""
        if attempt.stage is not Stage.LOADING or follower.watched == attempt.invocation:
            return ""
        if follower.unit.state.active != "active" or self._begun.get(key) == (attempt.invocation, True):
            return ""
        if attempt.note:
            return attempt.note
        if key not in self._mute:
            return ASKING
        return "" if attempt.spans and attempt.startup_at is None else NOT_ASKED

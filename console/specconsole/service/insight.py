"""What is to be thought of a start that is followed: whether it works, and why it failed; kept up with what is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from specconsole.gpu.sample import Fleet
from specconsole.load.case import Case, Known
from specconsole.load.diagnose import Ending
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.phase import Phase
from specconsole.load.repeat import again
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.load.verdict import Verdict
from specconsole.logs.record import LogRecord
from specconsole.service.attend import ending_of, known_of
from specconsole.service.unit import Unit


@dataclass
class Insight:
    """The evidence of a unit's present start, and the diagnosis of the last one that failed."""

    diagnosis: Diagnosis | None = None
    """Why the last start that failed did; one that became ready takes it away."""
    of_attempt: int | None = None
    """Which attempt that was."""
    known: Known = field(default_factory=Known)
    begun: float | None = None
    """When it was asked for a verdict first, in seconds since the epoch by the host's clock."""
    _case: Case | None = None
    _failed: tuple[LoadTimeline, Case, Ending] | None = None
    """The last start that failed: its last lines may come when the next one has begun."""

    def before(self, diagnosis: Diagnosis | None, attempt: int) -> None:
        """Take in why an attempt failed that was over before anybody looked; None: that is not known."""
        if diagnosis is not None:
            self.diagnosis, self.of_attempt = diagnosis, attempt

    def units(self, attempt: LoadTimeline | None, unit: Unit, units: Sequence[Unit]) -> None:
        """Take in the unit's state, and which units stand beside it."""
        self.known = known_of(unit, units)
        if attempt is None:
            return
        if attempt.stage is Stage.READY:
            self.diagnosis = self.of_attempt = self._failed = None
        elif attempt.stage is Stage.FAILED and (
            self._failed is None or self._failed[0].invocation != attempt.invocation
        ):
            self._conclude(attempt, self._of(attempt), ending_of(unit.state))

    def record(self, attempt: LoadTimeline | None, record: LogRecord) -> None:
        """Take in one log record."""
        if attempt is not None:
            self._case = self._of(attempt).feed(record)
        if self._failed is None:
            return
        failed, case, ending = self._failed
        after = case.feed(record)
        if after.clues is not case.clues:
            self._conclude(attempt if attempt and attempt.invocation == failed.invocation else failed, after, ending)

    def fleet(self, attempt: LoadTimeline, fleet: Fleet) -> None:
        """Take in a sample of the host."""
        self._case = self._of(attempt).sampled(fleet)

    def usual(self, seconds: Mapping[Phase, float]) -> None:
        """Take in what each phase usually takes here: what is slow is told by that."""
        self.known = replace(self.known, usual_s=seconds)

    def verdict(self, attempt: LoadTimeline, now: float, running: int | None = None) -> Verdict | None:
        """Judge a start at `now`, in seconds since the epoch by the host's clock; None: it was stopped on request."""
        if attempt.stage is not Stage.FAILED:
            self.begun = now if self.begun is None else self.begun
            said = self._of(attempt).verdict(attempt, now, self.known, followed_s=now - self.begun, running=running)
            return again(said, attempt.number, self.diagnosis) if attempt.stage is Stage.LOADING else said
        if self.diagnosis is None:
            return None
        return self._of(attempt).verdict(attempt, now, self.known, failure=self.diagnosis)

    def _of(self, attempt: LoadTimeline) -> Case:
        case = self._case
        if case is None or (case.unit, case.invocation) != (attempt.unit, attempt.invocation):
            return Case(attempt.unit, attempt.invocation)
        return case

    def _conclude(self, attempt: LoadTimeline, case: Case, ending: Ending) -> None:
        self._failed = attempt, case, ending
        self.diagnosis = case.diagnosis(attempt, ending, self.known)
        self.of_attempt = attempt.number

"""All that was seen of one start that tells whether it works and why it failed; pure.

It is fed with what is followed anyway (log records, samples of the host), and asked for a verdict at any moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from specconsole.gpu.sample import Fleet
from specconsole.load import clue, ledger, sign
from specconsole.load.changed import changed
from specconsole.load.clue import Clues
from specconsole.load.diagnose import Around, Ending, Xid, diagnose
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.evidence import Holder, foreign
from specconsole.load.gather import gather
from specconsole.load.judge import judge
from specconsole.load.ledger import Ledger
from specconsole.load.phase import WITHOUT_DRAFTER, Phase
from specconsole.load.sign import Signs
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.load.verdict import Verdict
from specconsole.logs.record import LogRecord


@dataclass(frozen=True)
class Known:
    """What the unit's command and the history say beforehand."""

    port: int | None = None
    speculative: bool | None = None
    method: str | None = None
    utilization: float | None = None
    """The share of each GPU's memory that it asks for; None: not known, or it asks for a size of its own."""
    baseline: str = ""
    """The unit to fall back to; "" where there is none."""
    worked_before: bool = False
    usual_s: Mapping[Phase, float] = field(default_factory=dict)
    """The median of each phase in earlier starts."""


@dataclass(frozen=True)
class Case:
    """What was seen of one start of a unit."""

    unit: str
    """Its key, in records and in `Fleet.units`."""
    invocation: str
    signs: Signs = field(default_factory=Signs)
    clues: Clues = field(default_factory=Clues)
    ledger: Ledger = field(default_factory=lambda: Ledger(""))
    pids: frozenset[int] = frozenset()
    """The unit's processes in the last sample that had any: who of them still holds a GPU later is an orphan."""

    def feed(self, record: LogRecord) -> Case:
        """Take in one log record; those of another unit or another start change nothing."""
        if record.unit != self.unit or (record.invocation and record.invocation != self.invocation):
            return self
        signs, clues = sign.read(self.signs, record), clue.read(self.clues, record)
        return self if signs is self.signs and clues is self.clues else changed(self, signs=signs, clues=clues)

    def sampled(self, fleet: Fleet) -> Case:
        """Take in a sample of the host."""
        book = self.ledger if self.ledger.unit else Ledger(self.unit)
        tree = fleet.units.get(self.unit)
        pids = frozenset(process.pid for process in tree.processes) if tree else frozenset()
        return replace(self, ledger=ledger.feed(book, fleet), pids=pids or self.pids)

    def verdict(
        self,
        timeline: LoadTimeline,
        now: float,
        known: Known,
        *,
        followed_s: float | None = None,
        running: int | None = None,
        failure: Diagnosis | None = None,
    ) -> Verdict:
        """Judge it at `now`, in seconds since the epoch by the host's clock."""
        usual_s = known.usual_s.get(timeline.phase) if timeline.phase else None
        evidence = gather(
            timeline,
            self.signs,
            self.ledger if self.ledger.unit else Ledger(self.unit),
            now,
            followed_s=followed_s,
            running=running,
            usual_s=usual_s,
            utilization=known.utilization,
            diagnosis=failure,
        )
        return judge(evidence)

    def diagnosis(self, timeline: LoadTimeline, ending: Ending, known: Known) -> Diagnosis | None:
        """Say why it failed; None while it has not, or where it was stopped on request."""
        if timeline.stage is not Stage.FAILED:
            return None
        ending = replace(
            ending, at=timeline.failed_at, stop_asked=timeline.stop_asked, served=timeline.answering_at is not None
        )
        return diagnose(
            self.clues, ending, self._around(timeline, known), timeline.phase if not ending.served else None
        )

    def _around(self, timeline: LoadTimeline, known: Known) -> Around:
        fleet = self.ledger.newest
        method = timeline.facts.method or known.method
        return Around(
            holders=foreign(self.unit, self.pids, fleet) if fleet else (),
            orphans=self._orphans(fleet) if fleet else (),
            xids=tuple(_xids(fleet, timeline)) if fleet else (),
            port=known.port,
            speculative=known.speculative,
            drafter=None if method is None else method not in WITHOUT_DRAFTER,
            baseline=known.baseline,
            worked_before=known.worked_before,
        )

    def _orphans(self, fleet: Fleet) -> Sequence[Holder]:
        return [
            Holder(gpu.index, item.pid, item.name, item.memory, item.unit)
            for gpu in fleet.gpus
            for item in gpu.processes or ()
            if item.pid in self.pids
        ]


def _xids(fleet: Fleet, timeline: LoadTimeline) -> Sequence[Xid]:
    """Errors that the driver reported since the start began."""
    if timeline.started is None:
        return ()
    return [
        Xid(gpu.index, gpu.xid)
        for gpu in fleet.gpus
        if gpu.xid is not None and gpu.xid_age_s is not None and fleet.at - gpu.xid_age_s >= timeline.started
    ]

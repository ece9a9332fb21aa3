"""One load as the screens show it: what is known of it, when it will be ready, what is to be thought of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from specconsole.load.estimate import Estimate
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.load.trend import Trend

if TYPE_CHECKING:
    from specconsole.load.diagnosis import Diagnosis
    from specconsole.load.verdict import Verdict
    from specconsole.service.unit import Unit

ASKING = "asking its server, reading its log…"
NOT_ASKED = "its server cannot be asked, its log is read"


@dataclass(frozen=True)
class Loading:
    """The present start of a unit, or the last one that was seen."""

    unit: Unit
    attempt: LoadTimeline
    now: float = 0.0
    """Seconds since the epoch by the host's clock, when this was put together."""
    expected: Estimate = field(default_factory=Estimate)
    verdict: Verdict | None = None
    """None: there is no evidence yet, or it was stopped on request."""
    diagnosis: Diagnosis | None = None
    """Why it failed."""
    trend: Trend = field(default_factory=Trend)
    refused: bool = False
    """Its server was seen not to answer yet."""
    unsure: str = ""
    """It runs, and that is all: why it is not known whether it loads or serves; "" where it is."""

    @property
    def age_s(self) -> float | None:
        """Seconds since it began, to its end where it is over; None: when it began is not known."""
        until = self.attempt.over_at or self.now
        return until - self.attempt.started if self.attempt.started is not None else None

    @property
    def goes_on(self) -> bool:
        """It is known to load: neither answering, nor over, nor unsure."""
        return self.attempt.stage is Stage.LOADING and not self.unsure

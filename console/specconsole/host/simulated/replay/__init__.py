"""A host as a bundle holds it, played again: the log, the units' states, the samples and the metrics of that time."""

from __future__ import annotations

from specconsole.host.simulated.replay.make import make, span
from specconsole.host.simulated.replay.player import Moment, Player

__all__ = ["Moment", "Player", "make", "span"]

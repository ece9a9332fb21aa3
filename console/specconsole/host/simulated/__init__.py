"""The simulated host: scripts, recorded or written, behind the interfaces of a real host."""

from __future__ import annotations

from specconsole.host.simulated.clock import ScaledClock
from specconsole.host.simulated.host import SimulatedHost
from specconsole.host.simulated.make import make, scenarios

__all__ = ["ScaledClock", "SimulatedHost", "make", "scenarios"]

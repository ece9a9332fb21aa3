"""The demo's host: recorded starts of real vLLM on a real H200, replayed through the interfaces of a real host."""

from __future__ import annotations

from specconsole.host.simulated.clock import ScaledClock
from specconsole.host.simulated.host import SimulatedHost

__all__ = ["ScaledClock", "SimulatedHost"]

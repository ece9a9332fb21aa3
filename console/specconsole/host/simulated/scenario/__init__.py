"""Written scenarios of the simulated host: each a module with one `Scenario`, made of phases and paces."""

from __future__ import annotations

from specconsole.host.simulated.scenario.table import SCENARIOS

__all__ = ["SCENARIOS"]

"""All scenarios, in the order in which they are listed."""

from __future__ import annotations

from specconsole.host.simulated.scenario import (
    crash_loop,
    held_gpu,
    link_drop,
    ngram,
    normal,
    oom,
    slow_disk,
    stuck_nccl,
)
from specconsole.host.simulated.scenario.scenario import Scenario

_ALL = (
    normal.SCENARIO,
    slow_disk.SCENARIO,
    stuck_nccl.SCENARIO,
    oom.SCENARIO,
    crash_loop.SCENARIO,
    link_drop.SCENARIO,
    held_gpu.SCENARIO,
    ngram.PAYS,
    ngram.LOSES,
)

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in _ALL}

"""A load that hangs in its first collective: all GPUs spin at a quarter of their power, and nothing else moves."""

from __future__ import annotations

import math
from dataclasses import replace

from specconsole.host.simulated.scenario import kimi, usual
from specconsole.host.simulated.scenario.load import until
from specconsole.host.simulated.scenario.phase import Card, Phase
from specconsole.host.simulated.scenario.scenario import Scenario, Start

_SAID_S = 7.0
"""The last line comes a second before."""
_SPIN = Phase("spin", math.inf, worker=1.0, state="R", card=Card(util=1.0, watts=141.0), gpu_gib=0.61, at_once=True)


def _course(phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
    before = until(phases, "groups")
    return (*before[:-1], replace(before[-1], seconds=_SAID_S), _SPIN)


SCENARIO = Scenario(
    name="stuck-nccl",
    title="the n-gram unit hangs in its first collective: GPUs 100 % busy at 140 W, PCIe silent, no word after nccl==",
    baseline=usual.BASELINE,
    ngram=Start(usual.NGRAM, usual.LOSING, course=_course),
    opens=kimi.NGRAM,
    speed=10.0,
)

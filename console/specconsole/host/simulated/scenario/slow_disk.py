"""A load that works and is slow: the checkpoint is mapped from storage that gives some 110 MB/s in fits and starts."""

from __future__ import annotations

from specconsole.host.simulated.scenario import usual
from specconsole.host.simulated.scenario.load import SHARDS, Plan, sway
from specconsole.host.simulated.scenario.phase import Card, Phase
from specconsole.host.simulated.scenario.scenario import Scenario, Start

_TOOTH = (0.3, 0.4, 0.5, 1.1, 2.3, 1.4)
"""Read ahead for some shards, then throttled."""
_MEAN_S = 82.0
_RAW = tuple(_TOOTH[number % len(_TOOTH)] * each for number, each in enumerate(sway("slow disk", 1.0)))
_READING = Phase(
    "weights", 0.0, worker=0.11, state="D", faults_s=2_310.0, card=Card(watts=84.0, rx_mb_s=13.0, tx_mb_s=0.1)
)

SCENARIO = Scenario(
    name="slow-disk",
    title="the baseline reads its weights from a disk that gives 110 MB/s: slow for an hour and a half, never stuck",
    baseline=Start(
        Plan(
            shards=tuple(_MEAN_S * SHARDS * each / sum(_RAW) for each in _RAW),
            reading=_READING,
            post=206.0,
            compile=0.0,
            capture=172.0,
        ),
        usual.PLAIN,
    ),
    ngram=usual.SLOWER,
    before=False,
)

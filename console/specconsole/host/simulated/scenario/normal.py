"""All goes well, and takes long: ninety minutes, most of them silent."""

from __future__ import annotations

from specconsole.host.simulated.scenario import kimi, usual
from specconsole.host.simulated.scenario.scenario import Scenario

SCENARIO = Scenario(
    name="normal",
    title="the baseline was stopped, the n-gram unit loads for 90 minutes and then serves",
    baseline=usual.BASELINE,
    ngram=usual.SLOWER,
    opens=kimi.NGRAM,
)

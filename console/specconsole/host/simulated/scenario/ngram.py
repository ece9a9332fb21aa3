"""Two servers to compare: the baseline serves, and the n-gram unit is a swap away."""

from __future__ import annotations

from specconsole.host.simulated.scenario import usual
from specconsole.host.simulated.scenario.scenario import Scenario, Start

LOSES = Scenario(
    name="ngram-loses",
    title="the baseline serves; n-gram speculation makes 9 to 26 % fewer tokens a second",
    baseline=Start(usual.WARM, usual.PLAIN),
    ngram=Start(usual.NGRAM_AGAIN, usual.LOSING),
    serving=True,
    speed=4.0,
)
PAYS = Scenario(
    name="ngram-pays",
    title="the baseline serves; on texts that repeat their prompts n-gram speculation is 1.4 times as fast",
    baseline=Start(usual.WARM, usual.PLAIN),
    ngram=Start(usual.NGRAM_AGAIN, usual.PAYING),
    serving=True,
    speed=4.0,
)

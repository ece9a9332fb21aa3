"""A load like any other, over a link that is lost three times."""

from __future__ import annotations

from specconsole.host.simulated.scenario import usual
from specconsole.host.simulated.scenario.scenario import Scenario, Start

SCENARIO = Scenario(
    name="link-drop",
    title="the baseline loads in a quarter of an hour; the link is lost after 1, 5 and 12 minutes",
    baseline=Start(usual.WARM, usual.PLAIN),
    ngram=usual.SLOWER,
    before=False,
    speed=10.0,
    cuts=((60.0, 45.0), (300.0, 180.0), (720.0, 20.0)),
)

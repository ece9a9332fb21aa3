"""What the scenarios share: the usual loads and the usual pace of Kimi-K2.5 INT4 on eight RTX PRO 6000.

The baseline's pace is the published one: 74 tok/s in one stream, 13.6 ms a token over five prompts.
"""

from __future__ import annotations

from dataclasses import replace

from specconsole.host.simulated.scenario import kimi
from specconsole.host.simulated.scenario.load import Plan, sway
from specconsole.host.simulated.scenario.pace import Pace
from specconsole.host.simulated.scenario.scenario import Start, kinds

DRAFTED, BARE = 2.1, 1.3
"""A step with a draft of five, and one without, as multiples of the baseline's."""

LOSING = Pace(
    kinds(
        (118, 15.6, 0.42, 1.485),
        (104, 13.1, 0.40, 1.82),
        (74, 12.9, 0.14, 1.676),
        (212, 13.2, 0.62, 2.02),
        (436, 13.4, 0.55, 1.957),
    ),
    kimi.K, DRAFTED, BARE,
)  # fmt: skip
"""9 to 26 % fewer tokens a second, the coding prompt from 62.6 to 46.4."""
PAYING = Pace(
    kinds(
        (118, 15.6, 0.80, 3.6),
        (104, 13.1, 0.60, 2.9),
        (74, 12.9, 0.35, 2.2),
        (212, 13.2, 0.92, 4.4),
        (436, 13.4, 0.85, 3.4),
    ),
    kimi.K, DRAFTED, BARE,
)  # fmt: skip
"""Texts that repeat their prompts: 1.4 times as fast over all, and prose slower all the same."""
PLAIN = Pace(LOSING.kinds)

WARM = Plan(shards=sway("warm", 6.1), post=182.0, compile=0.0, profile=31.0, capture=148.0)
"""A quarter of an hour: half of the weights are still in memory, the graphs are compiled."""
COLD = Plan(shards=sway("cold", 16.4), post=206.0, compile=0.0, profile=48.0, capture=172.0)
"""The 25 to 30 minutes that are expected."""
NGRAM = Plan(
    tokens=kimi.K, shards=sway("ngram", 22.66), init=53.0, post=662.0, compile=1124.0, profile=260.0, kernels=200.0,
    capture=1760.9,
)  # fmt: skip
"""Ninety minutes: everything is compiled and captured anew, and half an hour of it is the silence of the capture."""
NGRAM_AGAIN = replace(
    NGRAM, shards=sway("again", 20.3), post=182.0, compile=284.0, profile=48.0, kernels=0.0, capture=370.0
)
"""The same when its kernels are compiled."""

BASELINE = Start(COLD, PLAIN)
SLOWER = Start(NGRAM, LOSING)

"""What a profile expects of its baseline beside what a run has measured; pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from specconsole.bench.run import BenchRun
from specconsole.bench.side import ONE_START_BOUND
from specconsole.bench.stats import ratio
from specconsole.profile import Expectations


def differs(run: BenchRun, expect: Expectations) -> Iterator[str]:
    """What of a baseline's run is further from the expectation than two starts of a unit are by chance, in a sentence each.

    Nothing is said of several streams, of longer contexts, and of speculation: the expectation is of one stream of the baseline.
    """
    if run.identity.arm != "baseline" or run.spec.concurrency != 1 or run.spec.context:
        return
    timing = run.timing()
    tpot_ms = None if timing.tpot_s is None else timing.tpot_s * 1000
    for what, found, wanted, unit in (
        ("TPOT", tpot_ms, expect.tpot_ms, "ms"),
        ("The speed of one stream", timing.stream_tok_s, expect.tok_s, "tok/s"),
    ):
        change = ratio(found, wanted)
        if change and found is not None and abs(math.log(change)) > ONE_START_BOUND:
            word = "above" if change > 1 else "below"
            yield f"{what} is {found:.3g} {unit}, {abs(change - 1) * 100:.0f} % {word} the {wanted:g} {unit} that the profile expects."

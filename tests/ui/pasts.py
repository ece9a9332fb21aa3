"""Frozen histories for the screens: two arms over several starts, loads and swaps of every outcome."""

from __future__ import annotations

from dataclasses import replace

from specconsole.bench.run import BenchRun
from specconsole.history.entry import Experiment, Load, Swap
from tests.bench.test_compare import base, spec
from tests.ui.scene import BASE, NGRAM

HOST = "gpu-1"
AT = 1_700_000_000.0


def at(run: BenchRun, start: str, seconds: float, unit: str) -> BenchRun:
    """The run of a start of a unit, at a moment of the story."""
    identity = replace(run.identity, invocation=start * 32, unit=unit, host=HOST)
    return replace(run, identity=identity, started=AT + seconds)


def arms() -> tuple[BenchRun, ...]:
    """Baseline, n-gram, n-gram, baseline: speculation is 20 % quicker."""
    return (
        at(base(10.0, 10.2), "a", 0.0, BASE),
        at(spec(24.0, 24.4), "b", 3600.0, NGRAM),
        at(spec(24.1, 24.5), "c", 7200.0, NGRAM),
        at(base(10.1, 10.3), "d", 10800.0, BASE),
    )


LOADS = (
    Load(HOST, NGRAM, "b" * 32, AT + 3000.0, "ready", answering=AT + 3500.0, ready=AT + 3520.0, shards=64, weights_s=310.0, cold=True,
         phases={"weights": 310.0, "compile": 120.0}, fingerprint={"gpus": ["H200"], "vllm": "0.16.0"}),
    Load(HOST, BASE, "a" * 32, AT - 300.0, "ready", ready=AT - 40.0, cold=True),
    Load(HOST, NGRAM, "e" * 32, AT - 9000.0, "failed", ended=AT - 8900.0, reason="exit-code: [/b] CUDA out of memory"),
    Load("elsewhere", BASE, "f" * 32, AT - 99000.0, "answering"),
)  # fmt: skip
SWAPS = (
    Swap(HOST, "s1", NGRAM, "swap", AT + 2900.0, BASE, AT + 3530.0, "committed", "commit", "ngram serves",
         ({"name": "stop", "state": "done", "began": AT + 2900.0, "ended": AT + 2930.0}, {"name": "watch", "state": "done"})),
    Swap(HOST, "s2", NGRAM, "swap", AT - 9100.0, BASE, AT - 8000.0, "rolled_back", "watch", "it failed"),
)  # fmt: skip
NIGHT = Experiment(
    HOST, "e1", BASE, "does-it-pay", AT - 600.0, AT + 11400.0, "finished", "", "ngram", (BASE, NGRAM),
    ({"arm": "ngram k=5", "unit": NGRAM, "said": "pays, 20.1 % less time per token", "ratio": 0.799},),
    (f"{NGRAM} (ngram k=5): Speculation pays (20.1 % less time per token (0.799x); 95 %: 0.760 to 0.840).", "It ended on ngram: as planned."),
    tuple({"arm": arm, "state": "done", "why": "", "began": AT + began, "ended": AT + began + 900.0,
           "runs": [{"unit": unit, "invocation": start * 32, "number": 0}]}
          for arm, unit, start, began in (("baseline", BASE, "a", -600.0), ("ngram", NGRAM, "b", 3000.0), ("ngram", NGRAM, "c", 6600.0), ("baseline", BASE, "d", 10200.0))),
    'order = "A-B-B-A"\nend = "winner"\n\n[arms.baseline]\nunit = "vllm-kimi-k25"\n\n[arms.ngram]\nk = 5\nspeculative = { method = "ngram" }\n',
)  # fmt: skip
"""The experiment that made the runs of `arms`."""

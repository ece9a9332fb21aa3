"""One experiment of four steps as the screen is told of it: loading, measuring, a failed arm, over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from specconsole.bench.arms import sort
from specconsole.experiment.asked import to_json
from specconsole.experiment.carry import View
from specconsole.experiment.plan import named
from specconsole.experiment.prepare import Forecast, Prepared
from specconsole.experiment.watch import Figures, Standing, standing
from specconsole.ui.feed.experiment import Reported
from tests.ui.pasts import arms
from tests.ui.scene import units

AT = 1_700_000_000.0
NGRAM, BASE = units()
MADE = Prepared(
    named("does-it-pay"),
    "gpu-1",
    {"baseline": BASE, "ngram": NGRAM},
    (BASE, NGRAM),
    refused={"eagle3": "arm eagle3: EAGLE-3 for this model needs vLLM 0.18 or newer; this host has 0.16.0"},
    loads_s={BASE.key: (1560.0, 1720.0), NGRAM.key: (5280.0, 5640.0)},
    forecast=Forecast(7200.0, 9000.0, bench_s=(300 / 1.4, 300 * 1.4)),
)
PLAN: Mapping[str, Any] = {
    "name": "does-it-pay",
    "end": "baseline",
    "soak_s": 60,
    "steps": [{"arm": arm, "runs": [{}]} for arm in ("baseline", "ngram", "broken", "baseline")],
    "about": {
        "refused": dict(MADE.refused),
        "loads_s": {"baseline": [1560.0, 1720.0], "ngram": [5280.0, 5640.0], "broken": [900.0]},
        "bench_s": [300 / 1.4, 300 * 1.4],
    },
}


def step(minutes: float, number: int, state: str, **more: Any) -> dict[str, Any]:
    arm = PLAN["steps"][number]["arm"]
    return {"event": "step", "at": AT + 60 * minutes, "number": number, "arm": arm, "state": state, **more}


def cell(minutes: float, number: int, state: str, place: int = 0, **more: Any) -> dict[str, Any]:
    return {**step(minutes, number, state, **more), "event": "cell", "cell": place, "invocation": "a"}


def heat(*degrees: float | None) -> list[list[float | None]]:
    return [[index, one, 288.0, 2400.0] for index, one in enumerate(degrees)]


FIRST = (
    {"event": "begin", "at": AT, "resumed": False},
    step(0, 0, "begin"),
    step(0.1, 0, "swapped", text="baseline serves already", invocation="a"),
    step(1.1, 0, "soaked", heat=heat(41, 44)),
    cell(1.1, 0, "begin"),
    cell(6.2, 0, "done"),
    step(6.2, 0, "done", heat=heat(58, 61)),
    step(6.3, 1, "begin"),
)
RUNNING = (
    *FIRST,
    step(96.0, 1, "swapped", text="ngram serves", invocation="b"),
    step(97.0, 1, "soaked", heat=heat(43, None)),
    cell(97.0, 1, "begin"),
)
FAILED = (
    *RUNNING,
    cell(103.0, 1, "done"),
    step(103.0, 1, "done", heat=heat(59, 62)),
    step(103.1, 2, "begin"),
    step(110.0, 2, "failed", why="the swap ended as failed: [/b] CUDA out of memory"),
    step(110.1, 3, "begin"),
)
ENDED = (
    *FAILED,
    step(138.0, 3, "swapped", text="baseline serves", invocation="d"),
    step(139.0, 3, "soaked", heat=heat(44, 46)),
    cell(139.0, 3, "begin"),
    cell(144.0, 3, "done"),
    step(144.0, 3, "done", heat=heat(58, 60)),
    {"event": "choice", "at": AT + 8645, "arm": "baseline", "why": "as planned"},
    {"event": "end", "at": AT + 8650, "outcome": "finished", "why": ""},
)
FIGURES = {
    (0, 0): Figures(15, 15, 0.01362, 1.0, None, 21.4, "finished"),
    (1, 0): Figures(7, 15, 0.01655, 1.69, 0.28, None),
}


def at(minutes: float, events: tuple[dict[str, Any], ...], **more: Any) -> Standing:
    now = {"at": AT + 60 * minutes, "text": more.pop("text", "measuring"), "detail": more.pop("detail", "")}
    figures = more.pop("figures", FIGURES)
    return standing("e1", PLAN, View(events, now, lives=True, **more), figures)


LOADING = at(44.5, FIRST, text="swap: watch", detail="weights 12/64, 8 ranks", figures={(0, 0): FIGURES[0, 0]})
MEASURING = at(99.0, RUNNING)
OVER = at(145.0, ENDED, over=True)
RUNS = arms()
REPORTED = Reported(
    "e1",
    ("vllm-kimi-k25-ngram.service (ngram k=5): Speculation does not pay [/b].", "It ended on baseline: as planned."),
    sort(RUNS).comparisons,
    "/home/me/.local/state/specconsole/experiments/does-it-pay-e1/report.md",
    runs=(1, 2, 3, 4),
)


def of_cells(events: tuple[dict[str, Any], ...], minutes: float, **more: Any) -> Standing:
    """The same experiment, which asks three numbers of streams at once."""
    specs = [replace(RUNS[0].spec, concurrency=streams) for streams in (1, 8, 32)]
    plan = {
        **PLAN,
        "steps": [{**one, "runs": [{}, {}, {}]} for one in PLAN["steps"]],
        "about": {**PLAN["about"], "asked": to_json(specs)},
    }
    figures = {(0, 0): FIGURES[0, 0], (0, 1): replace(FIGURES[0, 0], tpot_p50_s=0.0284), (1, 0): FIGURES[1, 0]}
    now = {"at": AT + 60 * minutes, "text": "measuring", "detail": "1 at once"}
    return standing("e1", plan, View(events, now, lives=True, **more), figures)


FAILING = "the run ended as failed: HTTP 400: 131,328 tokens are too many"
IN_CELLS = (
    *FIRST[:5],
    cell(2.1, 0, "done"),
    cell(2.1, 0, "begin", 1),
    cell(4.1, 0, "done", 1),
    cell(4.1, 0, "begin", 2),
    cell(6.1, 0, "failed", 2, why=FAILING),
    *FIRST[6:],
    *RUNNING[len(FIRST) :],
)

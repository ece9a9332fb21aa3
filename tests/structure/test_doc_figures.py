"""Figures, names and tables in the documentation are those of the program."""

from __future__ import annotations

import ast
import re

import pytest
from tests.structure import doc_text
from tests.structure.doc_text import ROOT

from specconsole.bench import breakeven, check, gate, judge, selftest, side, spec, trend
from specconsole.engine import scrapes, snapshot, watch
from specconsole.experiment import plan
from specconsole.host import kept
from specconsole.load import condition, estimate, evidence, pace, pool
from specconsole.load import judge as verdict
from specconsole.load.phase import Phase
from specconsole.load.signature import SIGNATURES
from specconsole.remote import (
    drive_folder,
    drive_rule,
    drive_stamp,
    experiment_begin,
    experiment_rule,
    lease,
    swap_judge,
    swap_step,
    swap_verify,
    swap_watch,
)
from specconsole.service import plan as swaps
from specconsole.ui import freshness

DOCS = ROOT / "docs"
MINUTE, DAY = 60.0, 86400.0
FIGURES: tuple[tuple[str, str, tuple[float, ...]], ...] = (
    ("concepts.md", "or is silent for {:g} s; then it ends every child", (lease.SILENCE_S,)),
    ("concepts.md", "untouched for {:g} days, the next one begins", (experiment_begin.STALE_S / DAY,)),
    ("concepts.md", "*stale* after {:g} s of silence beyond a round trip, then dialled again, in {:g} to {:g} s",
     (kept.STALE_S, kept.BACKOFF_S[0], kept.BACKOFF_S[-1])),
    ("concepts.md", "every {:g} s; health and models", (snapshot.INTERVAL_S,)),
    ("concepts.md", "health and models every {:g} s; every {:g} s while nothing answers", (watch.HEALTH_S, watch.STARTING_S)),
    ("concepts.md", "over the last {:g} s, latencies over the last {:g} s", (scrapes.RATES_S, scrapes.LATENCIES_S)),
    ("verdict.md", "the signs of a hang, for {:g} s or more", (condition.WATCH_S,)),
    ("verdict.md", "and {:g} s or more without any movement, of which the console has seen {:g} s itself",
     (condition.STUCK_S, verdict.OBSERVED_S)),
    ("verdict.md", "stuck, after {:g} s; after {:g} s where no GPU is seen", (verdict.COLLECTIVE_S, condition.STUCK_S)),
    ("verdict.md", "no line of statistics came for {:g} s", (condition.STATS_S,)),
    ("verdict.md", "the whole will take over {:g} min", (pace.SLOW_S / MINUTE,)),
    ("verdict.md", "about {:g} s apart ({:g} s at least)", (evidence.WINDOW_S, evidence.SHORTEST_S)),
    ("verdict.md", "`config` {:g} min, `init` {:g} min, `post` {:g} min, `compile` {:g} min",
     tuple(condition.PATIENCE_S[phase] / MINUTE for phase in (Phase.CONFIG, Phase.INIT, Phase.POST, Phase.COMPILE))),
    ("verdict.md", "are expected shorter ({:g} %", (pool.QUICKER * 100,)),
    ("swap.md", "running or waiting, {:g} s if not told otherwise", (swaps.DRAIN_S,)),
    ("swap.md", "three times its TimeoutStopSec and {:g} s ({:g} s where that is endless)", (swap_step.STOP_SLACK_S, swap_step.STOP_S)),
    ("swap.md", "After {:g} s it asks whether to end exactly those", (swap_verify.GONE_S,)),
    ("swap.md", "Without an answer within {:g} min it is a no", (swap_verify.ASK_S / MINUTE,)),
    ("swap.md", "after {:g} s only a reboot helps", (swap_verify.STUCK_S,)),
    ("swap.md", "Memory that no process holds is waited for, {:g} s,", (swap_verify.MEMORY_S,)),
    ("swap.md", "differ by less than {:g} MiB", (swap_judge.STEADY / swap_judge.MIB,)),
    ("swap.md", "stay used on that GPU, and {:g} MiB more; where none was seen, {:g} GiB",
     (swap_judge.FLOOR_SLACK / swap_judge.MIB, swap_judge.NO_FLOOR_SLACK / swap_judge.GIB)),
    ("swap.md", "it does not begin within {:g} s", (swap_step.QUEUED_S,)),
    ("swap.md", "not started again by systemd within {:g} min", (swap_watch.AGAIN_S / MINUTE,)),
    ("swap.md", "no token in {:g} tries", (swap_watch.PROOFS,)),
    ("swap.md", "and {:g} hours where none is known", (swaps.UNKNOWN_LOAD_S / 3600,)),
    ("measuring.md", "until two in turn agree within {:g} % TPOT", (drive_rule.WARMUP_AGREE * 100,)),
    ("measuring.md", "below {:g} % error of TPOT on the worst stream, a tenth of a step at the 99th percentile, {:g} % bunched chunks and {:g} % of a core",
     (selftest.TPOT_ERROR * 100, selftest.BUNCHED * 100, selftest.CPU_SHARE * 100)),
    ("measuring.md", "drift apart by more than {:g} ms", (drive_stamp.STEADY_NS / 1e6,)),
    ("measuring.md", "`cache` | | over {:g} % of the prompt tokens", (check.CACHE_SHARE * 100,)),
    ("measuring.md", "differ by more than {:g} % | within {:g} %", (check.AGREE * 100, check.AGREE * 100)),
    ("measuring.md", "late by more than {:g} % of a step", (check.LATE_SHARE * 100,)),
    ("measuring.md", "the larger of {:g} % and the pooled deviation", (judge.START_DEVIATION * 100,)),
    ("measuring.md", "| margin | {:g} % if not told otherwise", (judge.MARGIN * 100,)),
    ("measuring.md", "| q | {:g}; Student's t", (judge.Z,)),
    ("measuring.md", "Below {:g} prompts only these prompts", (side.FEW,)),
    ("measuring.md", "or by more than {:g} % in prefix-cache hits", (gate.CACHE_MARGIN * 100,)),
    ("measuring.md", "whose TPOT is within {:g} % of the best measured", (breakeven.NEAR_BEST * 100,)),
    ("measuring.md", "an acceptance length that fell by {:g} % is a regression", (trend.LENGTH_LOSS * 100,)),
    ("experiments.md", "one step each, {:g} at most", (plan.MOST_STEPS,)),
    ("experiments.md", "no more than {:.1f} % ({:g} times the {:g} % that starts differ by",
     (experiment_rule.EXPLAINED * experiment_rule.DEVIATION * 100, experiment_rule.EXPLAINED, experiment_rule.DEVIATION * 100)),
    ("experiments.md", "what nobody has touched for {:g} days", (experiment_begin.STALE_S / DAY,)),
    ("profiles.md", "| `drain_s` | number above 0 | `{:g}` |", (swaps.DRAIN_S,)),
    ("profiles.md", "streams at once, {:g} at most", (spec.MOST_STREAMS,)),
)  # fmt: skip
"""Page, words, and the constants that stand in them."""


@pytest.mark.parametrize(("page", "words", "values"), FIGURES, ids=[f"{page}: {words}" for page, words, _ in FIGURES])
def test_a_figure_is_the_program_s(page: str, words: str, values: tuple[float, ...]) -> None:
    assert words.format(*values) in doc_text.plain(DOCS / page)


def test_what_is_told_in_words_alone() -> None:
    assert (estimate.LOW, estimate.HIGH) == (0.1, 0.9), "four of five loads"
    assert freshness.INTERVALS == 3, "three of its intervals"
    assert drive_folder.KEEP_S == DAY, "a day after its end"
    assert swap_watch.FAILURES == 3, "fails three times at all"


def rows(page: str) -> list[str]:
    return re.findall(r"^\| ((?:`[^`]+`(?:, )?)+) \|", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)


def names(page: str) -> set[str]:
    return {name for row in rows(page) for name in re.findall(r"`([^`]+)`", row)}


def test_every_phase_and_signature_is_there() -> None:
    assert names("verdict.md") == {phase.value for phase in Phase} | {row.name for row in SIGNATURES}


def test_every_check_of_a_run_is_there() -> None:
    calls = [
        node
        for node in ast.walk(ast.parse((ROOT / "console/specconsole/bench/check.py").read_text()))
        if isinstance(node, ast.Call)
    ]
    made = [call.args[1] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Remark"]
    codes = {code.value for code in made if isinstance(code, ast.Constant)}
    assert len(codes) > 20
    assert names("measuring.md") == codes

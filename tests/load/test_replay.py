"""The starts recorded on an H200, replayed with their real times, against the durations that were measured beside them.

How our phases map to the rows of that table (seconds spent, by the recorder's own reading of the same starts):

| ours | rows of the table |
|---|---|
| config | API process imported, first log line + engine process up |
| init | device and distributed init |
| weights | parameters allocated, shard bar at 0 % + weights read |
| post | model built |
| compile | Dynamo trace + Inductor compile or cache load |
| profile | profiling run + memory profile, KV cache sized |
| kv_cache | KV cache allocated, first graph line |
| capture | CUDA graphs captured |
| warmup_after | kernel warm-up + engine ready |
| api | HTTP up + /health and /v1/models 200 |
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from specconsole.host.simulated import recording
from specconsole.load import feed as load
from specconsole.load.phase import Phase
from specconsole.load.timeline import Stage
from tests.load.log import METHODS, UNIT, expected_of, records, replayed

TABLE = {
    "dense-baseline": (51.15, 2.38, 14.63, 0.77, 30.62, 3.11, 0.74, 5.53, 20.53, 1.08),
    "dense-ngram": (46.90, 1.90, 4.08, 0.89, 23.62, 13.61, 0.79, 6.63, 0.50, 0.82),
    "moe-baseline": (69.50, 1.51, 19.74, 0.78, 41.75, 17.39, 0.94, 31.49, 0.85, 1.00),
    "moe-ngram": (38.83, 1.57, 17.27, 0.96, 36.54, 20.11, 0.85, 22.67, 0.66, 0.84),
}
PHASES = ("config", "init", "weights", "post", "compile", "profile", "kv_cache", "capture", "warmup_after", "api")
SERVED = [name for name in recording.names() if name != "dense-dies"]


@pytest.mark.parametrize("name", TABLE)
def test_every_phase_lasts_as_long_as_it_was_measured(name: str) -> None:
    timeline = replayed(name)
    took = {span.phase.value: span.seconds for span in timeline.spans}
    assert tuple(took)[:-1] == PHASES
    for phase, measured in zip(PHASES, TABLE[name], strict=True):
        assert took[phase] == pytest.approx(measured, abs=1.0), phase


@pytest.mark.parametrize("name", SERVED)
def test_phases_follow_each_other_without_gap_or_overlap(name: str) -> None:
    spans = replayed(name).spans
    assert [span.phase.order for span in spans] == sorted({span.phase.order for span in spans})
    for before, after in pairwise(spans):
        assert before.end == after.start


@pytest.mark.parametrize("name", recording.names())
def test_at_no_moment_does_a_phase_or_a_count_go_back(name: str) -> None:
    timeline = load.begin(UNIT, "inv", 0.0, expected_of(name), at=0.0)
    order, counted = -1, 0
    for record in records(recording.load(name).lines):
        timeline = load.feed(timeline, record)
        sure = max(span.phase.order for span in timeline.spans if span.confirmed)
        assert sure >= order
        order = sure
        if bar := timeline.weights:
            assert bar.done >= counted
            counted = bar.done


@pytest.mark.parametrize("name", SERVED)
def test_the_plan_is_what_comes(name: str) -> None:
    timeline = replayed(name)
    first = load.begin(UNIT, "inv", 0.0, expected_of(name))
    assert first.plan == timeline.plan
    assert tuple(span.phase for span in timeline.spans) == timeline.plan[:-1]
    assert timeline.ahead == (Phase.READY,)


def test_capture_is_silent_in_the_journal_and_shown_as_what_runs() -> None:
    timeline = replayed("moe-baseline", until=160.0)
    span = timeline.span
    assert span
    assert (span.phase, span.progress, span.confirmed) == (Phase.CAPTURE, None, False)
    done = replayed("moe-baseline").of(Phase.CAPTURE)
    assert done
    assert done.progress
    assert (done.progress.done, done.progress.total, done.progress.unit) == (102, 102, "graphs")


def test_the_warm_up_after_capture_is_a_phase_of_its_own() -> None:
    span = replayed("dense-baseline", until=120.0).span
    assert span
    assert span.phase is Phase.WARMUP_AFTER
    assert span.start == pytest.approx(108.94, abs=0.01)


def test_the_drafter_has_its_own_phase_and_compiles_within_the_profile() -> None:
    timeline = replayed("moe-eagle3")
    drafter, profile = timeline.of(Phase.DRAFTER), timeline.of(Phase.PROFILE)
    assert drafter
    assert profile
    assert drafter.progress
    assert (drafter.progress.done, drafter.progress.total) == (1, 1)
    assert timeline.weights
    assert timeline.weights.done == 16
    assert profile.start == pytest.approx(129.3, abs=0.1)
    assert profile.end == pytest.approx(155.8, abs=0.1)
    assert (timeline.facts.method, timeline.facts.k, timeline.facts.architectures) == (
        "eagle3", 3, ("Qwen3MoeForCausalLM", "LlamaForCausalLMEagle3"),
    )  # fmt: skip


@pytest.mark.parametrize("name", SERVED)
def test_facts_of_a_recorded_start(name: str) -> None:
    facts = replayed(name).facts
    assert (facts.version, facts.engine, facts.eager, facts.tensor_parallel) == ("0.24.0", "V1", False, 1)
    assert (facts.speculation, facts.method) == (name in METHODS, METHODS.get(name))
    ngram = METHODS.get(name) == "ngram"
    assert facts.async_scheduling is (not ngram and name != "moe-sync")
    assert ("ngram" in (facts.async_why or "")) is ngram
    assert facts.ineffective == (("min_p", "logit_bias") if name in METHODS else ())
    assert facts.runner == ("V2" if name == "dense-baseline" else "V1")
    assert facts.compile_cached is (name == "moe-sync")
    assert facts.kv_tokens
    assert facts.concurrency


def test_notices_name_the_line() -> None:
    notices = {notice.kind: notice for notice in replayed("dense-ngram").notices}
    assert list(notices) == ["async_off", "runner_fallback", "ineffective"]
    assert notices["async_off"].line.startswith("Async scheduling not supported with ngram-based")
    assert 0 < notices["async_off"].seq < notices["ineffective"].seq


def test_a_failing_start_stops_where_it_failed() -> None:
    timeline = replayed("dense-dies")
    assert timeline.error == "ModuleNotFoundError: No module named 'flashinfer'"
    timeline = load.failed(timeline, 97.0, "it exited with an error")
    span = timeline.span
    assert span
    assert (span.phase, span.end, timeline.stage) == (Phase.COMPILE, 97.0, Stage.FAILED)
    assert timeline.loaded_at == pytest.approx(85.64, abs=0.01)


def test_attaching_late_gives_what_can_be_known() -> None:
    timeline = load.begin(UNIT, "inv", 0.0, expected_of("moe-baseline"), at=80.0)
    assert timeline.phase is None
    for record in records((at, line) for at, line in recording.load("moe-baseline").lines if at > 80.0):
        timeline = load.feed(timeline, record)
    weights, compiled = timeline.of(Phase.WEIGHTS), timeline.of(Phase.COMPILE)
    assert weights
    assert weights.start == pytest.approx(72.0, abs=1.0), "the bar says since when it counts"
    assert compiled
    assert compiled.seconds == pytest.approx(41.75, abs=1.0)
    assert timeline.of(Phase.CONFIG) is None

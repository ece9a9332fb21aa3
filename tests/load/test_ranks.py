"""Starts of several workers and engines: ranks are counted, and the one that lags has a name."""

from __future__ import annotations

import pytest

from specconsole.load import feed as load
from specconsole.load.phase import Expectation, Phase
from specconsole.load.worker import label_of
from specconsole.logs.record import LogRecord
from tests.load.log import read

TP4 = Expectation(model="/m", workers=4, engines=1)
OLD = "INFO 06-16 10:48:14 [x.py:1] "


def each(text: str, ranks: range, form: str = "(VllmWorker rank={0} pid={1}) ") -> list[str]:
    return [form.format(rank, 100 + rank) + OLD + text for rank in ranks]


def old_start(*, weights: int, loaded: int = 0, version: str = "0.9.2") -> str:
    lines = [
        OLD
        + f"Initializing a V1 LLM engine (v{version}) with config: model='/m', speculative_config=None, tensor_parallel_size=4"
    ]
    lines += each("rank 0 in world size 4 is assigned as DP rank 0, PP rank 0, TP rank 0", range(4))
    lines += each("Starting to load model /m...", range(4))
    lines += each("Loading weights took 60.00 seconds", range(weights))
    lines += each("Model loading took 9.0 GiB and 66.0 seconds", range(loaded))
    return "\n".join(lines)  # fmt: skip


def test_a_phase_ends_when_all_ranks_report() -> None:
    timeline = read(old_start(weights=3), TP4)
    span = timeline.span
    assert span
    assert (span.phase, span.end, span.ranks) == (Phase.WEIGHTS, None, ("rank 0", "rank 1", "rank 2"))
    assert timeline.waiting == ("rank 3",)
    done = read(old_start(weights=4), TP4)
    assert (done.phase, done.waiting) == (Phase.POST, ())


def test_ranks_of_the_next_line_are_counted_anew() -> None:
    timeline = read(old_start(weights=4, loaded=2), TP4)
    span = timeline.span
    assert span
    assert (span.phase, span.ranks, timeline.waiting) == (Phase.POST, ("rank 0", "rank 1"), ("rank 2", "rank 3"))
    assert read(old_start(weights=4, loaded=4), TP4).phase is Phase.COMPILE


def test_in_versions_that_say_it_once_one_line_ends_it() -> None:
    timeline = read(old_start(weights=1, version="0.16.0"), TP4)
    assert (timeline.phase, timeline.waiting) == (Phase.POST, ())


def test_a_second_rank_shows_that_each_says_it_where_the_version_is_not_known() -> None:
    text = "\n".join(each("Loading weights took 60.00 seconds", range(2)))
    timeline = read(text, TP4)
    span = timeline.span
    assert span
    assert (span.phase, span.ranks) == (Phase.WEIGHTS, ("rank 0", "rank 1"))


def test_a_rank_that_never_reports_holds_nothing_up() -> None:
    lines = old_start(weights=3) + "\n" + each("Model loading took 9.0 GiB and 66.0 seconds", range(1))[0]
    timeline = read(lines, TP4)
    assert timeline.of(Phase.WEIGHTS)
    assert timeline.phase is not None
    lines += "\n" + each("Using cache directory: /c for vLLM's torch.compile", range(1))[0]
    assert read(lines, TP4).phase is Phase.COMPILE


def test_data_parallel_engines_are_counted_too() -> None:
    took = "init engine (profile, create kv cache, warmup model) took 86.54 s"
    lines = [f"(EngineCore_DP{n} pid={n + 7}) INFO 06-16 10:48:14 [core.py:1] {took}" for n in range(2)]
    expected = Expectation(model="/m", workers=2, engines=2)
    assert read(lines[0], expected).phase is not Phase.API
    assert read("\n".join(lines), expected).phase is Phase.API


@pytest.mark.parametrize(
    ("process", "rank", "label"),
    [
        ("Worker_TP3", 3, "TP3"),
        ("Worker_PP1_TP0", 0, "PP1_TP0"),
        ("Worker_DP0_EP5", None, "DP0_EP5"),
        ("VllmWorker TP3", 3, "TP3"),
        ("VllmWorker PP0_TP1", 1, "PP0_TP1"),
        ("VllmWorker rank=3", 3, "rank 3"),
        ("Worker", 2, "rank 2"),
        ("Worker", None, "pid 4711"),
        ("VllmWorkerProcess", None, "pid 4711"),
        ("RayWorkerWrapper", None, "pid 4711"),
        ("EngineCore_DP1", None, "EngineCore_DP1"),
        (None, None, "driver"),
    ],
)
def test_labels(process: str | None, rank: int | None, label: str) -> None:
    assert label_of(LogRecord(1, 1.0, "u", "x", process=process, rank=rank, pid=4711)) == label


def test_a_worker_that_changes_its_name_stays_one() -> None:
    lines = "\n".join(f"({name} pid=451) INFO 08-14 15:02:52 [p.py:1] vLLM is using nccl==2.27" for name in ("Worker", "Worker_TP0"))  # fmt: skip
    assert read(lines).seen == ((451, "TP0"),)


def test_a_restart_is_a_new_attempt() -> None:
    again = load.begin("vllm-a.service", "second", 900.0, number=2)
    record = LogRecord(1, 950.0, "vllm-a.service", "Loading weights took 3 seconds", invocation="inv")
    assert load.feed(again, record) is again
    assert (again.number, again.spans) == (2, ())

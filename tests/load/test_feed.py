"""A start followed by its log: bars of every loader, the drafter's second bar, the first cause of a failure."""

from __future__ import annotations

import pytest

from specconsole.load import clue, detail, sign
from specconsole.load import feed as load
from specconsole.load.bar import parse
from specconsole.load.estimate import estimate
from specconsole.load.phase import Expectation, Phase
from specconsole.load.timeline import Stage
from specconsole.logs.record import Kind, Level, LogRecord

UNIT = "vllm-a.service"
BEGUN = load.begin(UNIT, "inv", 100.0, Expectation(model="/m", method="eagle3"))


def bar(text: str, at: float = 1.0, **extra: object) -> LogRecord:
    return LogRecord(seq=1, at=at, unit=UNIT, text=text, kind=Kind.BAR, invocation="inv", **extra)  # type: ignore[arg-type]


def line(text: str, level: Level = Level.ERROR, invocation: str = "inv") -> LogRecord:
    return LogRecord(seq=1, at=1.0, unit=UNIT, text=text, level=level, invocation=invocation)


def shards(done: int, total: int, label: str = "Loading safetensors checkpoint shards") -> str:
    return f"{label}: {done * 100 // total:3d}% Completed | {done}/{total} [00:30<03:20,  3.70s/it]"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (shards(8, 64), (8, 64, "shards")),
        (shards(0, 64), (0, 64, "shards")),
        (shards(3, 3, "Loading pt checkpoint shards"), (3, 3, "shards")),
        (shards(1, 2, "Loading safetensors checkpoint shards (eager)"), (1, 2, "shards")),
        (shards(7, 9, "Multi-thread loading shards"), (7, 9, "shards")),
        (shards(700, 2100, "Loading safetensors using Runai Model Streamer"), (700, 2100, "tensors")),
        (shards(5, 10, "Loading safetensors using InstantTensor loader"), (5, 10, "tensors")),
    ],
)
def test_each_loader_has_its_bar(text: str, want: tuple[int, int, str]) -> None:
    found = parse(text)
    assert found
    assert (found.done, found.total, found.unit) == want


@pytest.mark.parametrize(
    "text",
    [
        "EP Rank 2/8",
        "experts: 1/8",
        "Prefetching checkpoint files: 20% (2/2)",
        "Warming up 1/1",
        "Downloading shards:  50%|##### | 6/12 [00:01<00:00]",
    ],
)
def test_other_numbers_are_no_weights(text: str) -> None:
    assert parse(text) is None


def test_progress_goes_forward_and_the_drafter_has_a_bar_of_its_own() -> None:
    now = BEGUN
    for at, text in enumerate(
        (shards(0, 16), shards(9, 16), shards(4, 16), shards(16, 16), shards(15, 16), shards(0, 1), shards(1, 1))
    ):
        now = load.feed(now, bar(text, float(at)))
    assert (now.weights and (now.weights.done, now.weights.total), now.phase) == ((16, 16), Phase.DRAFTER)
    assert now.drafter
    assert (now.drafter.done, now.drafter.total, now.drafter.at, now.drafter.since) == (1, 1, 6.0, 5.0)


def test_a_second_bar_is_no_drafter_where_there_is_none() -> None:
    now = load.begin(UNIT, "inv", 100.0, Expectation(model="/m", method="ngram"))
    for text in (shards(0, 16), shards(16, 16), shards(0, 1), shards(1, 1)):
        now = load.feed(now, bar(text))
    assert (now.drafter, now.phase) == (None, Phase.WEIGHTS)


def test_another_engines_bar_is_no_drafter() -> None:
    now = BEGUN
    for text, pid in (
        (shards(0, 16), 1),
        (shards(0, 16), 2),
        (shards(16, 16), 1),
        (shards(3, 16), 2),
        (shards(0, 1), 2),
    ):
        now = load.feed(now, bar(text, pid=pid))
    assert (now.weights and now.weights.done, now.drafter) == (16, None)


def test_the_time_of_a_bar_is_known_only_when_it_was_seen_whole() -> None:
    now = load.feed(load.feed(BEGUN, bar(shards(0, 4), 10.0)), bar(shards(4, 4), 34.0))
    assert now.weights_s == 24.0
    late = load.feed(
        load.feed(BEGUN, bar("Loading pt checkpoint shards: 50% Completed | 2/4 [", 20.0)), bar(shards(4, 4), 34.0)
    )
    assert late.weights_s is None


def test_a_bar_that_is_met_late_says_itself_since_when() -> None:
    late = load.feed(load.feed(BEGUN, bar(shards(2, 4), 130.0)), bar(shards(4, 4), 144.0))
    assert (late.weights and late.weights.since, late.weights_s) == (100.0, 44.0)


def test_who_comes_late_dates_the_answer_by_the_log_or_not_at_all() -> None:
    late = load.answering(BEGUN, 500.0, watched=False)
    assert (late.answering_at, late.startup_at, late.late) == (500.0, None, True)
    said = LogRecord(seq=1, at=160.0, unit=UNIT, text="Application startup complete.", invocation="inv")
    dated = load.answering(load.feed(BEGUN, said), 500.0, watched=False)
    assert (dated.answering_at, dated.late) == (160.0, True)


def test_a_bar_that_falls_behind_changes_nothing() -> None:
    half = load.feed(BEGUN, bar(shards(32, 64), 5.0))
    after = load.feed(half, bar(shards(31, 64), 6.0))
    assert (after.weights, after.moved_at, after.heard_at) == (half.weights, 5.0, 6.0)


def test_records_of_another_start_change_nothing() -> None:
    assert load.feed(BEGUN, line("ValueError: old", invocation="before")) is BEGUN


def test_the_cause_wins_over_its_consequences() -> None:
    trace = "Traceback (most recent call last):\n  File x\nValueError: Free memory on device cuda:0 (49.53/139.8 GiB) on startup is less"
    now = load.feed(BEGUN, line("EngineCore failed to start.\n" + trace))
    now = load.feed(
        now, line("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}")
    )
    assert now.error.startswith("ValueError: Free memory on device cuda:0")


def test_a_bare_error_line_gives_way_to_an_exception() -> None:
    now = load.feed(BEGUN, line("something went wrong"))
    assert now.error == "something went wrong"
    now = load.feed(now, line("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"))
    assert now.error.startswith("torch.OutOfMemoryError")


def test_an_info_line_that_speaks_of_errors_is_none() -> None:
    assert load.feed(BEGUN, line("retrying after error", Level.INFO)).error == ""


def test_stages_follow_each_other() -> None:
    assert load.ready(BEGUN, 5.0).stage is Stage.LOADING
    now = load.answering(BEGUN, 6.0)
    assert load.answering(now, 7.0).answering_at == 6.0
    now = load.ready(now, 8.0)
    assert (now.stage, now.ready_at, now.over_at) == (Stage.READY, 8.0, 8.0)
    assert load.failed(now, 9.0, "exit-code").stage is Stage.FAILED


def test_a_server_that_answers_writes_nothing_of_its_start() -> None:
    serving = load.answering(BEGUN, 500.0, watched=False)
    late = line("Loading weights took 3.08 seconds", Level.INFO)._replace(at=500.0 + load.SETTLED_S + 1)
    assert load.feed(serving, late) is serving
    still = late._replace(at=480.0)  # the past of a start that was joined late
    assert load.feed(serving, still) is not serving


PREFETCH = "Prefetching checkpoint files: {}0% ({}/64)"


def said(text: str, at: float, pid: int = 7) -> LogRecord:
    return LogRecord(seq=1, at=at, unit=UNIT, invocation="inv", text=text, level=Level.INFO, pid=pid)


def test_files_brought_into_the_page_cache_are_the_count_until_a_bar_comes() -> None:
    start = load.begin(UNIT, "inv", 0.0, Expectation(workers=2))
    start = load.feed(start, said(PREFETCH.format(1, 7), 10.0))
    start = load.feed(start, said(PREFETCH.format(2, 5), 11.0, pid=8))
    start = load.feed(start, said(PREFETCH.format(2, 13), 20.0))
    assert start.phase is Phase.WEIGHTS
    assert start.weights
    assert (start.weights.done, start.weights.total, start.weights.unit) == (13, 64, "files prefetched")
    assert start.weights.steps == ((10.0, 7), (20.0, 13)), "another worker counts a share of its own"
    assert estimate(start, (), 25.0).phase is None, "it goes on beside the loading, and does not tell its end"
    full = load.feed(start, said(PREFETCH.format(10, 64), 30.0))
    for before in (start, full):
        after = load.feed(before, bar(shards(1, 64), 31.0))
        assert after.phase is Phase.WEIGHTS, "no drafter's bar, though the count before was full"
        assert after.weights
        assert (after.weights.done, after.weights.unit, after.weights.steps) == (1, "shards", ((31.0, 1),))
        assert load.feed(after, said(PREFETCH.format(9, 60), 32.0)).weights == after.weights


@pytest.mark.parametrize(
    "text",
    [
        "Received request chatcmpl-1: prompt: '{}', params: SamplingParams(n=1), prompt_token_ids: None.",
        "Request chatcmpl-1 details: prompt: '{}', prompt_token_ids: [1], prompt_embeds shape: None.",
        "Request cmpl-1 JSON body: {{\"prompt\":\"{}\"}}",
        "Request cmpl-1 failed (bad request): {}.",
        "Generated response cmpl-1 (streaming complete): output: '{}', finish_reason: stop",
        "Received messages request {}",
        "Convert to OpenAI request {}",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "words",
    [
        "[Errno 30] Read-only file system: what does it mean?",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB",
        "Waiting for the leader node",
        "No available shared memory broadcast block found in 60 seconds",
        " is experimental on VLLM_USE_V1=1. Falling back to V0 Engine",
    ],
)
def test_what_users_and_the_model_say_is_no_evidence(text: str, words: str) -> None:
    record = said(text.format(words), 9.0)
    start = load.begin(UNIT, "inv", 0.0)
    for seen in (start, load.failed(start, 8.0, "it exited with an error")):
        assert load.feed(seen, record) is seen
    assert clue.read(clue.Clues(), record) == clue.Clues()
    assert sign.read(sign.Signs(), record) == sign.Signs()
    assert detail.read(detail.Details(), record) == detail.Details()
    assert (
        clue.read(clue.Clues(), said(words, 9.0)) != clue.Clues()
        or sign.read(sign.Signs(), said(words, 9.0)).waiting_for
        or (sign.read(sign.Signs(), said(words, 9.0)).notices or load.feed(start, said(words, 9.0)).notices)
    ), "the same words of the server itself are evidence"


def test_requests_that_an_engine_s_failure_ends_are_evidence() -> None:
    assert clue.read(
        clue.Clues(), said("Request cmpl-1 failed due to CUDA error: unspecified launch failure.", 9.0)
    ).found

"""Every cross-check, in a run where it holds and in one where it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specconsole.bench.check import Level, check, jit_stalls
from specconsole.bench.run import BenchRun, Health, ScrapeText, WarmUp, Window
from specconsole.bench.stats import Result
from tests.bench import made
from tests.bench.made import stream

ROWS = (stream("a/0", (1, 4, 4)), stream("b/0", (1, 4, 4), sent_s=1.0))


def found(run: BenchRun) -> dict[str, tuple[Level, str]]:
    return {remark.code: (remark.level, remark.text) for remark in check(run)}


def with_counters(**gained: float) -> BenchRun:
    """The same streams with one window whose counters differ."""
    run = made.run(ROWS)
    whole = made.counted(ROWS)
    before, after = made.text(dict.fromkeys(whole, 0.0)), made.text({**whole, **gained})
    windows = (Window(("a/0", "b/0"), 0, 1),)
    return replace(run, scrapes=(ScrapeText(0, before), ScrapeText(9, after)), windows=windows)


def test_a_good_run_has_only_facts() -> None:
    remarks = check(made.run(ROWS, drafts=[4, 4, 4]))
    assert {remark.level for remark in remarks} <= {Level.FACT, Level.OPEN}
    assert {remark.code for remark in remarks} == {"tokens", "tau", "identity", "server", "warm-up", "forced", "cache"}


def test_the_worst_comes_first() -> None:
    run = made.run((*ROWS, stream("c/0", (1,), error="reset")), warmup=WarmUp((0.1, 0.2), False))
    levels = [remark.level for remark in check(run)]
    order = [Level.WRONG, Level.WEAK, Level.OPEN, Level.FACT]
    assert levels == sorted(levels, key=order.index)
    assert set(levels) == set(order)


def test_requests_of_others() -> None:
    run = with_counters(time_to_first_token_seconds_count=5, generation_tokens_total=60)
    assert found(run)["foreign"] == (
        Level.WRONG,
        "Others used the engine: 3 requests, 4.7 tok/s. Times and acceptance are not ours alone.",
    )
    assert found(run)["tokens"] == (Level.WRONG, "Tokens differ: 18 here, 60 at the server.")


def test_others_that_ran_already() -> None:
    run = made.run(ROWS)
    busy = replace(run.scrapes[0], text=(run.scrapes[0].text or "").replace('"m"} 0', '"m"} 0') + "")
    assert "foreign" not in found(run)
    text = "\n".join(
        line.replace(" 0.0", " 2.0") if line.startswith("vllm:num_requests_running{") else line
        for line in (busy.text or "").splitlines()
    )
    run = replace(run, scrapes=(replace(busy, text=text), *run.scrapes[1:]))
    assert "2 requests that ran already when this run began" in found(run)["foreign"][1]


def test_a_request_of_others_that_began_before_the_first_window_is_told_by_its_tokens() -> None:
    said = found(with_counters(generation_tokens_total=60))
    assert "foreign" not in said
    assert said["tokens"][0] is Level.WRONG
    assert "Somebody whose request had begun before used the engine too" in said["tokens"][1]


def test_more_tokens_a_chunk_than_a_step_is_a_server_that_merges() -> None:
    remarks = found(with_counters(inter_token_latency_seconds_count=5))
    level, text = remarks["tau"]
    assert level is Level.WEAK
    assert text.startswith("τ is 4.000 by the stamps and 3.200 by the counters: some chunks hold several steps")
    assert remarks["identity"] == (Level.WEAK, "Step latency / TPOT is 4.000, τ is 3.200.")


def test_fewer_tokens_a_chunk_than_a_step_cannot_be() -> None:
    level, text = found(with_counters(inter_token_latency_seconds_count=3))["tau"]
    assert level is Level.WRONG
    assert text == "τ is 4.000 by the stamps and 5.333 by the counters: they cannot both be true."


def test_a_chunk_that_is_no_step_breaks_the_identity() -> None:
    uneven = replace(ROWS[0], chunks=(*ROWS[0].chunks[:2], (ROWS[0].chunks[2][0], 7)), completion_tokens=7)
    assert found(made.run((uneven, ROWS[1])))["identity"][0] is Level.FACT
    run = made.run(ROWS)
    counts = replace(run.results[0], chunks=tuple((at, None) for at, _ in run.results[0].chunks))
    remarks = found(replace(run, results=(counts, run.results[1])))
    assert remarks["usage"][0] is Level.WEAK
    assert "tau" not in remarks
    assert remarks["identity"][0] is Level.FACT


def test_the_servers_own_time_per_token() -> None:
    run = with_counters(request_time_per_output_token_seconds_sum=0.01)
    level, text = found(run)["server"]
    assert level is Level.WEAK
    assert text == "Mean TPOT is 2.500 ms here and 5.000 ms at the server."


def test_failed_requests_and_their_reasons() -> None:
    run = made.run((*ROWS, stream("c/0", (1, 2), error="reset"), stream("d/0", (), error="reset")))
    assert found(run)["failed"] == (Level.WRONG, "2 requests failed: reset")


def test_the_end_of_a_run() -> None:
    assert "ended" not in found(made.run(ROWS))
    level, text = found(made.run(ROWS, why="cancelled"))["ended"]
    assert (level, text) == (Level.WEAK, "The run was cancelled: 2 of 2 requests count.")
    assert found(made.run(ROWS, why="link lost", error="no answer"))["ended"][1].startswith(
        "The link broke during the run (no answer)"
    )
    assert found(made.run((), why="failed", error="HTTP 401"))["ended"][0] is Level.WRONG


def test_unequal_lengths() -> None:
    run = made.run((stream("a/0", (1, 4, 4)), stream("b/0", (1, 4))))
    assert found(run)["lengths"] == (Level.WRONG, "1 request ended before 9 tokens.")
    natural = replace(run, spec=replace(run.spec, ignore_eos=False))
    assert "lengths" not in found(natural)


@pytest.mark.parametrize(
    ("forced", "level", "words"),
    [
        ((2, 3), Level.WEAK, "5 of 18 tokens were forced past a natural end"),
        ((0, 0), Level.FACT, "No answer came to a natural end"),
        ((0, None), Level.OPEN, "is not known"),
    ],
)
def test_tokens_forced_past_a_natural_end(forced: tuple[int | None, ...], level: Level, words: str) -> None:
    run = made.run([replace(one, forced=count) for one, count in zip(ROWS, forced, strict=True)])
    assert found(run)["forced"][0] is level
    assert words in found(run)["forced"][1]


def test_the_same_prompt_with_different_token_counts() -> None:
    run = made.run((stream("a/0", (1, 4)), stream("a/1", (1, 4), prompt_tokens=51)))
    assert found(run)["inputs"][0] is Level.WEAK


def test_no_token_counts_at_all() -> None:
    silent = Result("a/0", "a", 0, ((10, None), (20, None)))
    assert found(made.run((silent,)))["usage"][0] is Level.WRONG


def test_a_first_token_in_no_time_is_a_lie() -> None:
    assert found(made.run((stream("a/0", (1, 4), ttft_ms=0),)))["ttft"][0] is Level.WRONG


def test_several_tokens_in_the_first_chunk_are_said() -> None:
    assert found(made.run((stream("a/0", (3, 4)),)))["first"][0] is Level.FACT


@pytest.mark.parametrize(
    ("scrapes", "words"),
    [
        ((ScrapeText(0, None, "HTTP 404"),) * 3, "HTTP 404"),
        ((ScrapeText(0, ""),) * 3, "answered with nothing"),
        ((ScrapeText(0, "process_start_time_seconds 1\n"),) * 3, "keeps no engine statistics"),
    ],
)
def test_no_data_is_said_with_its_reason(scrapes: tuple[ScrapeText, ...], words: str) -> None:
    level, text = found(made.run(ROWS, scrapes=scrapes))["metrics"]
    assert level is Level.WEAK
    assert words in text


def test_a_restart_during_the_run() -> None:
    run = made.run(ROWS)
    last = replace(run.scrapes[-1], text=(run.scrapes[-1].text or "").replace("seconds 500", "seconds 900"))
    assert found(replace(run, scrapes=(*run.scrapes[:-1], last)))["restarted"][0] is Level.WRONG


def test_what_else_weakens_a_run() -> None:
    assert (
        found(with_counters(prefix_cache_hits_total=50))["cache"][1]
        == "50 % of the prompt tokens came from the prefix cache."
    )
    assert found(with_counters(num_preemptions_total=2))["preempted"][0] is Level.WEAK
    assert found(made.run(ROWS, warmup=WarmUp((0.1, 0.2), False)))["warm-up"][0] is Level.WEAK
    cold = made.run(ROWS)
    assert found(replace(cold, spec=replace(cold.spec, warmup=0)))["cold"][0] is Level.WEAK
    assert found(made.run(ROWS, notes=("a note",)))["note"] == (Level.WEAK, "a note")
    assert found(made.run(ROWS, cache="prefix"))["prefix"][0] is Level.FACT


@pytest.mark.parametrize(
    ("health", "code"),
    [
        (Health(bunched=0.1), "bunched"),
        (Health(late_p99_s=0.004), "late"),
        (Health(), ""),
        (Health(late_p99_s=0.004, kernel=True), ""),
    ],
)
def test_a_client_that_could_not_keep_up(health: Health, code: str) -> None:
    remarks = found(made.run(ROWS, health=health))
    assert {"bunched", "late"} & set(remarks) == ({code} if code else set())


def stalls(at: float, **more: Any) -> dict[str, str]:
    return jit_stalls(made.run(ROWS, **more), [at])


def test_requests_with_a_jit_stall_are_found_by_the_stamp_of_its_line() -> None:
    # a/0 runs from 1000.00 to 1000.04, b/0 from 1001.00 to 1001.04.
    assert list(stalls(1000.03)) == ["a/0"]
    assert list(stalls(1001.1)) == ["b/0"]
    assert stalls(1000.5) == {}
    assert jit_stalls(made.run(ROWS), []) == {}


def test_discarded_requests_are_said_and_do_not_count() -> None:
    run = made.run(ROWS)
    run = run.discard(jit_stalls(run, [1000.03]))
    remarks = found(run)
    assert remarks["discarded"] == (Level.WEAK, "1 request discarded: a kernel was compiled meanwhile (JIT).")
    assert remarks["tokens"] == (Level.FACT, "Tokens: 9 here, 9 at the server.")


def test_tau_is_not_compared_over_different_requests() -> None:
    run = with_counters().discard({"b/0": "a stall"})
    remarks = found(run)
    assert "tau" not in remarks
    assert "server" not in remarks

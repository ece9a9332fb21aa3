from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from specconsole.bench.compare import Comparison, compare
from specconsole.bench.judge import Word
from specconsole.bench.likeness import likeness
from specconsole.bench.run import BenchRun, ScrapeText, Window
from specconsole.bench.side import markdown, notes, side_by_side, verdict
from tests.bench import h200, made
from tests.bench.made import stream


def base(*steps: float, tokens: int = 13, **changes: Any) -> BenchRun:
    """A baseline whose prompts a, b, … have these step times in ms."""
    rows = [
        stream(f"{name}/0", [1] * tokens, step_ms=step, sent_s=place)
        for place, (name, step) in enumerate(zip("abc", steps, strict=False))
    ]
    return made.run(rows, **changes)


def spec(*steps: float, per_step: int = 3, drafts: tuple[int, ...] = (8, 8, 0), **changes: Any) -> BenchRun:
    """The same with steps of several tokens: 1 and then 4 times 3."""
    rows = [
        stream(f"{name}/0", [1] + [per_step] * (12 // per_step), step_ms=step, sent_s=place)
        for place, (name, step) in enumerate(zip("abc", steps, strict=False))
    ]
    return made.run(rows, drafts=drafts, **changes)


def test_ratios_r_and_tau() -> None:
    found = compare(base(10, 10), spec(24, 12))
    assert [pair.tpot for pair in found.pairs] == pytest.approx([0.8, 0.4])
    assert found.judgement.ratio == pytest.approx((0.8 * 0.4) ** 0.5)
    assert found.token_ratio == pytest.approx(0.6)
    assert found.measured
    assert found.measured.step_cost == pytest.approx(1.8)
    assert found.measured.tau == 3
    assert found.comparable
    assert found.measured.step_cost == pytest.approx(3 * (found.token_ratio or 0))


def test_the_arms_may_come_in_either_order() -> None:
    found = compare(spec(24, 12), base(10, 10))
    assert found.baseline is found.b
    assert found.measured
    assert found.measured.step_cost == pytest.approx(1.8)
    assert verdict(found).startswith(
        "One start each: speculation took 43.4 % less time per token (0.566x), beyond the 5.7 % "
    )
    assert verdict(found).endswith("This holds for these 2 prompts, not for others.")


def test_one_start_each_is_no_verdict() -> None:
    text = verdict(compare(base(10), spec(34, drafts=(2, 1, 0))))
    assert text.startswith(
        "One start each: speculation took 13.3 % more time per token (1.133x), beyond the 5.7 % by which two starts differ with"
        " nothing changed, so it is probably slower; one more start of either (A-B-A) can make that a verdict. "
    )
    assert "pay" not in text
    assert "τ = 3.000 tokens per step is not above R" in said(compare(base(10), spec(34, drafts=(2, 1, 0))))


@pytest.mark.parametrize(("step", "sure"), [(30.3, False), (31.6, False), (31.8, True), (28.5, False), (28.3, True)])
def test_a_small_effect_of_one_start_each_may_be_chance(step: float, sure: bool) -> None:
    text = verdict(compare(base(10), spec(step)))
    assert (
        "so nothing can be concluded; two starts of each (A-B-B-A) tell differences above 4.0 %" in text
    ) is not sure
    assert ("probably" in text) is sure


def said(found: Comparison) -> str:
    return "\n".join(notes(found))


def of_start(run: BenchRun, invocation: str) -> BenchRun:
    return replace(run, identity=replace(run.identity, invocation=invocation * 32))


def starts(make: Callable[..., BenchRun], *steps: float) -> list[BenchRun]:
    """An arm of several starts."""
    return [of_start(make(step, step), f"{make.__name__[0]}{place}") for place, step in enumerate(steps)]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (24.0, "Speculation pays (20.2 % less time per token"),
        (36.0, "Speculation does not pay (19.7 % more time per token"),
        (30.36, "It cannot be told whether speculation pays (0.9 % more time per token"),
    ],
)
def test_several_starts_give_a_verdict(step: float, words: str) -> None:
    a, b = starts(base, 10.0, 10.05), starts(spec, step, step)
    found = compare(a, b)
    assert found.judgement.starts == (2, 2)
    assert verdict(found).startswith(words)
    turned = compare(b, a)
    assert verdict(turned).startswith(words)
    assert [pair.a.timing.requests for pair in found.pairs] == [2, 2]
    assert found.comparable, found.reasons
    assert found.overall.b.tau == 3


def test_two_arms_of_one_kind_are_faster_or_slower() -> None:
    assert verdict(compare(starts(base, 10.0, 10.1), starts(base, 12.0, 12.1))).startswith("B is slower (")
    assert verdict(compare(starts(base, 10.0, 10.1), starts(base, 9.0, 9.1))).startswith("B is faster (")


def test_starts_that_scatter_widen_the_interval() -> None:
    calm = compare(starts(base, 10.0, 10.0), starts(spec, 27.0, 27.0)).judgement
    wild = compare(starts(base, 9.0, 11.0), starts(spec, 27.0, 27.0)).judgement
    assert (calm.word, wild.word) == (Word.FASTER, Word.UNCLEAR)
    assert calm.high
    assert wild.high
    assert calm.high < wild.high


def test_runs_of_one_start_are_repeats_not_starts() -> None:
    one = [of_start(base(10, 10), "a"), of_start(base(10, 10), "a")]
    found = compare(one, [of_start(spec(24, 24), "b")])
    assert found.judgement.starts == (1, 1)
    assert found.judgement.word is Word.ONE_START


def test_both_of_one_start_show_the_error_within_it() -> None:
    found = compare(of_start(base(10), "a"), of_start(base(10.05), "a"))
    assert verdict(found).startswith("Both are of the same start: 0.5 % more time per token (1.005x) in B")


def test_no_acceptance_can_make_up_for_a_step_that_costs_more_than_its_drafts_could_bring() -> None:
    assert "No acceptance can make this configuration pay" in said(compare(base(10), spec(45)))
    assert "No acceptance" not in said(compare(base(10), spec(34)))


def test_r_holds_where_the_server_sends_two_steps_as_one_chunk() -> None:
    found = compare(base(10), spec(24))
    merged = spec(24)
    rows = tuple(replace(one, chunks=(*one.chunks[:1], one.chunks[2], one.chunks[4])) for one in merged.results)
    again = compare(base(10), replace(merged, results=rows)).measured
    assert again
    assert found.measured
    assert again.step_cost == pytest.approx(found.measured.step_cost)


def test_two_runs_of_one_kind_have_no_r() -> None:
    found = compare(base(10), of_start(base(12), "b"))
    assert found.measured is None
    assert found.baseline is None
    assert verdict(found).startswith("One start each: B took 20.0 % more time per token (1.200x)")


def test_unknown_speculation_is_not_a_baseline() -> None:
    unknown = base(10)
    unknown = replace(unknown, identity=replace(unknown.identity, speculation=None))
    assert compare(unknown, spec(24)).baseline is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model_root": "/other"}, "models differ"),
        ({"version": "0.23.0"}, "versions differ"),
        ({"host": "gpu-2"}, "hosts differ"),
    ],
)
def test_the_gate_by_identity(change: dict[str, Any], reason: str) -> None:
    other = spec(24, 12)
    found = compare(base(10, 10), replace(other, identity=replace(other.identity, **change)))
    assert any(reason in text for text in found.reasons)
    assert verdict(found).startswith("Not comparable")
    assert not found.comparable


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"temperature": 0.7}, "temperatures differ (0.0 and 0.7)"),
        ({"concurrency": 4}, "streams at once differ"),
        ({"api": "completions"}, "ways to ask differ"),
        ({"ignore_eos": False}, "treatments of the end differ"),
    ],
)
def test_the_gate_by_what_was_asked(change: dict[str, Any], reason: str) -> None:
    other = spec(24, 12)
    found = compare(base(10, 10), replace(other, spec=replace(other.spec, **change)))
    assert any(reason in text for text in found.reasons)


def test_the_gate_by_what_was_sent_and_by_checks() -> None:
    texts = spec(24)
    changed = replace(texts, spec=replace(texts.spec, prompts=(replace(texts.spec.prompts[0], text="other"),)))
    assert any("different texts (a)" in text for text in compare(base(10), changed).reasons)
    longer = replace(texts, results=tuple(replace(one, prompt_tokens=99) for one in texts.results))
    assert any("different token counts (a)" in text for text in compare(base(10), longer).reasons)
    failed = made.run((stream("a/0", (1, 3)), stream("b/0", (), error="reset")))
    assert any(text == "B: 1 request failed: reset" for text in compare(base(10), failed).reasons)


def test_the_gate_by_the_prefix_cache() -> None:
    rows = base(10).results
    gained = made.counted(rows)
    texts = [made.text(dict.fromkeys(gained, 0.0)), made.text({**gained, "prefix_cache_hits_total": 40})]
    warm = replace(base(10), scrapes=tuple(ScrapeText(0, text) for text in texts), windows=(Window(("a/0",), 0, 1),))
    assert any("prefix cache hits differ (0 and 80 %" in text for text in compare(base(10), warm).reasons)


def test_no_prompt_in_common() -> None:
    found = compare(base(10), made.run((stream("z/0", (1, 1)),)))
    assert "they share no prompt" in found.reasons
    assert found.judgement.ratio is None
    assert verdict(found).startswith("Not comparable: lengths differ (13 and 2); they share no prompt")


def test_only_the_prompts_of_both_are_compared() -> None:
    found = compare(base(10, 10, 40), spec(24, 12))
    assert [pair.name for pair in found.pairs] == ["a", "b"]
    assert found.overall.a.timing.tpot_s == pytest.approx(0.01)
    assert any("left out: c" in text for text in found.remarks)


def test_what_differs_by_nature_is_said_and_does_not_forbid() -> None:
    found = compare(base(10), spec(24))
    assert any("async scheduling: on and off" in text for text in found.remarks)
    assert verdict(found).startswith("One start each")
    same = base(10)
    both = compare([same, same], replace(spec(24), identity=same.identity))
    assert any("same start" in text for text in both.remarks)


def test_every_run_of_both_arms_passes_the_gate() -> None:
    hotter = replace(base(10), spec=replace(base(10).spec, temperature=0.5))
    for a, b in (([base(10), hotter], [spec(24)]), ([base(10)], [spec(24), replace(spec(24), spec=hotter.spec)])):
        assert "temperatures differ (0.0 and 0.5)" in compare(a, b).reasons


def test_starts_of_their_own_are_not_called_one() -> None:
    arms = [of_start(base(10), "a"), of_start(base(10.1), "b")], [of_start(spec(24), "c"), of_start(spec(24), "d")]
    assert not any("same start" in text for text in compare(*arms).remarks)


def answers(*pairs: tuple[str, tuple[int, ...]]) -> BenchRun:
    return made.run(
        [replace(stream(f"a/{n}", (1, 1)), text=text, token_ids=ids) for n, (text, ids) in enumerate(pairs)]
    )


def test_answers_by_token_ids_and_by_text() -> None:
    by_ids = likeness(answers(("ab", (1, 2)), ("ab", (1, 2))), answers(("ab", (1, 2)), ("ab", (1, 3))))
    assert by_ids is not None
    assert (by_ids.same, by_ids.compared, by_ids.by, by_ids.first) == (
        1,
        2,
        "token ids",
        "a, repeat 2: from token 2 on",
    )
    by_text = likeness(answers(("abc", ())), answers(("ab", (1, 2))))
    assert by_text is not None
    assert (by_text.same, by_text.by, by_text.first) == (0, "text", "a, repeat 1: from character 3 on")
    hot = answers(("ab", ()))
    assert likeness(hot, replace(hot, spec=replace(hot.spec, temperature=0.5))) is None


def test_the_table_side_by_side() -> None:
    found = compare(base(10, 10), spec(36, 12))
    shown = side_by_side(found)
    rows = [dict(zip(shown.header[1:3] + shown.header[-1:], row[1:3] + row[-1:], strict=True)) for row in shown.rows]
    assert rows[0] == {"TPOT A": "10.000", "TPOT B": "12.000", "R": "3.60"}
    assert shown.rows[-1][0] == "overall"
    assert any(line.startswith("A: vllm-base.service") for line in shown.head)
    lines = notes(found)
    assert lines[0] == verdict(found)
    assert "B is faster on 1 of 2 prompts, slower on a (1.200)." in lines
    assert markdown(found).count("\n| ") == 5


def test_not_comparable_lists_every_reason() -> None:
    other = spec(24)
    other = replace(other, identity=replace(other.identity, version="0.23.0"), spec=replace(other.spec, temperature=1))
    lines = notes(compare(base(10), other))
    assert sum(line.startswith("✗") for line in lines) == 2


def recorded(load: str, arm: str) -> Comparison:
    return compare(h200.run("M0", load), h200.run(arm, load))


def test_recorded_arms_say_what_their_tables_say() -> None:
    worse = recorded("sweep-T1.215", "M5")
    assert "so it is probably slower" in verdict(worse)
    assert worse.measured
    assert round(worse.measured.step_cost, 2) == 2.41
    same = compare(h200.run("M0", "main-T0"), h200.run("M5", "main-T0"))
    assert same.likeness is not None
    assert same.likeness.same == same.likeness.compared == 15


def test_a_comparison_says_what_another_drafter_would_do() -> None:
    lines = notes(compare(h200.run("M0", "main-T0"), h200.run("M5", "main-T0")))
    (line,) = [line for line in lines if line.startswith("Expected of another drafter")]
    # R 2.750 and coverage 0.799: tau is 1 + 0.799 ((1 - 0.8^6) / 0.2 - 1).
    assert "0.8: τ 3.15, 12.6 % less time per token" in line


def test_two_equal_runs_are_not_called_slower() -> None:
    text = verdict(compare(base(10), base(10)))
    assert "slower" not in text
    assert "the same time per token (1.000x)" in text

"""A load as rows: phases that fit any width, its count beside the usual time, the verdict, or why it failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specconsole.history.entry import Load
from specconsole.load import feed as load
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.estimate import estimate
from specconsole.load.phase import Expectation, Phase
from specconsole.load.timeline import Certainty, LoadTimeline, Progress, Span
from specconsole.load.trend import Point, Trend
from specconsole.load.verdict import Judgement, Verdict
from specconsole.ui.loading import Loading
from specconsole.ui.rows.load import load_rows, phases_row, summary_row, wanted
from specconsole.ui.rows.load_chart import chart_rows, spread
from specconsole.ui.rows.load_page import page_rows, standing_row
from specconsole.ui.rows.row import plain, width
from tests.load.log import replayed
from tests.ui.scene import unit

USUAL = {"config": 70.0, "init": 2.0, "weights": 20.0, "post": 1.0, "drafter": 1.0, "compile": 40.0, "profile": 28.0,
         "kv_cache": 1.0, "capture": 25.0, "warmup_after": 1.0, "api": 1.0}  # fmt: skip
PAST = tuple(Load("gpu", "u", f"e{n}", float(n), "ready", phases=USUAL) for n in range(3))
WORKING = Verdict(Judgement.WORKING, "weights are being read", ("1 GPU 2 % busy", "1.2 GB/s from storage"))


def loading(at: float, name: str = "moe-eagle3", **changes: object) -> Loading:
    timeline = replayed(name, until=at)
    known = Loading(unit("vllm-a.service", "active", label="a"), timeline, at, estimate(timeline, PAST, at), WORKING)
    return replace(known, **changes)  # type: ignore[arg-type]


def text(loaded: Loading, cells: int = 120, rows: int = 8) -> str:
    return "\n".join(plain(row) for row in load_rows(loaded, cells, rows))


def test_every_phase_has_its_place_and_time() -> None:
    said = plain(phases_row(loading(84.0), 120))
    assert said.split() == [
        "✔",
        "config",
        "1:11",
        "✔",
        "init",
        "0:01",
        "▶",
        "weights",
        "9/16",
        "0:11",
        "post",
        "drafter",
        "compile",
        "profile",
        "kv",
        "capture",
        "warm-up",
        "api",
        "…",
    ]


@pytest.mark.parametrize("cells", [30, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("at", [10.0, 84.0, 165.0, 179.4])
def test_what_runs_now_is_in_view_at_every_width(cells: int, at: float) -> None:
    row = phases_row(loading(at), cells)
    assert width(row) <= cells
    if cells >= 60:
        assert "▶" in plain(row) or "▷" in plain(row)


def test_the_oldest_phases_are_summed_up_where_room_is_short() -> None:
    assert plain(phases_row(loading(165.0), 80)).strip().startswith("✔ 6 phases 2:09  ✔ profile 0:26")


def test_a_presumed_phase_is_no_certain_one() -> None:
    assert "▷ capture" in text(loading(165.0))
    assert "▶ weights" in text(loading(84.0))


def test_the_count_stands_beside_the_usual_time() -> None:
    said = text(loading(84.0))
    assert "weights   ━━━" in said
    assert "9/16 shards   0:11, usually 0:20   done in " in said


def test_the_verdict_stands_with_its_evidence() -> None:
    assert "WORKING  weights are being read  1 GPU 2 % busy; 1.2 GB/s from storage" in text(loading(84.0))
    stuck = Verdict(
        Judgement.STUCK, "a collective spins", advice="Try NCCL_P2P_DISABLE=1", probe="py-spy", missing=("bytes read",)
    )
    said = text(loading(84.0, verdict=stuck))
    assert "STUCK  a collective spins" in said
    assert "do: Try NCCL_P2P_DISABLE=1" in said
    assert "look: py-spy" in said
    assert "not known: bytes read" in said


def test_without_evidence_it_is_said_what_ready_means() -> None:
    assert "ready is health, model list and one generated token" in text(loading(84.0, verdict=None))


def test_flags_say_what_a_line_means() -> None:
    assert "⚑ async scheduling is off with this method" in text(loading(60.0, "moe-ngram"))


def test_the_awaited_rank_is_named() -> None:
    span = Span(Phase.WEIGHTS, 10.0, progress=Progress(3, 8, "shards", 20.0), ranks=("TP0", "TP1", "TP2"))
    timeline = replace(
        load.begin("u", "i", 0.0, Expectation(workers=4)), spans=(span,), seen=tuple((n, f"TP{n}") for n in range(4))
    )
    assert "3/4 ranks, waiting for TP3" in text(Loading(unit(), timeline, 30.0))


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 8])
def test_never_more_rows_than_there_are_and_the_phases_first(rows: int) -> None:
    shown = load_rows(loading(84.0), 120, rows)
    assert len(shown) <= rows
    assert "weights 9/16" in plain(shown[0])


def test_on_two_rows_an_alarm_says_what_is_wrong_before_what_it_rests_on() -> None:
    stuck = Verdict(Judgement.STUCK, "the GPUs seem busy at idle power: a collective spins and nothing comes",
                    ("8 GPUs 100 % busy at 140 W",) * 5, advice="Start it with NCCL_P2P_DISABLE=1", stalled_s=660.0)  # fmt: skip
    first, second = (plain(row) for row in load_rows(loading(84.0, verdict=stuck), 79, 2))
    assert first == "  STUCK in weights, nothing moves for 11:00: the GPUs seem busy at idle power:"
    assert second.startswith("  a collective spins and nothing comes; do: Start it with NCCL_P2P")
    assert second.endswith(" Enter: all")
    assert max(len(first), len(second)) <= 79


SLOW = Verdict(
    Judgement.WORKING_SLOW, "pages of the checkpoint are fetched one by one through a mapping of a slow file system",
    ("8 GPUs 0 % busy at 82 to 85 of 600 W", "GPU memory 584.9 GiB", "PCIe 103.9 MB/s", "8 of 10 processes in state D",
     "the last new line came 2:35 ago", "27 of 64 shards, 79.3 s each"),
    advice="Copy the checkpoint to a local disk, or read it with --safetensors-load-strategy eager", missing=("bytes read",),
)  # fmt: skip


def test_on_two_rows_a_slow_load_says_where_it_is_and_what_to_do() -> None:
    first, second = (plain(row) for row in load_rows(loading(84.0, verdict=SLOW), 79, 2))
    assert first.startswith("  WORKING SLOW in weights 9/16: pages of the checkpoint are fetched one by one")
    assert "do: Copy the checkpoint" in second
    assert second.endswith(" Enter: all")


@pytest.mark.parametrize("cells", [100, 120, 140])
def test_on_five_rows_what_presses_shows_its_evidence_whole(cells: int) -> None:
    said = [plain(row) for row in load_rows(loading(84.0, verdict=SLOW), cells, 5)]
    assert "weights 9/16" in said[0]
    assert said[1].startswith("  WORKING SLOW  pages of the checkpoint")
    shown = " ".join(line.strip() for line in said)
    assert "; ".join(SLOW.evidence) in shown
    assert "do: Copy the checkpoint to a local disk" in shown
    assert max(map(len, said)) <= cells


def test_what_is_told_of_a_load_that_gets_on_begins_with_how_far_it_is() -> None:
    long = replace(WORKING, evidence=SLOW.evidence)
    said = [plain(row) for row in load_rows(loading(84.0, verdict=long), 100, 3)]
    assert "weights   ━━━" in said[1]
    assert said[2].startswith("  WORKING  weights are being read  8 GPUs 0 % busy")
    assert said[2].endswith("…")
    whole = [plain(row) for row in load_rows(loading(84.0, verdict=long), 100, 5)]
    assert whole[3].startswith("  8 GPUs 0 % busy")
    assert whole[4].endswith("27 of 64 shards, 79.3 s each")


@pytest.mark.parametrize("rows", range(1, 10))
@pytest.mark.parametrize("cells", [40, 79, 119, 199])
def test_whatever_the_room_no_row_is_too_long_and_none_too_many(rows: int, cells: int) -> None:
    for verdict in (SLOW, WORKING, None, replace(SLOW, judgement=Judgement.STUCK, probe="py-spy dump " * 30)):
        shown = load_rows(loading(84.0, verdict=verdict), cells, rows)
        assert len(shown) <= rows
        assert all(width(row) <= cells for row in shown)


def test_other_loads_have_a_row_each() -> None:
    other = loading(165.0, unit=unit("vllm-b.service", "active", label="b"))
    shown = [plain(row) for row in load_rows(loading(84.0), 120, 4, (other,))]
    assert shown[-1].startswith("  ◐ b 2:45   capture   WORKING   ready in ")


def test_a_failure_is_named_with_what_to_do() -> None:
    ended = load.failed(replayed("dense-dies"), 97.0, "it exited with an error (exited 1)")
    said = Diagnosis("package_missing", "A Python package is missing", "flashinfer is not installed", "ModuleNotFoundError: x",
                     advice=("Start it without.", "Install it."))  # fmt: skip
    lines = text(loading(97.0, attempt=ended, diagnosis=said)).splitlines()
    assert lines[0] == "  ✖ ended 1:37 after its start in compile: it exited with an error (exited 1)"
    assert lines[1] == "  A Python package is missing: flashinfer is not installed"
    assert lines[2] == "  do: Start it without."
    short = [plain(row) for row in load_rows(loading(97.0, attempt=ended, diagnosis=said), 80, 2)]
    assert short == [lines[1], f"{lines[2]:<70}Enter: all"]
    assert "failed" in plain(summary_row(loading(97.0, attempt=ended), 80))
    undiagnosed = text(loading(97.0, attempt=ended)).splitlines()
    assert undiagnosed[1] == "  ModuleNotFoundError: No module named 'flashinfer'"


def test_three_rows_tell_why_and_what_to_do_whole() -> None:
    ended = load.failed(replayed("dense-dies"), 97.0, "it exited with an error (exited 1)")
    said = Diagnosis(
        "oom", "Memory", "It is full.", "x", advice=("Lower it " + "so that more stays free " * 3 + "then", "Or wait.")
    )
    rows = [plain(row) for row in load_rows(loading(97.0, attempt=ended, diagnosis=said), 80, 3)]
    assert rows[0] == "  Memory: It is full."
    assert " ".join(" ".join(rows[1:]).split()) == f"do: {said.advice[0]}".strip()
    whole = [plain(row) for row in load_rows(loading(97.0, attempt=ended, diagnosis=said), 80, 9)]
    assert whole[0].startswith("  ✖ ended 1:37")
    assert whole[-1] == "  or: Wait."
    assert wanted(loading(97.0, attempt=ended, diagnosis=said), 80) == len(whole)
    stuck = Verdict(Judgement.STUCK, "nothing comes", ("a reading",), advice="Try this.", stalled_s=280.0)
    alarm = [plain(row) for row in load_rows(loading(84.0, verdict=stuck), 100, 3)]
    assert alarm[0].startswith("  STUCK in ")
    assert alarm[0].endswith("nothing moves for 4:40: nothing comes")
    assert alarm[1:] == ["  a reading", "  do: Try this."]


def test_a_stop_on_request_is_no_failure() -> None:
    ended = load.failed(replace(replayed("moe-sync", until=50.0), stop_asked=True), 60.0, "it was stopped on request")
    lines = text(loading(60.0, attempt=ended, verdict=None)).splitlines()
    assert lines[0].startswith("  ○ ended 1:00 after its start: it was stopped on request")
    assert "○ stopped" in plain(summary_row(loading(60.0, attempt=ended), 80))


def test_the_title_keeps_the_interval_longer_than_its_basis() -> None:
    assert plain(summary_row(loading(84.0), 100)).endswith("(3 earlier loads)")
    assert "ready in" in plain(summary_row(loading(84.0), 45))
    assert "earlier" not in plain(summary_row(loading(84.0), 45))


# -- the page --


def page(loaded: Loading, cells: int = 120) -> str:
    return "\n".join(plain(row) for row in page_rows(loaded, (), cells))


@pytest.mark.parametrize("cells", [40, 80, 120, 200])
@pytest.mark.parametrize("name", ["moe-eagle3", "dense-dies", "moe-ngram"])
def test_the_page_fits_every_width(cells: int, name: str) -> None:
    for row in page_rows(loading(84.0, name), (loading(60.0),), cells):
        assert width(row) <= cells


def test_phases_stand_beside_the_usual_ones() -> None:
    lines = page(loading(165.0)).splitlines()
    capture = next(line for line in lines if "capture" in line and "warm-up" not in line)
    assert capture.strip().startswith("▷ capture")
    assert "usually 0:25" in capture
    assert "presumed" in capture
    assert any("this load 2:45, earlier ones 3:10 from start to ready" in line for line in lines)


def test_bars_lie_where_their_time_was() -> None:
    lines = page(loading(165.0), 160).splitlines()
    bars = [line for line in lines if "━" in line and "usually" in line]
    starts = [line.index("━") for line in bars]
    assert starts == sorted(starts)
    config, compiled = bars[0].count("━"), next(line for line in bars if "compile" in line).count("━")
    assert 1.7 < config / compiled < 2.3


def test_facts_are_told_and_unknown_ones_are_not() -> None:
    said = page(loading(165.0))
    assert "speculation eagle3 k=3, drafter /tmp/m/eagle3-qwen3-30b-a3b" in said
    assert "KV cache 701,680 tokens" in said
    assert "KV cache" not in page(loading(84.0))


def test_the_page_of_a_failure_begins_with_the_card() -> None:
    ended = load.failed(replayed("dense-dies"), 97.0, "it exited with an error")
    card = Diagnosis(
        "x",
        "A package is missing",
        "It is not there.",
        "Error: x",
        "EngineCore",
        advice=("Do this.",),
        notes=("A note.",),
    )
    lines = [line.strip() for line in page(loading(97.0, attempt=ended, diagnosis=card)).splitlines() if line.strip()]
    assert lines[0].startswith("why it failed")
    assert lines[1:7] == ["✖ A package is missing", "It is not there.", "systemd: it exited with an error", "cause: EngineCore: Error: x",
                          "do: Do this.", "note: A note."]  # fmt: skip
    assert any(line.startswith("✖ compile") for line in lines)


def test_nothing_was_seen() -> None:
    assert "no start was seen" in plain(standing_row(None, 80))
    assert page_rows(None, (), 80) == []


def test_a_late_watch_says_what_it_did_not_see() -> None:
    late = load.begin("u", "i", None)
    timeline: LoadTimeline = replace(late, spans=(Span(Phase.WEIGHTS, None, begun=Certainty.UNSEEN),))
    said = page(Loading(unit(), timeline, 50.0))
    assert "its beginning was not seen" in said
    assert "—" in said


def test_charts_need_something_to_show() -> None:
    assert chart_rows(Trend(), 80) == []
    points = tuple(Point(float(n), cpu=n / 10, util=None, done=n / 40) for n in range(40))
    rows = [plain(row) for row in chart_rows(Trend(points), 80)]
    assert [row.split()[0] for row in rows] == ["weights", "CPU"]
    assert rows[1].endswith("3.9 cores")
    assert all(len(row) <= 80 for row in rows)


def test_a_long_load_fits_its_chart_and_gaps_stay_gaps() -> None:
    assert spread([1.0, 3.0, None, None, 5.0, 7.0], 3) == [2.0, None, 6.0]
    assert spread([1.0], 3) == [1.0]

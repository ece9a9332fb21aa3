"""What an engine does, on as many rows as there are; unknown never 0, nothing wider than its room."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from specconsole.engine.health import Health
from specconsole.engine.histogram import Histogram
from specconsole.engine.metrics import parse
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.engine.spec import SpecCounters
from specconsole.engine.window import Window, measure
from specconsole.ui.rows.engine import engine_rows, wanted
from specconsole.ui.rows.row import plain, width
from tests.engine import scraped
from tests.ui.engines import GROUP, full_window
from tests.ui.scene import engine


def shown(cells: int = 120, rows: int = 2, **changes: Any) -> list[str]:
    drawn = engine_rows(engine(**changes), cells, rows)
    assert all(width(one) <= cells for one in drawn)
    assert len(drawn) <= rows
    return [plain(one).strip() for one in drawn]


def test_two_rows_hold_what_counts() -> None:
    first, second = shown(200)
    assert first.startswith("running 3   waiting 0   out 73.5 tok/s   in 120.0 tok/s   TPOT 13.60 ms   TTFT 210 ms")
    assert "KV 41 % ━━━━───" in first
    assert second == "τ 1.69   coverage 48 %   AL 2.40   accepted 28 %   by position 0.60 0.40 0.22 0.12 0.06"


def test_three_rows_tell_the_latencies_apart() -> None:
    first, second, third = shown(200, 3)
    assert "TPOT" not in first
    assert second.startswith("TPOT 13.60 ms p50 12.1 p90 19.0 p99 45.0   TTFT 210 ms p50 187 p90 377 p99 483")
    assert third.startswith("τ 1.69")


def test_a_baseline_shows_its_latencies_in_the_second_row() -> None:
    _, second = shown(120, 2, spec=None, window=full_window(spec=None, tokens_per_step=1.0, coverage=None))
    assert second.startswith("TPOT 13.60 ms p50 12.1 ")


def test_essentials_stand_at_80_columns() -> None:
    first, second = shown(80)
    assert [
        part for part in ("running 3", "waiting 0", "73.5 tok/s", "TPOT 13.60 ms", "KV 41 %") if part not in first
    ] == []
    assert second.startswith("τ 1.69   coverage 48 %   AL 2.40")


def test_unknown_is_never_zero() -> None:
    lines = shown(window=None, running=None, waiting=None, kv_use=None, spec=None)
    assert lines[0].startswith("running —   waiting —   out — ")
    assert "0" not in "".join(lines)
    assert "0" not in "".join(shown(200, 8, window=None, running=None, waiting=None, kv_use=None, spec=None))


def test_why_it_does_not_answer_is_told_whole_where_there_is_room() -> None:
    why = "127.0.0.1:8000 gave no answer to /health within 2 s: busy, or it hangs; its log and the GPUs tell which."
    assert " ".join(shown(60, 3, health=Health.SILENT, reason=why)) == why
    assert len(shown(60, 1, health=Health.SILENT, reason=why)) == 1


def test_a_window_of_one_token_requests_has_no_tpot() -> None:
    nothing = Histogram((0.01, math.inf), (4, 4), 0.0, 4)
    assert "TPOT —" in shown(window=Window(10.0, generation_tok_s=0.4, tpot=nothing))[0]


def test_where_buckets_tell_only_a_bound_only_that_is_said() -> None:
    quick = Histogram((0.01, 0.025, math.inf), (99, 99, 100), 0.8, 100)
    assert "TPOT 8.00 ms p50 <10 p90 <10 p99 <10 " in shown(160, 3, window=full_window(tpot=quick))[1] + " "
    slow = Histogram((0.01, 0.025, math.inf), (0, 0, 100), 800.0, 100)
    assert "p50 >25 p90 >25 p99 >25" in shown(160, 3, window=full_window(tpot=slow))[1]


def test_several_engines_have_a_row_each_and_their_spread_is_told() -> None:
    lines = shown(200, 8, window=full_window(engines=GROUP))
    assert "KV 41 % (12–87)" in lines[0]
    assert lines[3].startswith("engine 0   running 3   waiting 0   out 20.0 tok/s   KV 12 %")
    assert [line.split()[1] for line in lines[3:]] == ["0", "1", "2", "3"]
    assert wanted(engine(window=full_window(engines=GROUP)), 200) == 7
    assert wanted(engine(), 200) == 3
    assert wanted(engine(spec=None), 200) == 2


def test_notes_have_rows_where_there_are_some() -> None:
    notes = tuple(f"Counter {name} is not told by this version." for name in "abcd")
    whole = shown(80, 8, notes=notes)
    assert " ".join(whole[3:]) == " ".join(notes)
    assert wanted(engine(notes=notes), 80) == len(whole)
    assert shown(80, 4, notes=notes)[3].endswith("…")


def test_versions_without_drafts_tell_the_rate_alone() -> None:
    old = SpecCounters(None, 200, 100)
    assert shown(spec=old, window=full_window(spec=old, coverage=None, tokens_per_step=None))[1] == (
        "τ —   coverage —   AL —   accepted 50 %"
    )


def test_a_step_stands_in_for_tpot_where_a_version_has_none() -> None:
    after = scraped.text("e01")
    before = parse(after.replace(" 5115.0", " 5015.0").replace(" 85.13999999999477", " 83.47"))
    v0 = measure(before, parse(after), 10.0)
    assert "step 16.70 ms" in shown(160, 3, spec=None, window=v0)[1]


def test_why_there_are_no_numbers() -> None:
    assert shown(window=None, running=None, no_data="the server logs no statistics")[0] == (
        "no numbers: the server logs no statistics"
    )
    assert shown(health=Health.REFUSED, reason="Nothing listens at 127.0.0.1:8000.")[0].startswith("Nothing listens")


def test_since_the_start_is_said_where_the_window_has_no_draft() -> None:
    assert shown(200, window=None)[1].endswith("since its start")


@given(st.integers(20, 240), st.integers(1, 9), st.booleans(), st.booleans(), st.floats(0, 1e7))
def test_no_row_is_wider_than_its_room(cells: int, rows: int, group: bool, known: bool, rate: float) -> None:
    some = full_window(engines=GROUP if group else (), generation_tok_s=rate, preemptions=rate)
    snapshot: EngineSnapshot = engine(window=some if known else None, running=3000, waiting=12000)
    drawn = engine_rows(snapshot, cells, rows)
    assert all(width(row) <= cells for row in drawn)
    assert len(drawn) <= rows

"""Cells of several axes: which there are, what a server has room for, streams that were really in flight, and how long it takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specconsole.bench import forecast
from specconsole.bench.cell_table import Cell, facts, tables
from specconsole.bench.check import check
from specconsole.bench.forecast import Pace
from specconsole.bench.grid import (
    Axes,
    Room,
    cells,
    decoding,
    in_flight,
    kv_limited,
    listed,
    refuse_random,
    size,
)
from specconsole.bench.prompt import Prompt, PromptSet, draw
from specconsole.bench.run import BenchRun, ScrapeText, Window
from specconsole.bench.spec import BenchSpec
from specconsole.errors import UsageError
from specconsole.verb import output
from tests.bench import made
from tests.bench.made import stream

SET = PromptSet("default", (Prompt("a", "A?"), Prompt("b", "B?")), 2)
BASE = BenchSpec(SET.prompts, repeat=1, max_tokens=100, warmup=0)
POOL = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="25"} 1.0\n'


def test_each_combination_is_a_cell_of_its_own() -> None:
    other = replace(SET, name="other")
    found = cells(Axes((8, 1), (4096, 0), (0.0, 0.7)), [SET, other], BASE)
    asked = [(one.prompt_set, one.temperature, one.context, one.concurrency) for one in found]
    assert len(asked) == len(set(asked)) == 16
    assert asked[:4] == [
        ("default", 0.0, 0, 1),
        ("default", 0.0, 0, 8),
        ("default", 0.0, 4096, 1),
        ("default", 0.0, 4096, 8),
    ]
    assert {one.digest for one in found} == {SET.digest}
    with pytest.raises(UsageError, match="201 cells"):
        cells(Axes(tuple(range(1, 202))), [SET], BASE)


def test_lists_of_the_command_line() -> None:
    assert listed("--context", "0, 8k,8K,1M,8k", size) == (0, 8000, 8192, 1 << 20)
    assert listed("--temperature", "0,0.7", float) == (0.0, 0.7)
    for words in ("", "1,", "8x", "-1"):
        with pytest.raises(UsageError, match="no number"):
            listed("--context", words, size)


def test_room_refuses_what_never_fits_and_marks_what_waits() -> None:
    room = Room(max_model_len=4096, kv_tokens=10_000)
    deep = replace(BASE, context=3000)
    assert room.refusal(deep) == ""
    assert room.refusal(replace(BASE, context=4000)).startswith("4,100 tokens are more than the model's limit of 4,096")
    assert "does not fit" in Room(None, 1000).refusal(replace(BASE, context=1000))
    assert room.fitting(deep) == 3
    assert (room.limited(replace(deep, concurrency=3)), room.limited(replace(deep, concurrency=4))) == (False, True)
    assert room.fitting(BASE) is None, "how long the prompts are is not known yet"
    assert Room().limited(replace(deep, concurrency=99)) is False
    assert Room().refusal(deep) == ""


def crowd(kv: str = POOL) -> BenchRun:
    """Four streams of a second in two seconds, at most two at once: of 51 tokens each with a pool of 400."""
    rows = tuple(stream(f"p/{place}", (1,) * 51, step_ms=20, ttft_ms=0.001, sent_s=place // 2) for place in range(4))
    run = made.run(rows)
    spec = replace(run.spec, concurrency=8, max_tokens=51)
    window = Window(tuple(one.id for one in rows), 0, 1)
    texts = tuple(ScrapeText(one.at, (one.text or "") + kv) for one in (run.scrapes[0], run.scrapes[-1]))
    return replace(run, spec=spec, windows=(window,), scrapes=texts)


def test_streams_in_flight_are_measured_not_taken_as_asked() -> None:
    assert in_flight(crowd()) == pytest.approx(2.0, rel=1e-3)
    assert decoding(crowd()) == pytest.approx(2.0, rel=1e-3)
    alone = made.run((stream("a/0", (1, 3)), stream("b/0", (2, 2), sent_s=9.0)))
    assert in_flight(alone) == pytest.approx(1.0), "what passes between two requests of one stream does not count"
    assert in_flight(made.run(())) is None


def test_a_run_that_the_cache_limited_says_so() -> None:
    run = crowd()
    assert kv_limited(run)  # 400 / (50 + 51) is 3, fewer than 8
    assert [one.text for one in check(run) if one.code == "kv-limited"] == [
        "The KV cache holds 3 requests of this length at once, not 8: the others waited."
    ]
    assert not kv_limited(replace(run, spec=replace(run.spec, concurrency=3)))
    assert not kv_limited(crowd(kv=""))


def test_the_log_tells_the_pool_where_the_metrics_do_not() -> None:
    run = crowd(kv="")
    told = replace(run, identity=replace(run.identity, kv_tokens=400))
    assert told.kv_tokens == 400
    assert kv_limited(told)
    assert crowd().kv_tokens == 400


def test_a_context_that_was_missed_is_said() -> None:
    run = crowd()
    assert [one.code for one in check(replace(run, spec=replace(run.spec, context=8000))) if one.code == "context"] == [
        "context"
    ]
    assert not [one for one in check(replace(run, spec=replace(run.spec, context=51))) if one.code == "context"]


def test_random_words_for_speculation_only_where_asked() -> None:
    specs = cells(Axes(), [draw("random", 3)], BASE)
    for speculates, allowed in ((False, False), (True, True)):
        refuse_random(specs, speculates=speculates, allowed=allowed)
    with pytest.raises(UsageError, match="Random words"):
        refuse_random(specs, speculates=True, allowed=False)
    refuse_random(cells(Axes(), [SET], BASE), speculates=True, allowed=False)
    speculating = made.run((stream("a/0", (1, 3)),), drafts=[1, 1, 0])
    said = replace(speculating, spec=replace(speculating.spec, prompt_set="random"))
    assert [one.code for one in check(said) if one.code == "random"] == ["random"]


def test_how_long_cells_take() -> None:
    many = replace(BASE, concurrency=4, warmup=None, repeat=2)  # eight requests in two rounds, and 2 to 5 of warm-up
    assert forecast.seconds([many], []) is None
    assert forecast.seconds([many], [Pace(0.01, 1.0, 4)]) == pytest.approx((4 * 2.0, 7 * 2.0))
    low, high = forecast.seconds([many], [Pace(0.01, 0.0, 1)]) or (0.0, 0.0)
    assert (low, high) == pytest.approx((4 * 1.0, 7 * 2.0)), "TPOT stays at best, and grows with the root at worst"
    assert forecast.seconds([BASE, BASE], [Pace(9.0, 0.0, 64), Pace(0.01, 0.0, 1)]) == pytest.approx((4.0, 4.0)), (
        "the nearest"
    )
    assert forecast.remembered({"tpot_s": 0.01, "concurrency": 2}) == Pace(0.01, 0.0, 2)
    assert forecast.remembered({"tpot_s": "x"}) is None


def test_one_row_a_cell_within_80_columns() -> None:
    run = crowd()
    deep = replace(run.spec, context=131_072, concurrency=32, temperature=0.7)
    wide = replace(run, spec=deep)
    found = [
        Cell(run.spec, run),
        Cell(deep, wide),
        Cell(replace(deep, concurrency=512), refused="it is too long"),
        Cell(deep),
    ]
    (table,) = tables(found, Room(None, 262_144))
    text = output.table(table.header, table.rows, right=table.right)
    assert max(map(len, text.splitlines())) <= 80
    assert "8 (2.0)" in text
    assert table.rows[0][-1].startswith("KV 3")
    assert table.rows[2][-1] == "skipped"
    assert table.rows[3][-1] == "KV 1", "what is known before it was measured"
    assert any("it is too long" in note for note in table.notes)
    told = facts(found[0], Room())
    assert (told["kv_limited"], told["kv_fits"], told["concurrency"]) == (True, 3, 8)
    assert facts(found[2], Room())["refused"] == "it is too long"

"""All that an engine says, on its own screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from specconsole.engine.health import Health
from specconsole.engine.history import EngineHistory
from specconsole.engine.metrics import parse
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.engine.spec import SpecCounters, spec_counters
from specconsole.engine.window import measure
from specconsole.ui.rows.engine_page import curves_of, page_rows
from specconsole.ui.rows.row import plain, width
from specconsole.ui.screens.dashboard import DashboardScreen
from specconsole.ui.screens.engine import EngineScreen
from specconsole.ui.widgets.engine import EnginePane
from tests.engine import scraped
from tests.ui.engines import GROUP, full_window
from tests.ui.scene import NGRAM, Scene, engine, unit, units
from tests.ui.test_dashboard import text


def past(*snapshots: EngineSnapshot) -> EngineHistory:
    history = EngineHistory()
    for snapshot in snapshots:
        history.add(snapshot)
    return history


def page(cells: int = 120, height: int = 37, **changes: Any) -> list[str]:
    snapshot = engine(**changes)
    rows = page_rows(snapshot, past(snapshot), cells, height)
    assert all(width(row) <= cells for row in rows)
    return [plain(row).rstrip() for row in rows]


def test_nothing_of_a_page_is_cut_at_80() -> None:
    before, after = parse(scraped.text("0.24-M5-ready")), parse(scraped.text("0.24-M5-end"))
    said = page(80, window=measure(before, after, 100.0), spec=spec_counters(after), notes=("A long note. " * 12,))
    assert not [line for line in said if "…" in line]
    table = " ".join(said)
    assert " ".join(table.split()).count("A long note.") == 12
    assert "TTFT: arrival to first token, queueing included" in " ".join(table.split())
    assert next(line for line in said if line.split()[-3:] == ["4,368", "21,840", "10,390"]).startswith(" over 100 s")


def test_positions_go_on_below_where_there_are_many() -> None:
    many = SpecCounters(100, 1200, 300, tuple(range(60, 48, -1)))
    said = page(80, spec=many, window=full_window(spec=many))
    heads = [line.split() for line in said if line.split()[:1] in (["speculation"], ["7"])]
    assert heads == [["speculation", *map(str, range(1, 7))], [*map(str, range(7, 13))]]
    assert not [line for line in said if "…" in line]


def test_a_recorded_run_agrees_with_its_counters_to_the_last_position() -> None:
    before, after = parse(scraped.text("0.24-M5-ready")), parse(scraped.text("0.24-M5-end"))
    said = page(window=measure(before, after, 100.0), spec=spec_counters(after))
    assert any(line.split()[:4] == ["TPOT", "67", "4.36", "ms"] for line in said)
    assert any(line.split()[:4] == ["step", "5,082", "12.22", "ms"] for line in said)
    lately = next(line for line in said if line.startswith(" over 100 s"))
    assert lately.split()[3:] == [
        "of",
        "all",
        "drafts",
        "0.62",
        "0.51",
        "0.45",
        "0.41",
        "0.39",
        "4,368",
        "21,840",
        "10,390",
    ]
    assert any(line.split() == ["ended", "in", "100", "s", "67", "length"] for line in said)


def test_curves_have_fixed_or_round_scales() -> None:
    snapshot = engine()
    curves = {curve.name: curve for curve in curves_of(snapshot, past(snapshot))}
    assert [*curves] == ["out, tok/s", "in, tok/s", "running", "waiting", "KV cache", "TPOT, ms", "τ", "accepted"]
    assert (curves["out, tok/s"].top, curves["KV cache"].top, curves["waiting"].top) == (100, 1, 1)
    assert curves["TPOT, ms"].label(curves["TPOT, ms"].top) == "20"
    baseline = engine(spec=None, window=full_window(spec=None))
    assert [curve.name for curve in curves_of(baseline, past(baseline))][-1] == "TPOT, ms"


def test_what_a_version_does_not_tell_is_said() -> None:
    said = page(window=full_window(ttft=None, queue=None))
    assert any(
        line.split()[:2] == ["TTFT", "—"] and "not told: no such counter in this version" in line for line in said
    )
    assert any(
        "12 requests of one token are left out of TPOT" in line for line in page(window=full_window(one_token=12.0))
    )
    assert any("may be in TPOT" in line for line in page(window=full_window(tpot_mixed=True)))


def test_each_engine_has_a_line() -> None:
    said = page(window=full_window(engines=GROUP))
    at = next(i for i, line in enumerate(said) if line.startswith(" 4 engines"))
    assert [line.split()[0] for line in said[at + 1 : at + 5]] == ["0", "1", "2", "3"]
    assert said[at + 2].split() == ["1", "3", "0", "37", "%", "21.0", "100.0", "0"]


def test_without_numbers_only_the_reason_stands_there() -> None:
    assert page(health=Health.DEAD, reason="/health answers 503.") == ["  /health answers 503."]
    assert (
        page(running=None, window=None, no_data="it answered with nothing")[0]
        == "  no numbers: it answered with nothing"
    )


@given(st.integers(20, 220), st.integers(3, 60), st.booleans(), st.booleans())
def test_no_row_is_wider_than_its_room(cells: int, height: int, group: bool, known: bool) -> None:
    page(cells, height, window=full_window(engines=GROUP if group else ()) if known else None)


def test_a_pause_ends_what_was_known_and_unknown_is_a_hole() -> None:
    history = past(*(engine(mono=float(second)) for second in (0, 2, 4, 60)), engine(mono=62.0, window=None))
    assert history.times == (0, 2, 4, 6, 60, 62)
    assert history.column("generation_tok_s") == (73.5, 73.5, 73.5, None, 73.5, None)
    short = EngineHistory(3)
    for second in range(9):
        short.add(engine(mono=float(second), running=second))
    assert short.column("running") == (6, 7, 8)


async def test_enter_opens_it_and_another_unit_begins_anew(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene().fill()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        scene.app.screen.query_one(EnginePane).focus()
        await scene.press(pilot, "enter")
        assert isinstance(scene.app.screen, EngineScreen)
        assert " engine  ngram  ● answering" in text(scene)
        assert "73.5 tok/s" in text(scene)
        scene.feeds.put("engine", engine(mono=scene.clock.monotonic() + 2, window=full_window(generation_tok_s=88.0)))
        await scene.settle(pilot)
        assert "88.0 tok/s" in text(scene)
        assert scene.app.engine_past is not None
        assert len(scene.app.engine_past.times) == 2
        scene.feeds.put("units", (unit(NGRAM, label="ngram"), unit("vllm-other.service", "active", label="other")))
        await scene.settle(pilot)
        assert not scene.app.engine_past.times
        scene.feeds.put("units", units("inactive"))
        await scene.settle(pilot)
        assert "no unit runs" in text(scene)
        await scene.press(pilot, "escape")
        assert isinstance(scene.app.screen, DashboardScreen)

"""What header, units and engine panes say, as rows: no app needed."""

from __future__ import annotations

import pytest

from specconsole.engine.health import Health
from specconsole.host.base import Link, LinkKind
from specconsole.service.unit import Unit
from specconsole.ui.derived import served
from specconsole.ui.rows.row import plain, width
from specconsole.ui.rows.unit_word import StateWord, engine_word, running_unit, state_word
from specconsole.ui.widgets.engine import standing
from specconsole.ui.widgets.header import Served, header_row
from specconsole.ui.widgets.units import Entry, unit_rows
from tests.ui.scene import engine, unit, units

SERVED = Served("Kimi-K2.5-INT4", "0.16.0", "TP8", "ngram k=5")


def header(link: Link | None, cells: int = 120, *, rights: str = "read/write", host: str = "root@gpu-1") -> str:
    row = header_row(host, link, SERVED, rights=rights, clock="14:52:31", now=100.0, cells=cells)
    assert width(row) == cells
    return plain(row)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (None, "◌ connecting"),
        (Link(LinkKind.CONNECTING, 99.0), "◌ connecting"),
        (Link(LinkKind.CONNECTING, 99.0, attempt=2), "◌ connecting, attempt 2"),
        (Link(LinkKind.UP, 10.0, round_trip_s=0.0123), "● up 12 ms"),
        (Link(LinkKind.UP, 10.0), "● up "),
        (Link(LinkKind.STALE, 96.0), "◌ stale 4 s"),
        (Link(LinkKind.LOST, 90.0, attempt=3, next_try=104.0), "✖ lost, attempt 3, next try in 4 s"),
        (Link(LinkKind.LOST, 90.0, attempt=3, next_try=99.0), "✖ lost, attempt 3, trying now"),
        (Link(LinkKind.LOST, 90.0), "✖ lost, trying now"),
        (Link(LinkKind.REFUSED, 90.0, reason="[/x] the host key changed"), "✖ refused: [/x] the host key changed"),
        (Link(LinkKind.CLOSED, 90.0), "○ closed"),
    ],
)
@pytest.mark.parametrize("cells", [80, 120, 200])
def test_the_link_is_said_at_every_width(link: Link | None, words: str, cells: int) -> None:
    assert words in header(link, cells)


def test_header_of_each_width() -> None:
    up = Link(LinkKind.UP, 10.0, round_trip_s=0.012)
    whole = "specconsole  root@gpu-1 ● up 12 ms  Kimi-K2.5-INT4 · vLLM 0.16.0 · TP8 · ngram k=5"
    assert whole in header(up, 120)
    assert "read/write   14:52:31" in header(up, 120)
    assert "root@gpu-1 ● up 12 ms  Kimi-K2.5-INT4 · TP8 · ngram k=5" in header(up, 80)
    assert "root@gpu-1 ● up 12 ms" in header(up, 40)


@pytest.mark.parametrize("cells", [60, 80, 200])
def test_read_only_is_said_at_every_width(cells: int) -> None:
    assert "read-only" in header(Link(LinkKind.UP, 10.0), cells, rights="read-only")


def test_nothing_is_said_of_rights_before_they_are_known() -> None:
    shown = header(Link(LinkKind.CONNECTING, 10.0), rights="")
    assert "read" not in shown
    assert "14:52:31" in shown


@pytest.mark.parametrize(
    ("one", "server", "said"),
    [
        (unit(active="active"), engine_word(engine(), False), ("●", "serving", "good")),
        (unit(active="active"), engine_word(engine(Health.REFUSED), False), ("◐", "loading", "busy")),
        (unit(active="active"), engine_word(engine(Health.REFUSED), True), ("▲", "not answering", "warn")),
        (unit(active="active"), engine_word(engine(quiet_s=9.0), True), ("▲", "stalled", "warn")),
        (unit(active="active"), engine_word(engine(Health.DEAD), True), ("✖", "engine dead", "bad")),
        (unit(active="active"), engine_word(engine(Health.SILENT), True), ("▲", "silent", "warn")),
        (unit(active="active"), None, ("●", "running", "text")),
        (unit(active="failed"), engine_word(engine(), True), ("✖", "failed", "bad")),
        (unit(active="activating", sub="start"), None, ("◐", "starting", "busy")),
        (unit(active="activating", sub="auto-restart"), None, ("↻", "restarting", "warn")),
        (unit(active="deactivating", sub="stop-sigterm"), None, ("◐", "stopping", "busy")),
        (unit(), None, ("○", "stopped", "muted")),
        (unit(active="failed", result="oom-kill"), None, ("✖", "failed (oom-kill)", "bad")),
        (unit(active="failed"), None, ("✖", "failed", "bad")),
        (unit(load="masked"), None, ("?", "masked", "warn")),
        (unit(active="active", load="masked"), None, ("●", "running", "text")),
        (unit(active="maintenance"), None, ("?", "maintenance", "warn")),
    ],
)
def test_state_is_a_glyph_and_a_word(one: Unit, server: StateWord | None, said: tuple[str, str, str]) -> None:
    word = state_word(one, server)
    assert (word.glyph, word.word, word.ink) == said


def test_only_what_answers_is_green() -> None:
    for active in ("active", "activating", "deactivating", "inactive", "failed", "reloading", "odd"):
        assert state_word(unit(active=active), None).ink != "good"
        for health in set(Health) - {Health.ANSWERING}:
            assert state_word(unit(active=active), engine_word(engine(health), True)).ink != "good"


def rows(*shown: Unit, cells: int = 60, since: float | None = 2292.0) -> list[str]:
    entries = [Entry(one, state_word(one, engine_word(engine(), True)), since) for one in shown]
    drawn = unit_rows(entries, cells)
    assert [width(row) for row in drawn] == [cells] * len(drawn)
    return [plain(row) for row in drawn]


def test_unit_rows() -> None:
    ngram, base = rows(*units())
    assert ngram.startswith("● ngram    serving  ngram k=5  disabled")
    assert base.startswith("○ baseline stopped")
    assert ngram.endswith("38 min")
    assert rows(unit(), since=None)[0].rstrip().endswith("stopped  disabled")
    assert "3 restarts" in rows(unit(active="active", restarts=3))[0]
    assert "ngram k=5" not in rows(*units(), cells=31)[0]
    assert rows(unit("a" * 80, "active"), cells=31)[0].endswith("… serving 38 min")


def test_the_engine_asked_is_of_an_active_unit_before_others() -> None:
    starting, active = unit("a.service", "activating"), unit("b.service", "active")
    assert running_unit((unit(), starting, active)) is active
    assert running_unit((unit(), starting)) is starting
    assert running_unit((unit(), unit(active="failed"))) is None


@pytest.mark.parametrize(
    ("health", "words", "ink"),
    [
        (Health.REFUSED, "◐ not answering yet", "busy"),
        (Health.STARTING, "◐ listens, serves no model yet", "busy"),
        (Health.ANSWERING, "● answering", "good"),
        (Health.SILENT, "▲ gives no answer in time", "warn"),
        (Health.DEAD, "✖ the engine has died", "bad"),
        (Health.WRONG, "✖ not the expected server", "bad"),
    ],
)
def test_engine_standing(health: Health, words: str, ink: str) -> None:
    assert standing(engine(health)) == (words, ink)


def test_a_server_whose_tokens_stopped_is_not_green() -> None:
    words, ink = standing(engine(quiet_s=12.0))
    assert words == "▲ no token for 0:12 while requests run"
    assert ink == "warn"


def test_what_is_served_comes_from_the_server_or_from_the_unit() -> None:
    ngram = units()[0]
    assert served(ngram, engine()) == SERVED
    assert served(ngram, None) == Served("Kimi-K2.5-INT4", "", "TP8", "ngram k=5")
    assert served(None, engine()) == Served()

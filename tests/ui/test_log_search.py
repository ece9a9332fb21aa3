"""A search: hits counted as they are found and as lines come and go, and the way from one to the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from specconsole.logs import sweep as sweeps
from specconsole.logs.buffer import Filter, LogBuffer
from specconsole.logs.pattern import Pattern
from specconsole.logs.sweep import spot
from specconsole.ui.log import search as log_search
from specconsole.ui.log.search import LogSearch
from specconsole.ui.log.title import holding, search_row
from specconsole.ui.log.window import LogWindow
from specconsole.ui.rows.row import plain
from tests.ui.scene import record


@pytest.fixture
def log() -> Iterator[LogBuffer]:
    made = LogBuffer(200, spool_records=100, first=0)
    yield made
    made.close()


def fill(log: LogBuffer, count: int, every: int = 10) -> None:
    """Every tenth record holds a hit."""
    begin = log.next
    log.append([record(i, f"hit {i}" if i % every == 0 else f"line {i}") for i in range(begin, begin + count)])


def window(log: LogBuffer, height: int = 5) -> LogWindow:
    made = LogWindow(log, Filter())
    made.resize(height)
    made.sync()
    return made


def show(search: LogSearch, win: LogWindow) -> None:
    lines = win.lines()
    search.show(*(spot(line.record.seq, line.part) for line in (lines[0], lines[-1])))


def under_cursor(win: LogWindow) -> str:
    found = win.current()
    return found.text if found else ""


def test_the_newest_hit_in_view_is_first_and_the_way_leads_on(log: LogBuffer) -> None:
    fill(log, 51)
    win = window(log)
    search = LogSearch(win, Pattern("hit"))
    show(search, win)
    assert win.following, "a hit is in view: nothing moves"
    assert (search.position, search.count) == (6, 6)
    assert not search.go(1)
    assert search.go(-1)
    assert under_cursor(win) == "hit 40"
    assert search.position == 5
    assert search.go(1)
    assert under_cursor(win) == "hit 50"


def test_from_a_cursor_that_was_moved_the_nearest_hit_is_next(log: LogBuffer) -> None:
    fill(log, 51)
    win = window(log)
    search = LogSearch(win, Pattern("hit"))
    win.go(25)
    assert search.go(-1)
    assert under_cursor(win) == "hit 20"
    win.go(25)
    assert search.go(1)
    assert under_cursor(win) == "hit 30"


def test_hits_are_counted_as_lines_come_and_go(log: LogBuffer) -> None:
    fill(log, 200)
    win = window(log)
    search = LogSearch(win, Pattern("hit"))
    win.go(100)
    search.go(1)
    assert (search.position, search.count) == (12, 20)
    fill(log, 110)
    win.sync()
    search.sync()
    assert log.first == 100
    assert (search.position, search.count) == (2, 21)
    assert under_cursor(win) == "hit 110"


def test_a_search_goes_back_to_what_it_has_not_seen_yet(log: LogBuffer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "SLICE_BYTES", 50)
    monkeypatch.setattr(log_search, "AT_ONCE", 1)
    fill(log, 100, every=40)
    win = window(log)
    search = LogSearch(win, Pattern("hit"))
    assert (search.count, search.done, search.position) == (0, False, None)
    assert "so far" in plain(search_row(search))
    show(search, win)
    while not search.done:
        search.advance()
        if search.at is not None and not win.following:
            break
    assert under_cursor(win) == "hit 80"
    assert search.go(-1), "there may be one"
    while not search.done:
        search.advance()
    assert under_cursor(win) == "hit 40"


def test_a_hit_below_is_taken_where_there_is_none_above(log: LogBuffer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "SLICE_BYTES", 50)
    monkeypatch.setattr(log_search, "AT_ONCE", 1)
    log.append([record(i, f"line {i}") for i in range(60)] + [record(60, "hit")] + [record(61, "x")] * 30)
    win = window(log)
    win.to_top()
    search = LogSearch(win, Pattern("hit"))
    show(search, win)
    while not search.done:
        search.advance()
    assert under_cursor(win) == "hit"


def test_the_line_of_a_long_record_that_holds_it_is_shown(log: LogBuffer) -> None:
    log.append([record(0, "\n".join(f"frame {i}" for i in range(50)))])
    win = window(log)
    search = LogSearch(win, Pattern("frame 17"))
    show(search, win)
    assert any(line.part == 17 and line.chosen for line in win.lines())


def test_what_is_wrong_is_said_in_a_word(log: LogBuffer) -> None:
    log.append([record(0, "a" * 60 + "b")])
    win = window(log)
    said = {
        "(": "/(/ invalid",
        "(a+)+$": "/(a+)+$/ too slow",
        "q": "/q/ no hit",
        "a": "/a/ 1",
    }
    for text, row in said.items():
        search = LogSearch(win, Pattern(text, regex=True))
        assert plain(search_row(search)) == row
        assert search.done
        search.sync()
        assert search.go(1) == (text == "a" and False)


def test_the_title_says_whether_it_follows(log: LogBuffer) -> None:
    fill(log, 30)
    win = window(log)
    assert plain(holding(win)) == "following"
    win.hold()
    assert plain(holding(win)) == "▮ held  G follows"
    fill(log, 1)
    win.sync()
    assert plain(holding(win)) == "▮ held, 1 new entry  G follows"
    fill(log, 1200)
    win.sync()
    assert "new entries" in plain(holding(win))

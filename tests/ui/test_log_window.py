"""The window over a log: follows the end, lets go on scroll, stays in place while lines come and old ones fall off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from specconsole.logs import sweep
from specconsole.logs.buffer import Filter, LogBuffer
from specconsole.logs.pattern import Pattern
from specconsole.logs.record import Level
from specconsole.ui.log.layout import Layout
from specconsole.ui.log.window import LogWindow
from tests.ui.scene import record

OPEN: list[LogBuffer] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Give back the spools of the buffers that a test made."""
    yield
    while OPEN:
        OPEN.pop().close()


def buffer(limit: int = 1000, spool_records: int = 1, first: int = 0) -> LogBuffer:
    OPEN.append(LogBuffer(limit, spool_records=spool_records, first=first))
    return OPEN[-1]


def window(count: int, height: int = 5, limit: int = 1000) -> tuple[LogBuffer, LogWindow]:
    store = buffer(limit)
    store.append([record(i, f"line {i}") for i in range(count)])
    made = LogWindow(store, Filter())
    made.resize(height)
    made.sync()
    return store, made


def texts(of: LogWindow) -> list[str]:
    return [line.record.text.split("\n")[line.part] for line in of.lines()]


def under_cursor(of: LogWindow) -> str:
    record = of.current()
    return record.text if record else ""


def more(store: LogBuffer, count: int) -> None:
    store.append([record(store.next + i, f"line {store.next + i}") for i in range(count)])


def test_it_follows_the_end() -> None:
    store, win = window(20)
    assert texts(win) == [f"line {i}" for i in range(15, 20)]
    more(store, 3)
    assert win.sync()
    assert texts(win)[-1] == "line 22"
    assert win.unseen == 0


def test_scrolling_up_lets_go_and_counts_what_comes() -> None:
    store, win = window(20)
    win.scroll(-2)
    shown = texts(win)
    more(store, 7)
    win.sync()
    assert texts(win) == shown, "what is read must not move"
    assert win.unseen == 7
    win.to_end()
    assert texts(win)[-1] == "line 26"
    assert win.unseen == 0


def test_going_down_at_the_end_follows_again() -> None:
    store, win = window(20)
    win.scroll(-2)
    win.scroll(2)
    assert not win.following
    win.scroll(1)
    assert win.following
    more(store, 1)
    win.sync()
    assert texts(win)[-1] == "line 20"


def test_a_record_of_many_lines_is_scrolled_by_lines() -> None:
    store, win = window(4, height=3)
    store.append([record(4, "Traceback:\n  one\n  two\nError")])
    win.sync()
    assert texts(win) == ["  one", "  two", "Error"]
    win.scroll(-1)
    assert texts(win) == ["Traceback:", "  one", "  two"]


def test_lines_that_fall_off_take_the_view_along() -> None:
    store, win = window(20, limit=20)
    win.to_top()
    assert texts(win)[0] == "line 0"
    more(store, 5)
    win.sync()
    assert texts(win)[0] == "line 5"
    assert win.end - win.first == 20


def test_only_chosen_records_count() -> None:
    store = buffer(spool_records=100)
    store.append([record(i, f"line {i}", unit="a" if i % 3 else "b") for i in range(30)])
    win = LogWindow(store, Filter(units=frozenset("b")))
    win.resize(4)
    win.sync()
    assert texts(win) == ["line 18", "line 21", "line 24", "line 27"]
    assert win.end - win.first == 10


def test_what_only_older_lines_hold_is_shown_once_they_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "SLICE_BYTES", 50)
    store = buffer(spool_records=100)
    store.append([record(i, "hit" if i < 5 else f"line {i}") for i in range(200)])
    win = LogWindow(store, Filter())
    win.resize(3)
    win.hold()
    win.choose(Filter(text=Pattern("hit")))
    assert win.first == win.end, "what is near the cursor holds none"
    while not win.sweep.done:
        win.advance()
        assert (win.current() is None) == (win.first == win.end)
    assert [line.record.seq for line in win.lines()] == [2, 3, 4]
    assert [line.record.seq for line in win.lines() if line.chosen] == [4]


def test_errors_are_found_both_ways_and_only_chosen_ones() -> None:
    levels = {4: Level.ERROR, 8: Level.ERROR, 12: Level.CRITICAL, 20: Level.WARNING}
    store = buffer(spool_records=100)
    store.append(
        [record(i, f"line {i}", unit="b" if i == 8 else "a", level=levels.get(i, Level.INFO)) for i in range(30)]
    )
    win = LogWindow(store, Filter(units=frozenset("a")))
    win.resize(5)
    win.sync()
    assert not win.find_grave(1), "following, there is nothing later"
    assert win.find_grave(-1)
    assert under_cursor(win) == "line 12"
    assert "line 12" in texts(win)
    assert win.find_grave(-1)
    assert under_cursor(win) == "line 4"
    assert not win.find_grave(-1)
    assert under_cursor(win) == "line 4"
    assert win.find_grave(1)
    assert under_cursor(win) == "line 12"


def test_share_for_the_scroll_bar() -> None:
    _, win = window(100, height=10)
    assert win.share(win.lines()) == (0.9, 1.0)
    win.to_top()
    assert win.share(win.lines()) == (0.0, 0.1)
    _, short = window(3)
    assert short.share(short.lines()) == (0.0, 1.0)
    _, empty = window(0)
    assert empty.share(empty.lines()) == (0.0, 1.0)


def test_an_empty_log_takes_every_key() -> None:
    _, win = window(0)
    moves: list[Callable[[], None]] = [
        partial(win.scroll, -3),
        partial(win.scroll, 3),
        win.to_top,
        win.to_end,
        win.hold,
    ]
    for move in moves:
        move()
        assert win.lines() == []
    assert not win.find_grave(1)


class AgainstAList(RuleBasedStateMachine):
    """The window against a plain list of lines."""

    def __init__(self) -> None:
        super().__init__()
        self.store = LogBuffer(40, spool_records=7, first=0)
        self.win = LogWindow(self.store, Filter())
        self.win.resize(6)

    def teardown(self) -> None:
        self.store.close()

    def _all(self) -> list[tuple[int, int]]:
        return [
            (r.seq, part)
            for r in self.store.get(self.store.first, self.store.next)
            for part in range(r.text.count("\n") + 1)
        ]

    def _shown(self) -> list[tuple[int, int]]:
        return [(line.record.seq, line.part) for line in self.win.lines()]

    @rule(sizes=st.lists(st.integers(1, 4), max_size=30))
    def log(self, sizes: list[int]) -> None:
        before = self._shown()
        self.store.append([record(self.store.next + i, "\n".join(["x"] * n)) for i, n in enumerate(sizes)])
        self.win.sync()
        if not self.win.following and before and before[0] in self._all() and len(before) == self.win.height:
            assert self._shown() == before

    @rule(lines=st.integers(-9, 9).filter(bool))
    def scroll(self, lines: int) -> None:
        everything, before = self._all(), self._shown()
        was_following, at_end = self.win.following, bool(before) and before[-1] == everything[-1]
        self.win.scroll(lines)
        after = self._shown()
        if before and not (lines > 0 and (was_following or at_end)):
            top = min(max(everything.index(before[0]) + lines, 0), max(len(everything) - self.win.height, 0))
            assert everything.index(after[0]) == top

    @rule(lines=st.integers(-9, 9).filter(bool))
    def step(self, lines: int) -> None:
        everything, was = self._all(), self._cursor()
        was_following = self.win.following
        self.win.step(lines)
        if was is None or was_following or self.win.following:
            return
        at = min(max(everything.index(was) + lines, 0), len(everything) - 1)
        assert self._cursor() == everything[at], "the cursor moves by lines"

    @rule(share=st.floats(0, 1))
    def go(self, share: float) -> None:
        if everything := self._all():
            number, part = everything[int(share * (len(everything) - 1))]
            self.win.go(number, part)
            assert self._cursor() == (number, part)

    @rule(room=st.sampled_from([0, 3, 8]))
    def wrap(self, room: int) -> None:
        before = self._cursor()
        self.win.relayout(Layout(room))
        if not self.win.following:
            assert self._cursor() == before, "a short line has one row in any layout: all stays in its place"

    def _cursor(self) -> tuple[int, int] | None:
        """Where the cursor is drawn."""
        if self.win.following:
            return self._shown()[-1] if self._shown() else None
        return next(((line.record.seq, line.part) for line in self.win.lines() if line.chosen), None)

    @invariant()
    def the_cursor_is_in_view_while_it_is_held(self) -> None:
        if not self.win.following and self._all():
            assert self._cursor() is not None

    @rule(height=st.integers(1, 12))
    def resize(self, height: int) -> None:
        self.win.resize(height)

    @rule(follow=st.booleans())
    def ends(self, follow: bool) -> None:
        self.win.to_end() if follow else self.win.to_top()

    @invariant()
    def shows_a_piece_of_the_log_without_holes(self) -> None:
        everything, shown = self._all(), self._shown()
        assert len(shown) == min(self.win.height, len(everything))
        if shown:
            start = everything.index(shown[0])
            assert everything[start : start + len(shown)] == shown
            if self.win.following:
                assert shown[-1] == everything[-1]
                assert self.win.unseen == 0


AgainstAList.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestAgainstAList = AgainstAList.TestCase

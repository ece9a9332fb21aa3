"""Keys that come between two paints: the log has gone on, and its oldest records are gone, before the window heard of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from specconsole.logs import sweep
from specconsole.logs.buffer import Filter, LogBuffer
from specconsole.logs.pattern import Pattern
from specconsole.logs.record import Level
from specconsole.logs.sweep import spot
from specconsole.ui.log import search as log_search
from specconsole.ui.log import window as log_window
from specconsole.ui.log.layout import Layout
from specconsole.ui.log.search import LogSearch
from specconsole.ui.log.window import LogWindow
from tests.ui.scene import record

FIRST_AT = record(0, "").at
FILTERS = (
    Filter(),
    Filter(text=Pattern("hit")),
    Filter(level=Level.ERROR),
    Filter(text=Pattern("nothing")),
    Filter(units=frozenset("b")),
)
MOVES = st.sampled_from([-9, -2, -1, 1, 3, 9])
LINES = st.lists(st.tuples(st.sampled_from(["x", "hit", "y\nhit", "x\ny\nx"]), st.booleans()), max_size=30)


@pytest.fixture(autouse=True, scope="module")
def slowly() -> Iterator[None]:
    """Look at few records at a time, so that a sweep is under way most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "SLICE_BYTES", 60)
        patch.setattr(sweep, "SLICE_RECORDS", 5)
        patch.setattr(log_window, "AT_ONCE", 1)
        patch.setattr(log_search, "AT_ONCE", 1)
        yield


class Keys(RuleBasedStateMachine):
    """Whatever is pressed, whenever lines come: what is in view is in the log."""

    def __init__(self) -> None:
        super().__init__()
        self.store = LogBuffer(40, spool_records=7, first=0)
        self.win = LogWindow(self.store, Filter())
        self.win.resize(6)
        self.search: LogSearch | None = None
        self.spots = [0]

    def teardown(self) -> None:
        self.store.close()

    @rule(lines=LINES)
    def log(self, lines: list[tuple[str, bool]]) -> None:
        levels = {True: Level.ERROR, False: Level.INFO}
        self.store.append([record(self.store.next + i, text, level=levels[bad]) for i, (text, bad) in enumerate(lines)])

    @rule()
    def paint(self) -> None:
        self.win.sync()
        if self.search:
            self.search.sync()

    @rule()
    def sweeps(self) -> None:
        self.win.advance()
        if self.search:
            self.search.advance()

    @rule(wanted=st.sampled_from(FILTERS))
    def choose(self, wanted: Filter) -> None:
        self.win.choose(wanted)

    @rule(direction=st.sampled_from([1, -1]))
    def find_error(self, direction: int) -> None:
        self.win.find_grave(direction)

    @rule(back_s=st.integers(-5, 90))
    def go_to_a_time(self, back_s: int) -> None:
        self.win.go_to(FIRST_AT + self.store.next - back_s)

    @rule()
    def remember(self) -> None:
        self.spots.append(self.win.spot)

    @rule(which=st.integers(0, 5))
    def return_to(self, which: int) -> None:
        self.win.go_spot(self.spots[-1 - which % len(self.spots)])

    @rule(follow=st.booleans())
    def ends(self, follow: bool) -> None:
        self.win.to_end() if follow else self.win.to_top()

    @rule(height=st.integers(0, 12), room=st.sampled_from([0, 3, 8]))
    def resize(self, height: int, room: int) -> None:
        self.win.resize(height)
        self.win.relayout(Layout(room))

    @rule(lines=MOVES, what=st.sampled_from(["scroll", "step"]))
    def move(self, lines: int, what: str) -> None:
        getattr(self.win, what)(lines)

    @rule(row=st.integers(0, 5))
    def click(self, row: int) -> None:
        self.win.point(row)
        self.win.mark()
        self.win.find_mark(1)

    @rule(text=st.sampled_from(["hit", "y", "nothing"]))
    def find(self, text: str) -> None:
        self.search = LogSearch(self.win, Pattern(text))
        if lines := self.win.lines():
            self.search.show(*(spot(line.record.seq, line.part) for line in (lines[0], lines[-1])))

    @precondition(lambda self: self.search)
    @rule(direction=st.sampled_from([1, -1]))
    def next_hit(self, direction: int) -> None:
        assert self.search
        self.search.go(direction)

    @rule()
    def look(self) -> None:
        held = range(self.store.first, self.store.next)
        assert all(line.record.seq in held for line in self.win.lines())


Keys.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestKeys = Keys.TestCase


def test_a_time_where_the_filter_shows_nothing() -> None:
    store = LogBuffer(first=0)
    store.append([record(i, f"line {i}") for i in range(20)])
    win = LogWindow(store, Filter(text=Pattern("nothing")))
    win.resize(5)
    while not win.sweep.done:
        win.advance()
    assert win.go_to(FIRST_AT) == ""
    assert win.lines() == []
    store.close()

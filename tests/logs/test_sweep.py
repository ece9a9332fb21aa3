"""A filter or a search over a growing log: in the end the same as looking at every record, the newest first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from specconsole.logs import sweep as sweeps
from specconsole.logs.buffer import Filter, LogBuffer
from specconsole.logs.pattern import Pattern
from specconsole.logs.record import Level, LogRecord
from specconsole.logs.sweep import Sweep, number_and_line, spot


def record(text: str = "x", **fields: object) -> LogRecord:
    return LogRecord(**{"seq": 0, "at": 5.0, "unit": "a", "text": text, **fields})  # type: ignore[arg-type]


@pytest.fixture
def log() -> Iterator[LogBuffer]:
    made = LogBuffer(spool_records=100)
    yield made
    made.close()


def found(sweep: Sweep) -> list[int]:
    return [sweep.found[i] for i in range(sweep.found.first, sweep.found.end)]


def test_the_newest_is_found_first(log: LogBuffer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "SLICE_RECORDS", 30)
    log.append([record(str(i)) for i in range(250)])
    sweep = Sweep(log, Filter())
    assert not sweep.done
    sweep.advance()
    assert found(sweep) == list(range(221, 251))
    assert sweep.share == pytest.approx(30 / 250)
    log.append([record("new")])
    assert sweep.new
    sweep.advance()
    assert found(sweep)[-1] == 251, "what is new comes before what is older"
    while not sweep.done:
        sweep.advance()
    assert found(sweep) == list(range(1, 252))
    assert sweep.share == 1.0


def test_every_line_that_holds_it_is_a_hit(log: LogBuffer) -> None:
    log.append([record("no"), record("one\ntwo oom\nthree oom oom"), record("oom")])
    sweep = Sweep(log, Filter(), Pattern("oom"))
    while not sweep.done:
        sweep.advance()
    assert [number_and_line(at) for at in found(sweep)] == [(2, 1), (2, 2), (3, 0)]


def test_an_endless_expression_is_given_up(log: LogBuffer) -> None:
    log.append([record("a" * 60 + "b")])
    sweep = Sweep(log, Filter(), Pattern("(a+)+$", regex=True))
    sweep.advance()
    assert (sweep.problem, sweep.done, len(sweep.found)) == ("too slow", True, 0)
    log.append([record("new")])
    assert sweep.done, "what is new is not tried either"


def test_lines_sort_by_record_then_by_line() -> None:
    assert spot(1, 5) < spot(2, 0) < spot(2, 1)
    assert number_and_line(spot(7, 1 << 30)) == (7, (1 << 20) - 1)


class AgainstLooking(RuleBasedStateMachine):
    """A filter, a text filter and a search on a small log that drops its oldest records, against looking at each."""

    def __init__(self) -> None:
        super().__init__()
        self.log = LogBuffer(60, spool_records=9, first=1)
        self.wanted = Filter(level=Level.WARNING, text=Pattern("a"))
        self.filter = Sweep(self.log, self.wanted)
        self.hits = Sweep(self.log, self.wanted, Pattern("b"))
        self.level = Sweep(self.log, Filter(level=Level.WARNING))

    def teardown(self) -> None:
        self.log.close()

    @rule(
        texts=st.lists(st.text("ab\n é", max_size=5), max_size=12), grave=st.sampled_from([Level.INFO, Level.WARNING])
    )
    def append(self, texts: list[str], grave: Level) -> None:
        self.log.append([record(text, level=grave) for text in texts])
        for sweep in (self.filter, self.hits, self.level):
            sweep.forget()

    @rule(count=st.integers(1, 3))
    def advance(self, count: int) -> None:
        for sweep in (self.filter, self.hits, self.level) * count:
            sweep.advance()

    @rule(late=st.booleans())
    def begin_anew(self, late: bool) -> None:
        if late:
            self.hits = Sweep(self.log, self.wanted, Pattern("b"))

    @rule()
    def finish(self) -> None:
        for sweep in (self.filter, self.hits, self.level):
            while not sweep.done:
                sweep.advance()
        grave = [one for one in self.log.get(self.log.first, self.log.next) if one.level >= Level.WARNING]
        assert found(self.level) == [one.seq for one in grave]
        held = [one for one in grave if "a" in one.text]
        assert found(self.filter) == [one.seq for one in held]
        lines = [(one.seq, i) for one in held for i, line in enumerate(one.text.split("\n")) if "b" in line]
        assert [number_and_line(at) for at in found(self.hits)] == lines


AgainstLooking.TestCase.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)
TestAgainstLooking = AgainstLooking.TestCase

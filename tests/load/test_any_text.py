"""Whatever a log says, reading it never fails, and what is known never contradicts itself."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from specconsole.host.simulated import recording
from specconsole.load import bar, dump
from specconsole.load import feed as load
from specconsole.load.phase import Expectation, Phase
from specconsole.load.timeline import LoadTimeline
from specconsole.load.wording import release
from specconsole.load.wording_phase import API, CAPTURE, COMPILE, CONFIG, INIT, MILESTONES, PROFILE, WARMUP, WEIGHTS
from specconsole.logs.record import Kind, Level, LogRecord
from tests.load.log import UNIT, records

BEGINNINGS = [row.says for row in (*CONFIG, *INIT, *WEIGHTS, *COMPILE, *PROFILE, *WARMUP, *CAPTURE, *API)]
BARS = [form.says for form in bar.FORMS]
NASTY = st.text(st.sampled_from("0123456789,.:/%|[]<>()='\" \n\tTPa²٣█s"), max_size=80)
LINES = st.one_of(
    st.text(max_size=200),
    st.builds(str.__add__, st.sampled_from(BEGINNINGS), NASTY),
    st.builds(lambda tag, said, rest: f"[{tag}] {said}{rest}", NASTY, st.sampled_from(BEGINNINGS), NASTY),
    st.builds(lambda said, done, total, rest: f"{said}:  12% Completed | {done}/{total} [{rest}", st.sampled_from(BARS),
              st.integers(0, 10**12), st.integers(0, 10**12), NASTY),
)  # fmt: skip
RECORDS = st.builds(
    LogRecord,
    seq=st.just(1),
    at=st.floats(0, 1e10),
    unit=st.just(UNIT),
    text=LINES,
    level=st.sampled_from(Level),
    kind=st.sampled_from(Kind),
    process=st.sampled_from([None, "Worker_TP1", "EngineCore_DP0", "APIServer", "VllmWorker rank=2"]),
    rank=st.sampled_from([None, 0, 1]),
    pid=st.sampled_from([None, 1, 2]),
)
EXPECTED = st.builds(
    Expectation,
    model=st.sampled_from([None, "/m", "a/b"]),
    method=st.sampled_from([None, "ngram", "eagle3"]),
    speculation_known=st.booleans(),
    eager=st.booleans(),
    workers=st.sampled_from([None, 1, 4]),
    engines=st.sampled_from([None, 1, 2]),
    version=st.sampled_from([None, "0.8.5", "0.24.0", "x"]),
)


@cache
def real(name: str) -> tuple[LogRecord, ...]:
    return tuple(records(recording.load(name).lines))


def consistent(timeline: LoadTimeline) -> None:
    orders = [span.phase.order for span in timeline.spans]
    assert orders == sorted(set(orders))
    assert all(span.end is not None for span in timeline.spans[:-1])
    assert all(span.phase in Phase for span in timeline.spans)
    for span in timeline.spans:
        if span.progress:
            assert span.progress.done >= 0
            assert len(span.progress.steps) <= load.STEPS
    assert len({notice.kind for notice in timeline.notices}) == len(timeline.notices)


@given(st.lists(RECORDS, max_size=30), EXPECTED)
def test_any_log_is_read(lines: list[LogRecord], expected: Expectation) -> None:
    timeline = load.begin(UNIT, "inv", 0.0, expected)
    for record in lines:
        timeline = load.feed(timeline, record)
    consistent(timeline)
    consistent(load.failed(timeline, 1e10, "ended"))
    consistent(load.ready(load.answering(timeline, 1e10), 1e10 + 1))


@given(st.data(), st.sampled_from(["moe-eagle3", "dense-baseline", "dense-dies"]), EXPECTED)
def test_any_part_of_a_real_log_is_read(data: st.DataObject, name: str, expected: Expectation) -> None:
    whole = real(name)
    cut = data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=60, unique=True).map(sorted))
    timeline = load.begin(UNIT, "inv", 0.0, expected)
    for place in cut:
        timeline = load.feed(timeline, whole[place])
    consistent(timeline)
    for before, after in pairwise(timeline.spans):
        assert before.end is not None
        assert after.start is None or before.end <= after.start + 1e-6
    for span in timeline.spans:
        assert span.seconds is None or span.seconds >= -1e-6


@given(LINES, st.sampled_from([None, "0.9.2", "0.24.0"]))
def test_each_parser_takes_any_text(text: str, version: str | None) -> None:
    MILESTONES.find(text)
    found = bar.parse(text, version)
    assert found is None or found.total >= 0
    dump.read(text)
    assert len(release(text)) == 3


def test_lines_of_a_million_characters_are_read_to_their_end() -> None:
    # A reader that goes back at every character would not end: one of these took 27 s before its length was bounded.
    for text in ("Loading shards: " + " " * 10**6, "[" * 10**6, "model=" * 10**5, "Using " + "a" * 10**6, "x" * 10**6):
        record = LogRecord(1, 1.0, UNIT, text, kind=Kind.BAR)
        timeline = load.begin(UNIT, "inv", 0.0)
        for _ in range(20):
            assert load.feed(timeline, record).unit == UNIT
            said = load.feed(timeline, LogRecord(1, 1.0, UNIT, "Initializing a V1 LLM engine (v1) " + text))
            assert said.unit == UNIT

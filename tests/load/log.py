"""Log lines as the timeline gets them: raw text through the real refinery, and the recorded starts with their times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from specconsole.host.simulated import recording
from specconsole.load import feed as load
from specconsole.load.phase import Expectation
from specconsole.load.timeline import LoadTimeline
from specconsole.logs.entry import Entry
from specconsole.logs.record import LogRecord
from specconsole.logs.refine import Refinery

UNIT = "vllm-a.service"
METHODS = {"moe-ngram": "ngram", "dense-ngram": "ngram", "moe-eagle3": "eagle3"}
"""The speculative method of each recorded start that has one."""


def records(lines: Iterable[tuple[float, bytes | str]], invocation: str = "inv") -> Iterator[LogRecord]:
    """Refine raw lines one by one, as from a journal that is quiet after each."""
    refinery = Refinery(fold=False)
    for at, line in lines:
        yield from refinery.feed([Entry(at, UNIT, line, invocation=invocation)])
        yield from refinery.flush()


def read(
    text: str, expected: Expectation | None = None, *, every: float = 1.0, started: float | None = 0.0
) -> LoadTimeline:
    """Read a log of lines that come `every` seconds, the first at 1."""
    timeline = load.begin(UNIT, "inv", started, expected)
    lines = [(1.0 + place * every, line) for place, line in enumerate(text.strip("\n").split("\n"))]
    for record in records(lines):
        timeline = load.feed(timeline, record)
    return timeline


def expected_of(name: str) -> Expectation:
    """What the command of a recorded start said."""
    return Expectation(model="/tmp/m", method=METHODS.get(name), workers=1, engines=1)


def replayed(name: str, until: float | None = None) -> LoadTimeline:
    """A recorded start as it was known at a moment (seconds after the spawn; None: when it answered, or its end)."""
    played = recording.load(name)
    ready = played.moment("ready") if "ready" in played.header else None
    timeline = load.begin(UNIT, "inv", 0.0, expected_of(name), at=0.0)
    end = until if until is not None else ready if ready is not None else float("inf")
    for record in records((at, line) for at, line in played.lines if at <= end):
        timeline = load.feed(timeline, record)
    if ready is not None and end >= ready:
        timeline = load.answering(timeline, ready)
    return timeline

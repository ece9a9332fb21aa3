"""What happened in a bundle, moment by moment: starts and their phases, answers, ends, errors. To jump to in a replay."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from specconsole.explain.record import record_of
from specconsole.host.simulated.replay import Moment
from specconsole.host.simulated.replay.bundle import Bundle, Values
from specconsole.host.simulated.replay.starts import Start, starts
from specconsole.load import feed
from specconsole.load.phase import Expectation
from specconsole.logs.record import Level
from specconsole.text import one_line

_LONGEST = 60
"""Characters of an error that are told."""


def moments(kept: Bundle) -> Sequence[Moment]:
    """All of it, in order."""
    found = [one for key in kept.units for one in _of_unit(kept, key)]
    if kept.frames:
        found.append(Moment(float(kept.frames[0]["t"]), "the samples begin"))
    return sorted(found, key=lambda one: one.at)


def _of_unit(kept: Bundle, key: str) -> Iterator[Moment]:
    name, records = key.rpartition("/")[2].removesuffix(".service"), kept.records[key]
    for start in starts(records, kept.shows[key], kept.made):
        said = [record for record in records if record.get("invocation") == start.invocation]
        yield Moment(start.began, f"{name} starts")
        if start.ready is not None:
            yield Moment(start.ready, f"{name} answers")
        if start.ended is not None:
            yield Moment(start.ended, f"{name} has ended")
        yield from _phases(key, name, start, said)
    for record in records:
        if Level.__members__.get(str(record.get("level")), Level.INFO) >= Level.ERROR:
            yield Moment(float(record["at"]), one_line(str(record["text"]), _LONGEST), bad=True)


def _phases(key: str, name: str, start: Start, said: Sequence[Values]) -> Iterator[Moment]:
    """When each phase of a start began; what it prints while it serves is not read for that."""
    timeline = feed.begin(key, start.invocation, start.began, Expectation(speculation_known=False), at=start.began)
    for number, values in enumerate(said):
        record = record_of(json.dumps(values), number)
        timeline = feed.feed(timeline, record) if record is not None else timeline
        if timeline.startup_at is not None:
            break
    answers = start.ready if start.ready is not None else float("inf")
    for span in timeline.spans:
        if span.start is not None and start.began < span.start < answers:
            yield Moment(span.start, f"{name}: {span.phase.title}")

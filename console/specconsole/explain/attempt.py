"""One start in a log, moved on record by record; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from specconsole.load import bar, clue, detail, feed, sign
from specconsole.load.clue import Clue, Clues
from specconsole.load.detail import Details
from specconsole.load.phase import Expectation, Phase
from specconsole.load.request import of_request
from specconsole.load.sign import Signs
from specconsole.load.timeline import LoadTimeline
from specconsole.logs.record import Kind, Level, LogRecord

UNIT = "log"
"""The one unit that a file is."""
_BEGINS = re.compile(
    r"vLLM (?:API )?server version \S|█ {2}version |# {2}version \S|^args: Namespace\(|^non-default args: \{"
)
_STARTED = re.compile(r"Start(?:ed|ing) (?!process|server|worker)\S")


@dataclass(frozen=True)
class Attempt:
    """One start in a log."""

    timeline: LoadTimeline
    signs: Signs = field(default_factory=Signs)
    clues: Clues = field(default_factory=Clues)
    details: Details = field(default_factory=Details)
    moved: int = 0
    """The record that last showed it getting on."""
    hurt: int = 0
    """The record of the last clue of a failure that is none of PID 1's."""
    notices: int = 0
    """Notices that the engine waits for its workers, all of them."""
    notice_engines: tuple[str, ...] = ()


def begin(invocation: str) -> Attempt:
    """A start of which nothing was seen yet."""
    return Attempt(feed.begin(UNIT, invocation, None, Expectation(speculation_known=False)))


def starts_anew(now: Attempt, record: LogRecord) -> bool:
    """A new start begins: another invocation, PID 1's word, or the first line of a server after it had got further."""
    timeline = now.timeline
    if record.invocation and timeline.invocation and record.invocation != timeline.invocation:
        return True
    if record.kind is Kind.BAR:
        found = bar.parse(record.text)
        served = timeline.startup_at is not None or timeline.phase is Phase.API
        return served and found is not None and not found.complete
    further = (
        now.hurt > 0
        or timeline.startup_at is not None
        or any(s.phase.order > Phase.CONFIG.order for s in timeline.spans)
    )
    if record.kind is Kind.SYSTEMD:
        return further and _STARTED.match(record.text) is not None
    text = record.text[:400]
    named = timeline.facts.version is not None or now.details.numbers.get("port") is not None
    return further and _BEGINS.search(text) is not None and (now.hurt > 0 or not named or "version" in text)


def heard(now: Attempt, record: LogRecord) -> Attempt:
    """Take in a record."""
    timeline = feed.feed(now.timeline, record)
    signs = sign.read(now.signs, record)
    clues = clue.read(now.clues, record)
    moved, hurt = now.moved, now.hurt
    if timeline.moved_at is not None and (
        timeline.spans != now.timeline.spans or timeline.startup_at != now.timeline.startup_at
    ):
        moved = record.seq
    if signs.stats_at is not None and signs.generating != now.signs.generating:
        moved = record.seq
    if clues.found != now.clues.found and any(_hard(found, signs) for found in clues.found[-3:]):
        hurt = record.seq
    notices, engines = now.notices, now.notice_engines
    if sign.NOTICE.search(record.text[:400]) and not of_request(record):
        notices += 1
        if (who := record.process or "") not in engines and len(engines) < 1024:
            engines = (*engines, who)
    details = detail.read(now.details, record)
    return replace(
        now,
        timeline=_counted(timeline, details),
        signs=signs,
        clues=clues,
        details=details,
        moved=moved,
        hurt=hurt,
        notices=notices,
        notice_engines=engines,
    )


def _counted(timeline: LoadTimeline, details: Details) -> LoadTimeline:
    """How many workers there are, where no command says it: the log's own sizes, at least as many as have shown themselves."""
    layout = details.layout
    sizes = (layout.tensor_parallel or 1) * (layout.pipeline_parallel or 1) * (layout.data_parallel or 1)
    workers = max(details.numbers.get("world_size", 0), sizes)
    return replace(timeline, workers=workers) if workers > 1 and (timeline.workers or 0) < workers else timeline


def _hard(found: Clue, signs: Signs) -> bool:
    """A clue of a failure; what a server's processes say of one another once it was told to end is none."""
    if signs.stopping and not (found.failure and found.failure.name == "terminated"):
        return False
    return not found.system and (found.exception or found.level >= Level.ERROR or found.failure is not None)

"""What a log holds that may tell why a start failed, kept while it is read; pure, in bounded memory.

A clue is one line: of a known failure, an exception, or a consequence. Which of them is the cause is decided when the
start is over (`diagnose`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from specconsole.load.anchor import holds, words_of
from specconsole.load.diagnosis import Number
from specconsole.load.failure import Failure, Rank, compiled, number_of
from specconsole.load.failures import CONSEQUENCES, FAILURES, HARMLESS, SUPPORT
from specconsole.load.failures_host import SYSTEM
from specconsole.load.request import of_request
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.text import one_line

KEPT = 60
"""Clues that are kept; beyond, the oldest of those after the first `FIRST` give way."""
FIRST = 30
_LINE = 1000
_LINES = 400
AGAIN_S = 300.0
"""A line that was looked at so shortly before, its digits left out, is not looked at again: errors come in floods."""
SHAPES = 500
_DIGITS = re.compile(r"\d+")
EXCEPTION = re.compile(
    r"(?:\[[\w.]+:\d+\] )?(?:[A-Za-z_]\w*\.)*(?:Exception|[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout|Expired|Failure|OutOfResources))(?:_\w{1,60})?(?::|$)"
)
"""The last line of a traceback."""
_MUTE = re.compile(r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception):? ?[\d.,() ]{0,40}")
_FRAME = re.compile(
    r'File "([^"\n]{1,400})", line (\d{1,7}), in (\S{1,200})(?:\n[ \t]+(?![ \t]|File ")([^\n]{1,300}))?'
)
FATAL = re.compile(
    r"(?:EngineCore|WorkerProc) (?:failed to start|hit an exception|encountered a fatal error)|initialization failed"
)
"""The header of a traceback that ended a process."""
WORDS = (
    "Error", "error", "Exception", "exception", "Fail", "fail", "Killed", "killed", "Timed out", "timed out",
    "exceed", "not found", "No space", "Invalid", "invalid", "nsupported", "not supported", "Xid", "left-over",
    "status=2", "terminated", "Insufficient", "insufficient", "required", "must be", "out of memory", "No available",
    "mismatch", "is lost", "repeated too", "no kernel image", "Cannot", "cannot", "Watchdog", "died", "exited",
    "Refused", "refused", "Segfault", "Segmentation", "core dumped", "Permission", "weights missing", "atal", "Duplicate GPU",
    "code=", "[type=", "[Errno", "did not match", "has no ", "does not exist", "No route", "unsatisfied", "could not select", "unreachable", "Not Found for", "match with", "out of resource", "should have", "divisible",
)  # fmt: skip
"""A line without any of these is no clue; most of a log is passed by them alone."""
_SUPPORTING = words_of(pattern for _, pattern in SUPPORT)
SERVING = re.compile(
    r"(?:Engine \d+: |SpecDecoding metrics: )?(?:(?:Avg prompt throughput|Avg generation throughput|Running|Waiting|[GC]PU KV cache usage|"
    r"Prefix cache hit rate|(?:Avg )?Draft acceptance rate|Mean acceptance length|(?:Accepted|Drafted)(?: throughput)?|"
    r"Per-position acceptance rate): [\d.]+(?:, [\d.]+)*(?:%| tokens/s| tokens| reqs)?(?:, |$))+"
)
"""A line of statistics, of which a server writes hundreds of thousands; numbers and names alone, so it holds no clue."""


@dataclass(frozen=True)
class Clue:
    """One line that may tell why."""

    line: str
    """Clean, one line, at most 1,000 characters."""
    at: float
    process: str | None
    level: Level
    rank: Rank
    failure: Failure | None = None
    """None: an exception that no row knows."""
    numbers: Mapping[str, Number] = field(default_factory=dict)
    fatal: bool = False
    """It stands in the message with which a process said that it ends."""
    exception: bool = False
    system: bool = False
    """PID 1 or the kernel says it."""


@dataclass(frozen=True)
class Clues:
    """All clues of one start so far."""

    found: tuple[Clue, ...] = ()
    support: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    """Numbers from other lines, by the failure that they belong to."""
    looked: Mapping[int, float] = field(default_factory=dict)
    """When lines of each shape were looked at last."""


def read(clues: Clues, record: LogRecord) -> Clues:
    """Take in one record of the start."""
    if record.kind not in (Kind.LINE, Kind.SYSTEMD) or of_request(record):
        return clues
    text = record.text
    if record.level < Level.WARNING and SERVING.fullmatch(text):
        return clues
    clues = _supported(clues, text)
    if record.level < Level.WARNING and not holds(text[: _LINE * 20], WORDS):
        return clues
    message = text[: _LINE * 80]
    looked = dict(clues.looked)
    lines = [line for line in _worth(message) if _is_new(line, record.at, looked)]
    if not lines:
        return clues
    fatal = record.level >= Level.ERROR and bool(FATAL.search(text[:200]))
    found = tuple(replace(seen, fatal=fatal) for line in lines if (seen := _clue(record, line, message)) is not None)
    kept = (*clues.found, *found)
    kept = kept if len(kept) <= KEPT else (*kept[:FIRST], *kept[FIRST - KEPT :])
    return replace(clues, found=kept, looked=looked)


def _is_new(line: str, at: float, looked: dict[int, float]) -> bool:
    shape = hash(_DIGITS.sub("#", line[:_LINE]))
    if at - looked.get(shape, -AGAIN_S) < AGAIN_S:
        return False
    if len(looked) >= SHAPES and shape not in looked:
        del looked[next(iter(looked))]
    looked[shape] = at
    return True


def harmless(line: str) -> str | None:
    """What a line means that looks like a failure's and is none; None: it is no such line."""
    return next((meaning for _, text, meaning in HARMLESS if compiled(text).search(line)), None)


def _worth(message: str) -> list[str]:
    """The lines of a message that can be clues: a traceback's frames are none."""
    lines = [
        line for line in message.splitlines() if line.strip() and not line.lstrip().startswith(('File "', "^", "~"))
    ]
    return lines if len(lines) <= _LINES else [*lines[: _LINES // 4], *lines[-_LINES * 3 // 4 :]]


def _clue(record: LogRecord, line: str, message: str) -> Clue | None:
    line = line[:_LINE]
    exception = bool(EXCEPTION.match(line.strip()))
    if exception and _MUTE.fullmatch(line.strip()):
        line = _located(line, message)
    if not exception and record.level < Level.CRITICAL and harmless(line) is not None:
        return None
    if record.level < Level.WARNING and not exception and not holds(line, WORDS):
        return None
    system = record.kind is Kind.SYSTEMD
    said = Clue(
        one_line(line, _LINE),
        record.at,
        record.process,
        record.level,
        Rank.CONSEQUENCE,
        None,
        {},
        exception=exception,
        system=system,
    )
    follows = any(compiled(text).search(line) for text in CONSEQUENCES)
    if follows and "exit code" not in line:  # a death that is told with its exit code says how
        return said
    for failure in (*SYSTEM, *FAILURES) if system or record.process is None else FAILURES:
        if (numbers := failure.numbers(line, message)) is not None:
            return replace(said, rank=failure.rank, failure=failure, numbers=numbers)
    if follows:
        return said
    if exception or (record.level >= Level.ERROR and line == message.strip() and not FATAL.search(line)):
        return replace(said, rank=Rank.WRAPPER)
    return None


def _located(line: str, message: str) -> str:
    """An exception without words, with the innermost frame before it: an assertion says nothing but where it stands."""
    place = message.find(line)
    frames = list(_FRAME.finditer(message, 0, place if place > 0 else len(message)))
    if not frames:
        return line
    file, number, name, code = frames[-1].groups()
    return f"{line.strip()} at {file.rpartition('/')[2]}:{number} in {name}{f': {code.strip()}' if code else ''}"


def _supported(clues: Clues, text: str) -> Clues:
    if len(text) > _LINE * 4 or not holds(text, _SUPPORTING):
        return clues
    for names, pattern in SUPPORT:
        if found := pattern.search(text):
            numbers = {name: number_of(name, value) for name, value in found.groupdict().items()}
            known = dict(clues.support)
            for name in names:
                known[name] = {**known.get(name, {}), **numbers}
            clues = replace(clues, support=known)
    return clues

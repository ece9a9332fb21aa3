"""One log read to its end: its starts, what they said, what failed, its statistics; in bounded memory.

Lines go through what the live console reads with (`logs`, `load`, `engine`); only their time is found otherwise, since a
file has no clock (`logs.stamp`). A log of many starts is read start by start, and the last one is told.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from specconsole.engine import statistics
from specconsole.engine.statistics import SpecLine, StatsLine
from specconsole.explain.attempt import UNIT, Attempt, begin, heard, starts_anew
from specconsole.explain.mixture import Mixture
from specconsole.explain.paste import is_nothing
from specconsole.explain.record import record_of
from specconsole.explain.sieve import Sieve
from specconsole.gpu.kernel import XidSeen, xid
from specconsole.load import bar
from specconsole.load.bar import Bar
from specconsole.logs import entry
from specconsole.logs.entry import Entry, Owner
from specconsole.logs.record import Kind, LogRecord
from specconsole.logs.refine import Refinery
from specconsole.logs.stamp import Stamps
from specconsole.logs.suppressed import Suppressed, dropped, suppressed
from specconsole.remote import outside
from specconsole.text import strip_escapes

_BATCH = 256
_INTERVALS = 512
"""Lines of statistics of each kind that are kept: the last ones."""
_JIT = "JIT compilation during inference"


@dataclass(frozen=True)
class Interval:
    """A line of statistics, and where it stands."""

    line: int
    at: float | None
    stats: StatsLine | None = None
    spec: SpecLine | None = None
    process: str | None = None


@dataclass(frozen=True)
class LogReading:
    """What one log says."""

    name: str
    unit: str
    """Of a bundle's log; "" for any other."""
    lines: int
    records: int
    attempts: tuple[Attempt, ...]
    """The last starts, oldest first; at most 8."""
    starts: int
    """How many there are in all."""
    first_at: float | None
    last_at: float | None
    counted: bool
    """Its times come from the clocks of bars alone."""
    longest_silence_s: float | None
    intervals: tuple[Interval, ...] = ()
    """Of the last start, as all that is told of serving."""
    jit: tuple[int, ...] = ()
    """Lines that say that a kernel was compiled while a request waited."""
    gaps: tuple[Suppressed, ...] = ()
    localized: bool = False
    """Stamps in words of another language than English."""
    bar: Bar | None = None
    """The last state of the last bar."""
    bar_rank: int | None = None
    """The rank of the process that drew it."""
    xids: tuple[XidSeen, ...] = ()
    """Each once."""
    limited: str = ""
    """Why journalctl gave only a part: rights, or a file that was cut."""
    skipped: int = 0
    """Lines that only repeat others and were not read in full."""
    mixed: str = ""
    """What shows that lines of several servers stand among each other; "": nothing does."""

    @property
    def last(self) -> Attempt:
        """The start that the log ends in."""
        return self.attempts[-1]


LIMITED = re.compile(
    rb"not seeing messages from other users|No journal files were opened due to insufficient permissions|(?P<cut>Journal file .{1,200} is truncated, ignoring)"
)
"""What journalctl says of itself when it does not show all."""


class _AnyUnit(dict[Owner, str]):
    """Every unit's entries are taken."""

    def get(self, key: Owner, default: object = None) -> str:  # noqa: ARG002
        """The one unit that a file is."""
        return UNIT


_LOCAL = re.compile(
    rb"([^\W\d]{3,5}|[^\x00-\x7f]{2,10}|[^\W\d][^\x00-\x7f][^\W\d]{0,3})\.? {1,2}\d{1,2} \d\d:\d\d:\d\d \S+ \S+\[\d+\]: "
)
_LONE = re.compile(rb"(?P<outer>.{0,80}?)(?P<group>\([A-Za-z][\w .=-]{0,60} pid=\d+(?:, ip=[\d.]+)?\))\s*")
_DIGIT = re.compile(rb"\d")
_BAR = re.compile(rb"\d%(?: Completed)?\s?\|")
_ENGLISH = frozenset(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split())


class LogReader:
    """Reads a log in pieces of lines; `end` gives what it says.

    Args:
        name: the file's.
        year: for stamps without one.
    """

    def __init__(self, name: str, year: int | None = None) -> None:
        self._name = name
        self.unit = ""
        """The unit of a bundle's log."""
        self._stamps = Stamps(year)
        self._refinery = Refinery(fold=False)
        self._sieve = Sieve()
        self._entries: list[Entry] = []
        self._where: deque[int] = deque()
        self._attempts: deque[Attempt] = deque([begin("")], maxlen=8)
        self._starts = 1
        self._began = 0
        """The line that the last start begins at."""
        self._lines = self._records = 0
        self._intervals: deque[tuple[int, float | None, bytes]] = deque(maxlen=_INTERVALS)
        self._jit: deque[int] = deque(maxlen=64)
        self._gaps: list[Suppressed] = []
        self._heard: float | None = None
        self._silence: float | None = None
        self._localized = False
        self._bar: Bar | None = None
        self._bar_rank: int | None = None
        self._xids: dict[XidSeen, None] = {}
        self._limited = ""
        self._lone: tuple[bytes, bytes] | None = None
        self._mixture = Mixture()

    def feed(self, lines: Iterable[bytes]) -> None:
        """Take whole lines."""
        for line in lines:
            self._lines += 1
            if not line or line.isspace():
                continue
            if self._sieve.passes(self._lines, line):
                self._take(self._lines, line)
                if len(self._entries) >= _BATCH:
                    self._read()
            elif any(words in line for words in _STATS):
                self._intervals.append((self._lines, self._stamps.of(line), line))

    def feed_records(self, lines: Iterable[bytes]) -> None:
        """Take lines of a bundle's log, whose records are whole and have the host's own times."""
        for line in lines:
            self._lines += 1
            if (record := record_of(line, self._lines)) is None:
                continue
            self.unit = self.unit or record.unit
            if self._sieve.passes(self._lines, line):
                self._take_record(record)

    def _take_record(self, record: LogRecord) -> None:
        self._stamps.first = record.at if self._stamps.first is None else self._stamps.first
        self._stamps.last = record.at
        self._hear(record.at)
        text = record.text.encode(errors="replace")
        self._notice(record.seq, record.at, text, text)
        if (
            record.kind is Kind.GAP
            and record.source == "journald"
            and (gap := dropped(record.text, record.unit, record.seq))
        ):
            self._gaps.append(gap)
        self._records_in([record._replace(unit=UNIT)])

    def end(self) -> LogReading:
        """What it says, once all lines were fed."""
        for number, line in self._sieve.rest():
            record = record_of(line, number) if self.unit else None
            if record is not None:
                self._take_record(record)
            else:
                self._take(number, line)
        self._read()
        self._records_in(self._refinery.end())
        stamps = self._stamps
        return LogReading(
            self._name,
            self.unit,
            self._lines,
            self._records,
            tuple(self._attempts),
            self._starts,
            None if stamps.counted else stamps.first,
            None if stamps.counted else stamps.last,
            stamps.counted,
            self._silence,
            tuple(said for one in self._intervals if one[0] >= self._began and (said := _interval(*one)) is not None),
            tuple(line for line in self._jit if line >= self._began),
            tuple(self._gaps),
            self._localized,
            self._bar,
            self._bar_rank,
            tuple(self._xids),
            self._limited,
            self._sieve.skipped,
            self._mixture.why,
        )

    def _take(self, number: int, line: bytes) -> None:
        at = self._stamps.of(line)
        self._hear(at)
        entry = _entry(line, at)
        said = entry.message if isinstance(entry.message, bytes) else entry.message.encode(errors="replace")
        if is_nothing(said):
            return
        said = self._owned(said)
        self._mixture.line(line)
        self._notice(number, at, line, said)
        entry = entry._replace(cursor=str(number))
        self._entries.append(entry._replace(message=said) if entry.kind is Kind.LINE else entry)

    def _notice(self, number: int, at: float | None, line: bytes, said: bytes) -> None:
        """Keep what is told beside the start: gaps, errors of GPUs, statistics, compilations."""
        if len(self._gaps) < 64 and (gap := suppressed(line.decode(errors="replace"), number)):
            self._gaps.append(gap)
        if b"Xid" in said and len(self._xids) < 64 and (seen := xid(said.decode(errors="replace"))):
            self._xids[seen] = None
        if not self._limited and (found := LIMITED.search(said)):
            self._limited = "truncated" if found["cut"] else "no permission"
        if any(words in said for words in _STATS):
            self._intervals.append((number, at, said))
        if _JIT.encode() in said:
            self._jit.append(number)
        if not self._localized and (found := _LOCAL.match(line)) and found[1].rstrip(b".") not in _ENGLISH:
            self._localized = True

    def _owned(self, line: bytes) -> bytes:
        """A bar's line with the process that stands on the line before it, by itself (up to 0.30.0 tqdm writes so)."""
        if b" pid=" in line and (found := _LONE.fullmatch(_plain(line))):
            self._lone = found["outer"], found["group"]
            return line
        lone, self._lone = self._lone, None
        if lone is None or b" pid=" in line or not _BAR.search(line) or not _same_shape(lone[0], line[: len(lone[0])]):
            return line
        return line[: len(lone[0])] + lone[1] + b" " + line[len(lone[0]) :]

    def _hear(self, at: float | None) -> None:
        if at is None:
            return
        if self._heard is not None and at - self._heard > (self._silence or 0.0):
            self._silence = at - self._heard
        self._heard = at

    def _counted(self, text: str) -> Bar | None:
        return bar.parse(text, self._attempts[-1].timeline.facts.version) or bar.parse(text, None, bar.HUB)

    def _read(self) -> None:
        entries, self._entries = self._entries, []
        self._records_in(self._refinery.feed(entries))

    def _records_in(self, records: Iterable[LogRecord]) -> None:
        for record in records:
            self._records += 1
            if record.kind is Kind.BAR and (found := self._counted(record.text)):
                self._bar, self._bar_rank = found, record.rank
            now = self._attempts[-1]
            if starts_anew(now, record):
                self._attempts.append(begin(record.invocation))
                self._starts += 1
                self._began = _line_of(record)
                self._mixture.begins()
                now = self._attempts[-1]
            elif record.invocation and record.invocation != now.timeline.invocation:
                now = replace(now, timeline=replace(now.timeline, invocation=record.invocation))
            self._mixture.hear(now, record)
            self._attempts[-1] = heard(now, record)


def _line_of(record: LogRecord) -> int:
    """The line of the file that a record begins at: its cursor here; a bundle's records count their lines themselves."""
    return int(record.cursor) if record.cursor.isdecimal() else record.seq


def _plain(line: bytes) -> bytes:
    return strip_escapes(line.decode(errors="replace")).encode(errors="replace") if b"\x1b" in line else line


def _same_shape(one: bytes, other: bytes) -> bool:
    return _DIGIT.sub(b"#", one) == _DIGIT.sub(b"#", other)


def _entry(line: bytes, at: float | None) -> Entry:
    begins = line.lstrip()[:1] == b"{"
    if begins and b'"MESSAGE"' in line:
        try:
            said = entry.read(line, _AnyUnit())
        except (KeyError, ValueError, TypeError):
            said = None
        if said is not None and (said.kind is not Kind.GAP or said.message_id):
            return said._replace(unit=UNIT, at=at if at is not None else said.at)
    elif begins and b'"log"' in line and (text := _docker(line)) is not None:
        return Entry(at or 0.0, UNIT, text, arrived=True)
    return Entry(at or 0.0, UNIT, line, arrived=True)


def _docker(line: bytes) -> bytes | None:
    """The text of one line of docker's json-file driver."""
    try:
        value = outside.parse(line)
    except ValueError:
        return None
    text = value.get("log") if isinstance(value, dict) else None
    return text.rstrip("\n").encode(errors="replace") if isinstance(text, str) else None


_STATS = (b"throughput: ", b"SpecDecoding metrics", b"Speculative metrics")


def _interval(number: int, at: float | None, line: bytes) -> Interval | None:
    text = line.decode(errors="replace")
    stats, spec = statistics.stats(text), statistics.spec(text)
    return Interval(number, at, stats, spec) if stats or spec else None

"""The log that the screen shows: a million records and more in bounded memory, filtered and searched in slices."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.logs.spool import Spool

LIMIT = 1_000_000
SPOOL_RECORDS = 1 << 16
SPOOL_BYTES = 64 << 20
MOST_BYTES = 1 << 30
"""Of disk, whatever the number of records."""
SLICE_BYTES = 1 << 16
"""A search gives way after this much: 0.5 ms."""
SLICE_RECORDS = 1 << 14


class Shape(NamedTuple):
    """What many records have in common; it is kept once."""

    unit: str
    level: Level
    kind: Kind
    process: str | None
    rank: int | None
    pid: int | None
    source: str
    invocation: str
    message_id: str
    arrived: bool
    folded: int


@dataclass(frozen=True)
class Filter:
    """Which records to show; None: any."""

    level: Level | None = None
    """At least so grave. Gaps and systemd's own records pass always."""
    units: frozenset[str] | None = None
    ranks: frozenset[int] | None = None
    processes: frozenset[str] | None = None
    kinds: frozenset[Kind] | None = None

    def passes(self, shape: Shape) -> bool:
        """Tell whether records of this shape are shown."""
        about = shape.kind in (Kind.GAP, Kind.SYSTEMD)
        return (
            (self.level is None or about or shape.level >= self.level)
            and (self.units is None or shape.unit in self.units)
            and (self.ranks is None or shape.rank in self.ranks)
            and (self.processes is None or shape.process in self.processes)
            and (self.kinds is None or shape.kind in self.kinds)
        )


class LogBuffer:
    """Records by number, the oldest dropped beyond the limit; numbers go on counting and are the records' `seq`.

    Cursors are not kept: who follows a log knows where it goes on.
    """

    def __init__(self, limit: int = LIMIT, *, spool_records: int = SPOOL_RECORDS, first: int = 1) -> None:
        self.limit = limit
        self.first = first
        """The number of the oldest record kept."""
        self.next = first
        """The number that the next record gets."""
        self.dropped = 0
        """How many were dropped so far."""
        self.levels: Counter[Level] = Counter()
        """How many of each level are kept."""
        self._spool_records = spool_records
        self._spools: deque[tuple[int, Spool]] = deque()
        self._shapes: list[Shape] = []
        self._numbers: dict[Shape, int] = {}

    def __len__(self) -> int:
        return self.next - self.first

    @property
    def units(self) -> tuple[str, ...]:
        """The units that records came from so far."""
        return tuple(dict.fromkeys(shape.unit for shape in self._shapes))

    def append(self, records: Sequence[LogRecord]) -> None:
        """Add records at the end; raises OSError when the disk is full and nothing old is left to drop."""
        for begin in range(0, len(records), self._spool_records):
            self._append(records[begin : begin + self._spool_records])
        while len(self._spools) > 1 and self._is_beyond():
            self._drop()

    def get(self, first: int, stop: int) -> list[LogRecord]:
        """Return the records numbered from `first` up to `stop`, less those that are not there any more or yet."""
        found: list[LogRecord] = []
        for base, spool, low, high in self._parts(first, stop):
            for i, text in enumerate(spool.texts(low, high), low):
                shape = self._shapes[spool.shapes[i]]
                found.append(_record(base + i, spool.at[i], text, shape))
        return found

    def select(self, wanted: Filter, first: int = 0, stop: int | None = None) -> Iterator[list[int]]:
        """Yield the numbers of the records that pass a filter, a list a slice, empty ones too: each is a chance to pause."""
        flags: list[bool] = []
        for base, spool, low, high in self._parts(first, self.next if stop is None else stop):
            for begin in range(low, high, SLICE_RECORDS):
                flags += [wanted.passes(shape) for shape in self._shapes[len(flags) :]]
                part = spool.shapes[begin : min(begin + SLICE_RECORDS, high)]
                yield [base + begin + i for i, shape in enumerate(part) if flags[shape]]

    def search(self, pattern: re.Pattern[str], first: int = 0, stop: int | None = None) -> Iterator[list[int]]:
        """Yield the numbers of the records in which a pattern is found, a list for every 64 KiB of text."""
        lines = re.compile(pattern.pattern, pattern.flags | re.MULTILINE)
        alone = re.search(r"\\[AZ]", pattern.pattern) is not None
        for base, spool, low, high in self._parts(first, self.next if stop is None else stop):
            while low < high:
                end = min(spool.slice_end(low, SLICE_BYTES), high)
                yield [base + i for i in _found(lines, spool, low, end, alone=alone)]
                low = end

    def next_grave(self, after: int, level: Level = Level.ERROR) -> int | None:
        """Return the first record beyond `after` that is at least so grave (WARNING at least), or None."""
        for base, spool, low, high in self._parts(after + 1, self.next):
            for i in spool.grave[bisect_right(spool.grave, low - 1) :]:
                if i < high and self._shapes[spool.shapes[i]].level >= level:
                    return base + i
        return None

    def previous_grave(self, before: int, level: Level = Level.ERROR) -> int | None:
        """Return the last record ahead of `before` that is at least so grave (WARNING at least), or None."""
        for base, spool, _, high in reversed(list(self._parts(self.first, before))):
            for i in reversed(spool.grave[: bisect_right(spool.grave, high - 1)]):
                if self._shapes[spool.shapes[i]].level >= level:
                    return base + i
        return None

    def close(self) -> None:
        """Forget all and give the disk back; numbers go on counting."""
        while self._spools:
            self._drop()

    def _append(self, records: Sequence[LogRecord]) -> None:
        texts = [record.text.encode() for record in records]
        shapes = [self._number(record) for record in records]
        at, grave = [record.at for record in records], [record.level >= Level.WARNING for record in records]
        while True:
            try:
                self._open().append(texts, at, shapes, grave)
                break
            except OSError:
                if len(self._spools) < 2:
                    raise
                self._drop()
        self.next += len(records)
        self.levels.update(record.level for record in records)

    def _open(self) -> Spool:
        if (
            not self._spools
            or len(self._spools[-1][1]) >= self._spool_records
            or self._spools[-1][1].size >= SPOOL_BYTES
        ):
            self._spools.append((self.next, Spool()))
        return self._spools[-1][1]

    def _number(self, record: LogRecord) -> int:
        shape = Shape(
            record.unit, record.level, record.kind, record.process, record.rank, record.pid, record.source,
            record.invocation, record.message_id, record.arrived, record.folded,
        )  # fmt: skip
        number = self._numbers.get(shape)
        if number is None:
            number = self._numbers[shape] = len(self._shapes)
            self._shapes.append(shape)
        return number

    def _is_beyond(self) -> bool:
        kept = len(self) - len(self._spools[0][1])
        return kept >= self.limit or sum(spool.size for _, spool in self._spools) > MOST_BYTES

    def _drop(self) -> None:
        base, spool = self._spools.popleft()
        self.levels.subtract(self._shapes[shape].level for shape in spool.shapes)
        self.dropped += len(spool)
        self.first = base + len(spool)
        spool.close()

    def _parts(self, first: int, stop: int) -> Iterator[tuple[int, Spool, int, int]]:
        """Where the records of a range lie: the number of a spool's first record, the spool, and its own range."""
        for base, spool in list(self._spools):
            low, high = max(first - base, 0), min(stop - base, len(spool))
            if low < high:
                yield base, spool, low, high


def _record(seq: int, at: float, text: str, shape: Shape) -> LogRecord:
    return LogRecord(
        seq, at, shape.unit, text, shape.level, shape.kind, shape.process, shape.rank, shape.pid, shape.source,
        invocation=shape.invocation, message_id=shape.message_id, arrived=shape.arrived, folded=shape.folded,
    )  # fmt: skip


def _found(lines: re.Pattern[str], spool: Spool, low: int, high: int, *, alone: bool) -> list[int]:
    """The numbers of the texts in which a pattern is found.

    One search over many texts is several times as fast as one each; a match that runs over a text's end, or text in
    which characters and bytes differ, is looked at alone.
    """
    blob = spool.blob(low, high)
    if alone or not blob.isascii():
        return [i for i, text in enumerate(spool.texts(low, high), low) if lines.search(text)]
    text, begin = blob.decode(), spool.ends[low]
    found: list[int] = []
    place = 0
    while match := lines.search(text, place):
        i = bisect_right(spool.ends, begin + match.start(), low, high + 1) - 1
        if i >= high:
            break
        start, end = spool.ends[i] - begin, spool.ends[i + 1] - begin - 1
        if match.end() <= end or lines.search(text[start:end]):
            found.append(i)
        place = end + 1
    return found

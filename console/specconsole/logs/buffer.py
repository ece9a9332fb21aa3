"""The log that the screen shows: a million records and more in bounded memory, filtered and searched in slices."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from specconsole.logs.pattern import Pattern
from specconsole.logs.rank_fold import RankFold
from specconsole.logs.record import WARNING, Kind, Level, LogRecord
from specconsole.logs.spool import Spool

LIMIT = 1_000_000
SPOOL_RECORDS = 1 << 16
SPOOL_BYTES = 64 << 20
MOST_BYTES = 1 << 30
"""Of disk, whatever the number of records."""
MOST_SHAPES = 1 << 16
"""A log that names a new process or place in each line is not told apart any further than so."""
SLICE_BYTES = 1 << 18
"""A search gives way after this much: 0.3 ms for plain text, 1 to 2 ms for an expression."""
SLICE_RECORDS = 1 << 14
"""A filter that looks at no text gives way after so many: 1 ms."""


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
    repeats: bool
    """Another rank has just said the same (`RankFold`)."""


@dataclass(frozen=True)
class Filter:
    """Which records to show; None: any."""

    level: Level | None = None
    """At least so grave. Gaps and systemd's own records pass always."""
    units: frozenset[str] | None = None
    ranks: frozenset[int] | None = None
    processes: frozenset[str] | None = None
    kinds: frozenset[Kind] | None = None
    text: Pattern | None = None
    """What some line of a record must hold; gaps pass always, or a log with holes would look whole."""
    repeats: bool = True
    """Show what a rank repeats of another one, too."""

    def passes(self, shape: Shape) -> bool:
        """Tell whether records of this shape are shown, as far as that depends on it."""
        about = shape.kind in (Kind.GAP, Kind.SYSTEMD)
        return (
            (self.level is None or about or shape.level >= self.level)
            and (self.units is None or shape.unit in self.units)
            and (self.ranks is None or shape.rank in self.ranks)
            and (self.processes is None or shape.process in self.processes)
            and (self.kinds is None or shape.kind in self.kinds)
            and (self.repeats or not shape.repeats)
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
        self.repeats = 0
        """How many records so far repeated another rank's."""
        self._fold = RankFold()
        self._repeats: dict[int, tuple[int, ...]] = {}

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

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that records came from so far, in order."""
        return tuple(sorted({shape.rank for shape in self._shapes if shape.rank is not None}))

    def repeated_by(self, number: int) -> tuple[int, ...]:
        """The ranks that repeated a record, word for word and right away, in their order; () for none."""
        return self._repeats.get(number, ())

    def choose(self, wanted: Filter, first: int, stop: int) -> list[int]:
        """Return the numbers of the records of a range that pass a filter; raises TooSlow."""
        flags = [wanted.passes(shape) for shape in self._shapes]
        chosen: list[int] = []
        for base, spool, low, high in self._parts(first, stop):
            if wanted.text is None:
                chosen += [base + i for i, shape in enumerate(spool.shapes[low:high], low) if flags[shape]]
            else:
                held = {i for i, _ in _lines(wanted.text, spool, low, high)}
                held |= {i for i in range(low, high) if self._shapes[spool.shapes[i]].kind is Kind.GAP}
                chosen += [base + i for i in sorted(held) if flags[spool.shapes[i]]]
        return chosen

    def find(self, pattern: Pattern, wanted: Filter, first: int, stop: int) -> list[tuple[int, int]]:
        """Return number and line of each line that holds a pattern, in the records of a range that pass a filter.

        Raises:
            TooSlow: the expression takes too long.
        """
        flags = [wanted.passes(shape) for shape in self._shapes]
        found: list[tuple[int, int]] = []
        for base, spool, low, high in self._parts(first, stop):
            lines = [(i, line) for i, line in _lines(pattern, spool, low, high) if flags[spool.shapes[i]]]
            if wanted.text is not None and lines:
                chosen = set(self.choose(wanted, base + low, base + high))
                lines = [(i, line) for i, line in lines if base + i in chosen]
            found += [(base + i, line) for i, line in lines]
        return found

    def back(self, stop: int, size: int) -> int:
        """Return the number from which the texts up to `stop` have about `size` bytes; one record at least."""
        for base, spool in reversed(self._spools):
            if base < stop:
                return base + spool.slice_begin(min(stop - base, len(spool)), size)
        return stop

    def forth(self, first: int, size: int) -> int:
        """Return the number up to which the texts from `first` on have about `size` bytes; one record at least."""
        for base, spool in self._spools:
            if first < base + len(spool):
                return base + spool.slice_end(max(first - base, 0), size)
        return self.next

    def since(self, at: float, wanted: Filter) -> int | None:
        """Return the first record that is not older than a moment, of those whose shape passes a filter; None: there is none."""
        flags = [wanted.passes(shape) for shape in self._shapes]
        for base, spool in self._spools:
            for i, when in enumerate(spool.at):
                if when >= at and flags[spool.shapes[i]]:
                    return base + i
        return None

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
        leads = [self._fold.feed(record, self.next + i) for i, record in enumerate(records)]
        shapes = [self._number(record, lead is not None) for record, lead in zip(records, leads, strict=True)]
        at, grave = [record.at for record in records], [record.level >= WARNING for record in records]
        while True:
            try:
                self._open().append(texts, at, shapes, grave)
                break
            except OSError:
                if len(self._spools) < 2:
                    raise
                self._drop()
        for record, lead in zip(records, leads, strict=True):
            if lead is not None and record.rank is not None:
                self.repeats += 1
                self._repeats[lead] = tuple(sorted({*self._repeats.get(lead, ()), record.rank}))
        self.next += len(records)
        self.levels.update(record.level for record in records)

    def _open(self) -> Spool:
        if (
            not self._spools
            or len(self._spools[-1][1]) >= self._spool_records
            or self._spools[-1][1].size >= SPOOL_BYTES
        ):
            if self._spools:
                self._spools[-1][1].seal()
            self._spools.append((self.next, Spool()))
        return self._spools[-1][1]

    def _number(self, record: LogRecord, repeats: bool) -> int:
        shape = Shape(
            record.unit, record.level, record.kind, record.process, record.rank, record.pid, record.source,
            record.invocation, record.message_id, record.arrived, record.folded,
            repeats,
        )  # fmt: skip
        number = self._numbers.get(shape)
        if number is None and len(self._shapes) >= MOST_SHAPES:
            shape = shape._replace(process=None, rank=None, pid=None, source="", invocation="", message_id="", folded=0)
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
        self._repeats = {number: ranks for number, ranks in self._repeats.items() if number >= self.first}
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


def _lines(pattern: Pattern, spool: Spool, low: int, high: int) -> Iterator[tuple[int, int]]:
    """The texts of a range that hold a pattern, by number and line."""
    blob, begin, ends = spool.blob(low, high), spool.ends[low], spool.ends
    for at in pattern.lines(blob):
        i = bisect_right(ends, begin + at, low, high + 1) - 1
        start = ends[i] - begin
        yield i, blob.count(b"\n", start, at) if at > start else 0

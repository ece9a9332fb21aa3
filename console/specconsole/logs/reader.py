"""A plain log file, a paste or a captured stream made records; what has no time stamp of a known zone has none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

from specconsole.logs.entry import Entry
from specconsole.logs.record import LogRecord
from specconsole.logs.refine import Refinery
from specconsole.logs.wrapping import unwrap

_SLICE = 512


def read(data: bytes, *, unit: str = "", stamps: Sequence[float] = (), first_seq: int = 1) -> list[LogRecord]:
    """Read the bytes of a log.

    Args:
        data: as captured; lines end in a newline, bars in carriage returns.
        unit: what the records are to carry.
        stamps: the time of each line, in seconds since the epoch; without it a container's RFC 3339 stamps are
            taken, and lines without one carry on the time before, 0.0 at first.
        first_seq: the number of the first record.
    """
    return [
        record
        for records in stream(data.split(b"\n"), unit=unit, stamps=stamps, first_seq=first_seq)
        for record in records
    ]


def stream(
    lines: Iterable[bytes], *, unit: str = "", stamps: Sequence[float] = (), first_seq: int = 1
) -> Iterator[list[LogRecord]]:
    """Read lines, without their newlines, in slices: for files that are not to be held in memory."""
    refinery = Refinery(first_seq, fold=False)
    entries = _entries(lines, unit, stamps)
    while part := list(islice(entries, _SLICE)):
        yield refinery.feed(part)
    yield refinery.end()


def _entries(lines: Iterable[bytes], unit: str, stamps: Sequence[float]) -> Iterator[Entry]:
    at = 0.0
    for i, line in enumerate(lines):
        at = stamps[i] if i < len(stamps) else _stamp(line) or at
        yield Entry(at, unit, line)


def _stamp(line: bytes) -> float | None:
    """The time that a container put before a line; only one with a zone is believed."""
    if not line[:4].isdigit():
        return None
    text = unwrap(line[:80].decode(errors="replace")).at.replace(",", ".")
    head, dot, fraction = text.partition(".")
    zone = fraction.lstrip("0123456789") if dot else text[19:]
    if not zone:
        return None
    digits = fraction.removesuffix(zone)[:6] if dot else ""
    try:
        return datetime.fromisoformat(f"{head[:19]}.{digits:0<6}{zone.replace('Z', '+00:00')}").timestamp()
    except ValueError:
        return None

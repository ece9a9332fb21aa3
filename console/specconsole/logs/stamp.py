"""When a line of a file was printed, by the stamps in its text; pure.

A live log has journald's clock; a pasted one has what its lines say: a stamp of whatever collected it, vLLM's own (which
has no year and often another zone), a library's, or none. One clock is used: the outer one where there is one, and lines
with an inner stamp alone are moved by the difference that others show. A bar without a stamp is placed by its own clock.
"""

from __future__ import annotations

import re
from calendar import timegm

YEAR = 2000
"""Stands in for a year that no line tells."""
_COLOUR = re.compile(rb"\x1b\[[\d;]*m")
_CLEAR_S, _LIES = 5.0, 0.1
"""A bar's clock that moved by so much, while the stamps moved by less than this share, shows that the stamps are a copy's."""
_HEAD = 512
"""Bytes of a line in which a stamp is looked for."""
_FULL = rb"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
_ZONE = rb"(?P<zone>Z|[+-]\d\d:?\d\d)?"
_OUTER = re.compile(rb"(?:\S{1,60} {1,4}\| |[A-Z][a-z]{2} (?=\d{4}-))?(?P<bracket>\[?)" + _FULL + _ZONE)
_SYSLOG = re.compile(rb"([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? \S")
_UNIX = re.compile(rb"(\d{9,10}\.\d{6}) \S+ \S+: ")
_BOOT = re.compile(rb"\[ *(\d{1,9}\.\d{6})\] ")
_INNER = re.compile(rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_PRINTED = re.compile(rb"[ ~](\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)() (?=[A-Z])")
_INSIDE = re.compile(_FULL)
_JOURNAL = re.compile(rb'"__REALTIME_TIMESTAMP" ?: ?"(\d{10,19})"')
_OWN = re.compile(rb'\{(?:"schema": ?\d+, ?)?"seq": ?\d+, ?"at": ?(\d{9,10}(?:\.\d{1,9})?)')
_BAR = re.compile(
    rb"(?P<label>[A-Za-z][^\r\n|:]{0,80}):\s{1,200}\d{1,3}%[^\r\n]{0,400}? \d+/(?P<total>\d+) \[(?:(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d\d)<"
)
_DATE = re.compile(
    rb"\b([A-Z][a-z]{2}) {1,2}(?P<day>\d{1,2}),? (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?: (?P<half>[AP]M))? \S{1,6} (?P<year>\d{4})\b"
)
_ANY_YEAR = re.compile(rb"\b(20\d\d)-\d\d-\d\d[ T]\d\d:")
_MONTHS = {
    name.encode(): place
    for place, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}


def year_in(head: bytes) -> int | None:
    """The first year that the beginning of a file tells."""
    found = _ANY_YEAR.search(head)
    return int(found[1]) if found else None


class Stamps:
    """The clock of one file, fed line by line.

    Args:
        year: for stamps without one; None: none is told, and `YEAR` stands in.
    """

    def __init__(self, year: int | None = None) -> None:
        self.year = year or YEAR
        self.dated = year is not None
        """The year is known."""
        self.first: float | None = None
        self.last: float | None = None
        """The newest stamp so far, in seconds since the epoch of a clock that may be of any zone."""
        self.counted = False
        """Only the clocks of bars tell the time: differences hold, moments do not."""
        self._shift: float | None = None
        self._bar: tuple[bytes, float] | None = None
        self._barred: float | None = None
        self._drift = 0.0

    def of(self, line: bytes) -> float | None:
        """When this line was printed; that of the line before where it does not say; None before anything is told."""
        head = line[:_HEAD]
        at = self._said(_COLOUR.sub(b"", head) if b"\x1b" in head else head)
        if at is None:
            at = self._by_bar(line[-2048:])
        else:
            if self.counted:
                self.first, self.counted = None, False
            at += self._drift
            if b"%" in line:
                at = self._trusted(at, line[-2048:])
        if at is not None:
            self.first = at if self.first is None else self.first
            self.last = at
        return self.last

    def _said(self, head: bytes) -> float | None:
        outer = self._outer(head)
        inner = _PRINTED.match(head) or _INNER.search(head)
        if inner is None:
            if outer is not None:
                return outer
            found = _INSIDE.search(head)
            return _moment(found.groups()) if found else None
        month, day, hour, minute, second, part = inner.groups()
        own = _moment((str(self.year).encode(), month, day, hour, minute, second, part))
        if own is None:
            return outer
        if outer is not None:
            if self._shift is None:
                self._shift = outer - own
            return outer
        return own + (self._shift or 0.0)

    def _outer(self, head: bytes) -> float | None:
        if found := _JOURNAL.search(head):
            return int(found[1]) / 1e6
        if found := _OUTER.match(head):
            return _moment(found.groups()[1:8], found["zone"])
        if (found := _SYSLOG.match(head)) and found[1] in _MONTHS:
            month = b"%02d" % _MONTHS[found[1]]
            return _moment((str(self.year).encode(), month, *found.groups()[1:]))
        if found := _UNIX.match(head) or _BOOT.match(head) or _OWN.match(head):
            return float(found[1])
        return None

    def _trusted(self, at: float, tail: bytes) -> float:
        """A stamp beside a bar; where the bar's own clock runs far ahead, the lines were stamped when they were copied."""
        found = _last_bar(tail)
        if found is None:
            return at
        before, self._bar = self._bar, found
        was, self._barred = self._barred, at
        if before is None or was is None or before[0] != found[0]:
            return at
        counted, stamped = found[1] - before[1], at - was
        if counted >= _CLEAR_S and stamped < counted * _LIES:
            self._drift += counted - stamped
            self._barred = was + counted
        return self._barred

    def _by_bar(self, tail: bytes) -> float | None:
        """A bar's own clock moves the file's, where nothing else does."""
        found = _last_bar(tail)
        if found is None:
            return None
        name, elapsed = found
        before, self._bar = self._bar, found
        if before is None or before[0] != name or elapsed < before[1]:
            if self.last is None:
                self.counted = True
                return elapsed
            return None
        return None if self.last is None else self.last + elapsed - before[1]


def _last_bar(tail: bytes) -> tuple[bytes, float] | None:
    """The last bar in the end of a line: what it counts, and the seconds on its clock."""
    bars = list(_BAR.finditer(tail))
    if not bars:
        return None
    found = bars[-1]
    elapsed = int(found["h"] or 0) * 3600.0 + int(found["m"]) * 60.0 + int(found["s"])
    return found["label"].strip()[-40:] + b"/" + found["total"], elapsed


def _moment(parts: tuple[bytes | None, ...], zone: bytes | None = None) -> float | None:
    """Seconds since the epoch of year, month, day, hour, minute, second and its decimals."""
    year, month, day, hour, minute, second = (int(part or 0) for part in parts[:6])
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second <= 60):
        return None
    part = parts[6] if len(parts) > 6 else None
    at = timegm((year, month, day, hour, minute, second)) + (float(b"0." + part) if part else 0.0)
    if zone and zone != b"Z":
        sign = -1 if zone[:1] == b"-" else 1
        digits = zone[1:].replace(b":", b"")
        at -= sign * (int(digits[:2]) * 3600 + int(digits[2:4]) * 60)
    return at


def moment(text: str, year: int | None = None) -> float | None:
    """A moment that stands alone in a text: 07-30 13:41:00, 2026-07-01T19:34:11Z, what `date` prints, seconds since the epoch."""
    raw = text.encode(errors="replace")
    if found := _OUTER.search(raw):
        return _moment(found.groups()[1:8], found["zone"])
    if found := re.search(rb"\b(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)", raw):
        return _moment((str(year or YEAR).encode(), *found.groups(), None))
    if (found := _DATE.search(raw)) and found[1] in _MONTHS:
        hours = int(found["hour"]) % 12 + 12 * (found["half"] == b"PM") if found["half"] else int(found["hour"])
        month = b"%02d" % _MONTHS[found[1]]
        return _moment((found["year"], month, found["day"], b"%d" % hours, found["minute"], found["second"], None))
    if found := re.fullmatch(rb"\s*(\d{10}(?:\.\d{1,9})?)\s*", raw):
        return float(found[1])
    return None

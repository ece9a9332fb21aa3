"""Which lines of a large log are read in full: those of a shape that is new, or whose numbers matter.

A log of 100 MB repeats a few hundred shapes: access lines, statistics, NCCL's channels. A shape is the beginning of a line
without its digits and hexadecimal letters; a hundred lines of each are read, two thousand where a count or a failure may be
in them, and the last one always, since what a log ends in is what counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

EACH, EACH_THAT_MATTERS = 100, 2000
"""Lines of one shape that are read."""
MOST = 8000
"""Shapes that are told apart; lines of shapes beyond are read only where they matter, as many as of one shape."""
_LENGTH = 112
_VARIES = b"0123456789abcdef"
_MATTERS = re.compile(
    rb"\d%(?: Completed)?\s?\||throughput: |No available (?:shared )?|[Ww]aiting for|Wait for all|JIT compilation|Suppressed \d|N_DROPPED|systemd\[|"
    rb'NVRM|"UNIT"|took [\d.]+ (?:s\b|seconds|GiB|secs)|startup complete|(?:Error|Exception|Interrupt)\b|ERROR|CRITICAL|Traceback|version'
)
_DULL = re.compile(rb'HTTP/[\d.]+" \d{3}')

Line = tuple[int, bytes]


class Sieve:
    """Feed it every line; it remembers shapes, and the last line of those that it passed over."""

    def __init__(self) -> None:
        self._seen: dict[bytes, int] = {}
        self._most: dict[bytes, int] = {}
        self._last: dict[bytes, Line] = {}
        self.skipped = 0
        self._newest: Line | None = None

    def passes(self, number: int, line: bytes) -> bool:
        """Tell whether a line is to be read."""
        begin = (
            max(line.find(b'"MESSAGE"', 0, 4096), line.find(b'"log"', 0, 4096), line.find(b'"text"', 0, 4096), 0)
            if line[:1] == b"{"
            else 0
        )
        shape = line[begin : begin + _LENGTH].translate(None, _VARIES)
        count = self._seen.get(shape, 0) + 1
        if count == 1 and len(self._seen) >= MOST:
            shape = b""
            count = self._seen.get(shape, 0) + 1
        self._seen[shape] = count
        if count <= EACH and shape:
            self._newest = None
            return True
        if shape not in self._most:
            matters = not shape or (_MATTERS.search(line) is not None and not _DULL.search(line))
            self._most[shape] = EACH_THAT_MATTERS if matters else EACH
        if count <= self._most[shape] and (shape or _MATTERS.search(line)):
            self._newest = None
            return True
        self.skipped += 1
        self._newest = number, line
        if self._most[shape] > EACH and shape:
            self._last[shape] = number, line
        return False

    def rest(self) -> Iterator[Line]:
        """The last lines of what was passed over, in the order of the log: (number, line)."""
        last = dict(sorted(self._last.values()))
        if self._newest is not None:
            last[self._newest[0]] = self._newest[1]
        yield from sorted(last.items())

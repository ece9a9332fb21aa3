"""Which lines of a large log are read in full: those of a shape that is new, or whose numbers matter.

A log of 100 MB repeats a few hundred shapes: access lines, statistics, NCCL's channels. A shape is a line without its
numbers and names that hold digits; a hundred lines of each are read, and the rest counted. Bars, errors and what the
verdict counts are always read.
"""

from __future__ import annotations

import re

EACH = 100
"""Lines of one shape that are read."""
MOST = 20_000
"""Shapes that are told apart; lines of shapes beyond are read only where they matter."""
_LENGTH = 160
_VARIES = re.compile(rb"[\w.:-]*\d[\w.:-]*")
_MATTERS = re.compile(
    rb"\d%(?: Completed)?\s?\||throughput: |(?:SpecDecoding|Speculative) metrics|No available (?:shared )?|Waiting for|Wait for all|"
    rb"JIT compilation|Suppressed \d|N_DROPPED|systemd\[|Xid|\"UNIT\"|took \d|startup complete|Error\b|version"
)
_DULL = re.compile(rb'HTTP/[\d.]+" \d{3}|/(?:metrics|health)\b')


class Sieve:
    """Feed it every line; it remembers shapes, and the last line that did not pass."""

    def __init__(self) -> None:
        self._seen: dict[bytes, int] = {}
        self.skipped = 0
        self.last: bytes | None = None
        """The newest line, where it was passed over: the log's end is in it."""

    def passes(self, line: bytes) -> bool:
        """Tell whether a line is to be read."""
        shape = _VARIES.sub(b"#", line[:_LENGTH])
        count = self._seen.get(shape)
        if count is None:
            if len(self._seen) >= MOST:
                return self._matters(line)
            self._seen[shape] = 1
            self.last = None
            return True
        self._seen[shape] = count + 1
        if count < EACH:
            self.last = None
            return True
        return self._matters(line)

    def _matters(self, line: bytes) -> bool:
        if _MATTERS.search(line) and not _DULL.search(line):
            self.last = None
            return True
        self.skipped += 1
        self.last = line
        return False

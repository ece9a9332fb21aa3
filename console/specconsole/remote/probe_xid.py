"""Xid errors from the kernel log; Python 3.8, standard library.

NVML's own event set is not used: on a real H200 under load each thread that waited on it kept a core busy, and it tells
nothing of the time before. The kernel log also holds what happened to a GPU that no longer answers.
"""

from __future__ import annotations

import os
import re
import time
from typing import Any, Dict, List, Optional, Tuple

CLEANUP = 45
"""This one follows another and never replaces it."""
_FOLLOWS_S = 60.0
_RECORDS = 20000  # a full ring of 8 MiB; a burst must not hold the tick up
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-f]+:[0-9a-f]+:[0-9a-f]+)(?:\.[0-9a-f])?\): (\d+)", re.IGNORECASE)


class KernelLog:
    """Follows /dev/kmsg and keeps the last Xid of each GPU, those of before included."""

    def __init__(self, path: str = "/dev/kmsg") -> None:
        self.why: Optional[str] = None
        """Why it cannot be read."""
        self.last: Dict[str, Tuple[int, float]] = {}
        """By PCI address without the function: the Xid, and when, in seconds of the boot clock."""
        try:
            self._fd: Optional[int] = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self._fd = None
            self.why = "the kernel log cannot be read: %s" % (error.strerror or error)

    def read(self) -> None:
        """Take in what is new; never blocks."""
        for _ in range(_RECORDS if self._fd is not None else 0):
            try:
                record = os.read(self._fd or 0, 8192)
            except BrokenPipeError:  # records were overwritten before we came: go on with the oldest that is left
                continue
            except OSError:
                return
            if not record:
                return
            self.take(record.decode("utf-8", "replace"))

    def take(self, record: str) -> None:
        """Take in one record: `priority,number,microseconds,flags;text`."""
        found = _XID.search(record)
        words = record.split(",", 3)
        if not found or len(words) < 4 or not words[2].isdecimal():
            return
        place, xid, at = _place(found.group(1)), int(found.group(2)), int(words[2]) / 1e6
        before = self.last.get(place)
        if xid == CLEANUP and before and before[0] != CLEANUP and at - before[1] < _FOLLOWS_S:
            return
        self.last[place] = (xid, at)

    def add_to(self, rows: List[Dict[str, Any]], now: Optional[float] = None) -> None:
        """Put the last Xid of each GPU into its row, or the reason for its absence; `now` is for tests."""
        clock = time.monotonic() if now is None else now
        for row in rows:
            found = self.last.get(_place(row.get("bus", "")))
            if found is not None:
                row["xid"], row["xid_age_s"] = found[0], round(max(clock - found[1], 0.0), 1)
            elif self.why is not None:
                row["why"] = dict(row.get("why", {}), xid=self.why)


def _place(bus: str) -> str:
    """A PCI address in one spelling, without its function: 00000000:0B:00.0 and 0000:0b:00 are 0:0b:00."""
    domain, _, rest = bus.lower().partition(".")[0].partition(":")
    return "%s:%s" % (domain.lstrip("0") or "0", rest)

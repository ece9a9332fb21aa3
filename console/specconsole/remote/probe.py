"""The probe: one long-lived sampler that prints a JSON line a tick. Python 3.8, standard library and pynvml.

A line is a frame of version 1; `gpu/sample.py` defines its keys. Arguments: `interval_s` (0.1 to 5), `units` (names, or
a mapping of names to cgroup paths), `ticks` (end after so many frames). A JSON object a line on standard input changes
`interval_s` or `units` while it runs; the end of that input changes nothing.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from typing import Any, Dict, List, Optional

from specconsole.remote import outside, probe_proc
from specconsole.remote.probe_budget import Budget
from specconsole.remote.probe_card import TOO_DEAR
from specconsole.remote.probe_gpu import Gpus
from specconsole.remote.probe_unit import Units

FASTEST_S, SLOWEST_S = 0.1, 5.0
SHM_S = 2.0
"""How often /dev/shm is listed: an entry comes or goes with a unit, and a staged model has hundreds of files."""
_PATIENCE = 0.8  # of the interval: a driver that answers within it is slow, not silent
_LEAST_PATIENCE_S = 0.3


class Control:
    """What the console wants, from the arguments and from lines on standard input."""

    def __init__(self, arguments: Dict[str, Any], fd: int = 0) -> None:
        self.interval_s = 1.0
        self.units: Any = []
        self.ticks = arguments.get("ticks")
        self._fd: Optional[int] = fd
        self._rest = b""
        self.take(arguments)

    def take(self, wish: Any) -> bool:
        """Take over what a control object says; True when something changed. What makes no sense is left alone."""
        before = (self.interval_s, self.units)
        if not isinstance(wish, dict):
            return False
        asked = wish.get("interval_s")
        if isinstance(asked, (int, float)) and asked == asked:
            self.interval_s = min(max(float(asked), FASTEST_S), SLOWEST_S)
        if isinstance(wish.get("units"), (list, dict)):
            self.units = wish["units"]
        return before != (self.interval_s, self.units)

    def wait(self, until: float) -> bool:
        """Wait for the next tick (monotonic seconds), or until a control line changes something: then True."""
        while True:
            left = until - time.monotonic()
            if left <= 0:
                return False
            if self._fd is None:
                time.sleep(left)
                return False
            if select.select([self._fd], [], [], left)[0] and self._read(self._fd):
                return True

    def _read(self, fd: int) -> bool:
        data = os.read(fd, 65536)
        if not data:
            self._fd = None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return any([self.take(_json(line)) for line in lines])  # noqa: C419  every line counts, not the first


def _json(line: bytes) -> Any:
    try:
        return outside.parse(line)
    except ValueError:
        return None


class Probe:
    """Takes one sample of the host after another."""

    def __init__(self, control: Control, gpus: Optional[Gpus] = None, units: Optional[Units] = None) -> None:
        self.control = control
        self.gpus = gpus or Gpus()
        self.units = units or Units()
        self.budget = Budget()
        self.interval_s = control.interval_s
        self._asked: Any = None
        self._shm: List[Dict[str, Any]] = []
        self._shm_left_out = 0
        self._shm_at = float("-inf")

    def frame(self) -> Dict[str, Any]:
        """Take one sample; never waits for a driver longer than the interval allows."""
        started = time.monotonic()
        t, mono = time.time(), time.clock_gettime(time.CLOCK_BOOTTIME)
        if self.control.units is not self._asked:
            self._asked = self.control.units
            self.units.follow(self._asked)
        self.interval_s = self.budget.interval(self.control.interval_s)
        host = self._host()
        groups = self.budget.plan(self.interval_s, started)
        patience = max(self.interval_s * _PATIENCE, _LEAST_PATIENCE_S)
        rows, costs = self.gpus.read(groups, time.monotonic() + patience)
        costs["host"] = host.pop("cost_s")
        self.budget.learn(costs)
        gpus = self.gpus
        return {
            "v": 1,
            "t": round(t, 3),
            "mono": round(mono, 3),
            "source": gpus.source,
            "why": gpus.why,
            "driver": gpus.driver,
            "gpus": rows,
            **host,
            "interval_s": round(self.interval_s, 3),
            "cost_s": round(time.monotonic() - started, 6),
            "dropped": sorted({field for row in rows for field, why in row.get("why", {}).items() if why == TOO_DEAR}),
        }

    def _host(self) -> Dict[str, Any]:
        """What comes from /proc and /dev/shm: it is there at once, whatever the driver does."""
        started = time.monotonic()
        if started - self._shm_at >= SHM_S:
            self._shm, self._shm_left_out = probe_proc.shared_memory()
            self._shm_at = started
        values = {
            "host": probe_proc.vitals(),
            "units": self.units.read(),
            "shm": self._shm,
            "shm_left_out": self._shm_left_out,
        }
        return dict(values, cost_s=time.monotonic() - started)


def main(arguments: Dict[str, Any]) -> int:
    """Print frames until standard output closes, or `ticks` of them."""
    control = Control(arguments)
    probe = Probe(control)
    left, due = control.ticks, time.monotonic()
    try:
        while left is None or left > 0:
            write(probe.frame())
            left = None if left is None else left - 1
            now = time.monotonic()
            due = max(due + probe.interval_s, now)  # a late tick shifts the following ones: none is made up for
            if left != 0 and control.wait(due):
                due = time.monotonic()
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    return 0


def write(frame: Dict[str, Any]) -> None:
    """Print one frame, whole or not at all: a reader never waits for the rest of a line."""
    data = json.dumps(frame, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    view = memoryview(data)
    fd = sys.stdout.fileno()
    while view:
        view = view[os.write(fd, view) :]

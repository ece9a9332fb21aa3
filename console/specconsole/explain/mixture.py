"""Whether the lines of one file come from several servers at once: then no start in it can be followed; pure but for its memory.

One start has one API server that names its version once, one model, and processes that keep their pids; engines and API
servers of data parallelism are numbered (EngineCore_DP1, ApiServer_2) and are not looked at. A restart ends one sequence of
pids, and one invocation of a unit, and begins another; only what comes again after others, twice, belongs to servers
that live side by side.
"""

from __future__ import annotations

import re

from specconsole.explain.attempt import Attempt
from specconsole.logs.record import LogRecord
from specconsole.text import one_line

_ALONE = ("APIServer", "EngineCore")
"""Names of processes that a start has one of."""
_RETURNS = 2
"""A server that is told to end says its last words among the first ones of the next: its pid returns once."""
_VERSION = re.compile(r"vLLM API server version \S")
_MODEL = re.compile(
    r"Initializing an? (?:V\d )?LLM engine .{0,60}? with config: .{0,20}?model='(?P<model>[^']{1,200})'"
)
_NAMED = 4
_READY = "Application startup complete"
_WRAPPED = re.compile(rb"(?:\x1b\[[\d;]*m)*(?P<name>[\w.-]{1,60}) {1,20}\| |\[(?P<pod>pod/[\w./-]{1,120})\] ")
"""What compose and Kubernetes put before each line of a container."""
_BEGINS = b"API server version "


class Mixture:
    """Fed with the records of a log, in order; `why` says what shows several servers, "" where nothing does."""

    def __init__(self) -> None:
        self.why = ""
        self._names: dict[str, list[str]] = {}
        self._last: dict[str, str] = {}
        self._returns: dict[str, int] = {}
        self._containers: dict[bytes, None] = {}
        self._versions = self._readies = 0
        self._models: dict[str, None] = {}

    def begins(self) -> None:
        """A start begins, by a line of its own: what was counted of the one before counts no more."""
        self._versions = self._readies = 0
        self._models.clear()

    def line(self, line: bytes) -> None:
        """Take a line as it stands in the file: two containers that both start a server are two, whatever their pids."""
        if _BEGINS not in line[:400] or (found := _WRAPPED.match(line)) is None:
            return
        self._containers[found["name"] or found["pod"]] = None
        if len(self._containers) > 1:
            names = ", ".join(one_line(name.decode(errors="replace"), 60) for name in list(self._containers)[:_NAMED])
            self._say(f"containers {names}")

    def hear(self, now: Attempt, record: LogRecord) -> None:
        """Take a record of the start that it is counted to."""
        if self.why:
            return
        if record.process in _ALONE and record.pid is not None and not now.signs.stopping:
            self._goes_on(record.process, f"pid {record.pid}")
        if record.invocation:
            self._goes_on("the unit", f"invocation {record.invocation[:8]}")
        text = record.text[:600]
        self._versions += _VERSION.search(text) is not None
        self._readies += _READY in text
        if found := _MODEL.search(text):
            self._models[found["model"]] = None
        if len(self._models) > 1 and self._versions:
            self._say(f"models {', '.join(self._models)}")
        elif self._versions > 1 and self._readies > 1:
            self._say("two servers became ready")

    def _goes_on(self, who: str, name: str) -> None:
        """Somebody of whom a start has one says something; whoever comes again after another one lives beside it."""
        known, last = self._names.setdefault(who, []), self._last.get(who)
        self._last[who] = name
        if name not in known:
            known.append(name)
        elif last != name:
            self._returns[who] = self._returns.get(who, 0) + 1
            if self._returns[who] >= _RETURNS:
                self._say(f"{who} with {', '.join(known[:_NAMED])}")

    def _say(self, why: str) -> None:
        self.why = self.why or why

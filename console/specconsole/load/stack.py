"""Stacks of Python processes, taken twice: a changed innermost frame means work, the same one twice a hang; pure.

Reads what py-spy dumps, and what faulthandler prints.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_PROCESS = re.compile(r"^Process (\d{1,9}): ?(.*)$")
_THREAD = re.compile(r"^(?:Thread|Current thread) (0x[0-9a-f]+|\d{1,20})(?: \(([^)]*)\))?")
_FRAME = re.compile(r"^ +(?P<name>[\w.<>\[\]]{1,120}) \((?P<file>[^():]{1,300}):(?P<line>\d{1,7})\)")
_FAULT = re.compile(r'^ +File "(?P<file>[^"]{1,300})", line (?P<line>\d{1,7}) in (?P<name>[\w.<>]{1,120})')


@dataclass(frozen=True)
class Stack:
    """One thread of one process at one moment."""

    pid: int | None
    thread: str
    state: str
    """active, idle …; "" where it is not told."""
    frames: tuple[str, ...]
    """Innermost first: name, file and line."""

    @property
    def leaf(self) -> str:
        """The innermost frame."""
        return self.frames[0] if self.frames else ""


def read(text: str) -> tuple[Stack, ...]:
    """All threads of all dumps in a text, in its order."""
    found: list[Stack] = []
    pid: int | None = None
    thread, state, frames = "", "", list[str]()

    def close() -> None:
        if frames:
            found.append(Stack(pid, thread, state, tuple(frames)))
            frames.clear()

    for line in text.splitlines():
        if process := _PROCESS.match(line):
            close()
            pid = int(process[1])
        elif begun := _THREAD.match(line):
            close()
            thread, state = begun[1], (begun[2] or "").partition("+")[0]
        elif (frame := _FRAME.match(line) or _FAULT.match(line)) and len(frames) < 200:
            frames.append(f"{frame['name']} ({frame['file']}:{frame['line']})")
    close()
    return tuple(found[:2000])


def moved(dumps: Sequence[Sequence[Stack]]) -> bool | None:
    """Whether any thread's innermost frame changed from the first dump to the last; None: there are no two to compare."""
    if len(dumps) < 2:
        return None
    first = {(one.pid, one.thread): one.leaf for one in dumps[0]}
    pairs = [(first[key], one.leaf) for one in dumps[-1] if (key := (one.pid, one.thread)) in first]
    return any(before != after for before, after in pairs) if pairs else None


def dumps(texts: Sequence[str]) -> list[list[Stack]]:
    """Stacks by dump: of several texts, or of one text in which threads come again."""
    found: list[list[Stack]] = []
    for text in texts:
        now: list[Stack] = []
        seen: set[tuple[int | None, str]] = set()
        for one in read(text):
            if (one.pid, one.thread) in seen:
                found.append(now)
                now, seen = [], set()
            seen.add((one.pid, one.thread))
            now.append(one)
        if now:
            found.append(now)
    return found

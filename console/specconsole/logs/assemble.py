"""Lines that are one message made one entry: tracebacks above all, raw or with a header on each line."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from specconsole.logs.entry import Entry
from specconsole.logs.header import TRACEBACK, is_exception
from specconsole.logs.peel import Peeled
from specconsole.logs.record import ERROR, LINE, Level

MOST_LINES, MOST_CHARACTERS = 2000, 1 << 20
"""A longer message is cut into several entries."""
_CHAINED = re.compile(
    r"(?:The above exception was the direct cause of|During handling of the above exception, another)"
)
_BEGINS = re.compile(r"(?:  \+ Exception Group )?" + re.escape(TRACEBACK))
_FRAME = re.compile(r'\s+File "[^"]+", line \d+')
_TITLE = re.compile(r"Process \S+:$")


@dataclass(slots=True)
class Message:
    """One entry, which may still grow."""

    entry: Entry
    """Its first line as the source gave it."""
    first: Peeled
    lines: list[str]
    cursor: str
    level: Level
    open: bool = True
    idle: int = 0
    """How many batches ended since its last line."""
    size: int = 0
    """Characters of the lines after the first."""
    trace: str = ""
    """"" outside a traceback, "stack" inside, "raised" after the exception's line, "chained" before the next one."""

    @property
    def text(self) -> str:
        """All its lines."""
        return "\n".join(self.lines) if len(self.lines) > 1 else self.first.text


@dataclass
class Assembler:
    """Groups the lines of each process; entries leave in the order of their first lines.

    A line waits for what may follow it until its process prints something else, or until the next batch has ended
    without a line for it, or for `flush`. With 20 batches a second and a flush when nothing comes, none waits 0.2 s.
    """

    _waiting: deque[Message] = field(default_factory=deque)
    _newest: dict[tuple[str, int | None], Message] = field(default_factory=dict)

    def feed(self, lines: list[tuple[Entry, Peeled]]) -> list[Message]:
        """Take lines in their order and return the messages that are whole."""
        for entry, line in lines:
            self._add(entry, line)
        return self._leave()

    def age(self) -> list[Message]:
        """A batch has ended: return what waited through the whole of it."""
        for message in list(self._newest.values()):
            message.idle += 1
            if message.idle >= 2:
                self._close(message)
        return self._leave()

    def flush(self) -> list[Message]:
        """Return all that waits."""
        for message in list(self._newest.values()):
            self._close(message)
        return self._leave()

    def _add(self, entry: Entry, line: Peeled) -> None:
        key = (entry.unit, line.pid)
        before = self._newest.get(key)
        if before and _goes_on(before, line):
            before.lines.append(line.text)
            before.size += len(line.text)
            before.cursor = entry.cursor
            before.level = max(before.level, line.level)
            before.idle = 0
            before.trace = _state(before.trace, line)
            if len(before.lines) >= MOST_LINES or before.size >= MOST_CHARACTERS:
                self._close(before)
            return
        if before:
            self._close(before)
        message = Message(entry, line, [line.text], entry.cursor, line.level, trace=_state("", line))
        self._waiting.append(message)
        if line.kind is LINE:
            self._newest[key] = message
        else:
            message.open = False

    def _close(self, message: Message) -> None:
        message.open = False
        self._newest.pop((message.entry.unit, message.first.pid), None)

    def _leave(self) -> list[Message]:
        whole: list[Message] = []
        while self._waiting and not self._waiting[0].open:
            whole.append(self._waiting.popleft())
        return whole


def _state(before: str, line: Peeled) -> str:
    """Where in a traceback its process is after this line."""
    if line.source and line.level < ERROR:
        return before
    if _BEGINS.match(line.text):
        return "stack"
    if line.text[:1].isspace():
        return before or ("stack" if _FRAME.match(line.text) else "")  # a log that begins inside a traceback
    if _CHAINED.match(line.text):
        return "chained"
    if before in ("stack", "chained") or is_exception(line.text):
        return "raised"
    return before


def _goes_on(message: Message, line: Peeled) -> bool:
    """Whether a line belongs to the message before it of the same process."""
    if line.kind is not LINE:
        return False
    if line.stamp or message.first.stamp:
        return _same_call(message, line)
    if line.text[:1].isspace():
        return True
    if line.source:
        return False
    if _BEGINS.match(line.text):
        return message.trace == "chained" or (not message.trace and _expects_traceback(message))
    return message.trace in ("stack", "chained") or (
        message.trace == "raised" and _CHAINED.match(line.text) is not None
    )


def _same_call(message: Message, line: Peeled) -> bool:
    """A header on each line: one call of the logger has one stamp and one place.

    So have two calls within a second; they are told apart by their first lines, which are not indented. Only errors
    are joined without an indentation, once there is a traceback.
    """
    first = message.first
    if (first.stamp, first.source, first.level) != (line.stamp, line.source, line.level):
        return False
    if line.text[:1].isspace():
        return True
    if line.level < ERROR or line.text == first.text:
        return False
    return bool(message.trace or _state("", line))


def _expects_traceback(message: Message) -> bool:
    """uvicorn's "Exception in ASGI application", multiprocessing's "Process EngineCore:"."""
    return message.level >= ERROR or _TITLE.match(message.first.text) is not None

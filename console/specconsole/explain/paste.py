"""What copying puts into a log: marks of a quotation, fences, shell prompts, lines cut at the width of a terminal; pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from specconsole.logs.wrapping import unwrap

_BEGINS = re.compile(
    r"\s*(?:\S{0,60} {0,4}\| )?(?:\x1b\[[\d;]*m)?(?:"
    r"\([A-Za-z][\w .=-]* pid=\d+|(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b|(?:[A-Z][a-z]{2} )?\d{4}-\d\d-\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:|"
    r"\[|\{|Loading |Capturing |Downloading |Fetching |Reconstructing |DeepGEMM |Wait for |Traceback |File \"|"
    r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Warning)\b|[\w.-]+:\d+:\d+ \[|Process \S+:$|raise |return |self\.)"
)
"""What the lines of a log begin with, and continuations of a cut line hardly ever do."""
_NOTHING = re.compile(rb"[^\w]*|[\w.-]{1,40}@[\w.-]{1,60}:[^|]{0,80}[#$] ?[^|]{0,200}|[#$%] .{0,200}|```\w*")
_WIDTHS = range(60, 401)
_HEADER = re.compile(
    rb"(?:\([A-Za-z][\w .=\-:]{0,60} ?pid=\d+(?:, ip=[\d.]+)?\) ?)*(?:\x1b\[[\d;]*m)*(?:\([A-Za-z][\w .=\-]{0,60} pid=|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?: \d\d-\d\d \d\d:|: {2,}))"
)
_DIGITS, _BLANKS = re.compile(rb"\d+"), re.compile(rb" +")
_STAMPED = re.compile(rb"0:0|\x1b")
_FEW = 4
_USUAL = 250
"""Columns that a terminal hardly has more of."""
_OFTEN = 2
_ALIKE = 8
"""Lines whose beginnings are the same are two lines, whatever their length."""


class Paste:
    """How the lines of one file are to be mended, told by its beginning."""

    def __init__(self, head: bytes) -> None:
        lines = [line for line in head.split(b"\n") if line.strip()]
        quoted = sum(line.startswith((b"> ", b">\r")) for line in lines)
        self._quoted = len(lines) > 1 and quoted >= 0.8 * len(lines)
        texts = [_text(self._unquoted(line)) for line in lines]
        self.width = _width(texts[:-1] if len(head) >= 65536 else texts)
        """Columns at which lines were cut; None: they were not."""
        self._prefix = _prefix(lines) if self.width is None and not self._quoted else None
        self._begun: bytes = b""

    def mend(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Give whole lines, less what is none of the log's; a cut line comes once its rest did (`end`)."""
        if self._prefix is not None:
            for line in lines:
                found = self._prefix.match(line)
                yield line[found.end() :] if found else line
            return
        if self.width is None and not self._quoted:
            yield from lines
            return
        for line in lines:
            line = self._unquoted(line)
            if self.width is None:
                yield line
                continue
            text = _text(line)
            if self._begun:
                if _goes_on(_text(self._begun), text):
                    self._begun += line.rstrip(b"\r")
                    if len(text) != self.width:
                        yield from self.end()
                    continue
                yield from self.end()
            if len(text) == self.width:
                self._begun = line.rstrip(b"\r")
            else:
                yield line

    def end(self) -> Iterator[bytes]:
        """What is left of a cut line."""
        if self._begun:
            begun, self._begun = self._begun, b""
            yield begun

    def _unquoted(self, line: bytes) -> bytes:
        return line[1:].removeprefix(b" ") if self._quoted and line[:1] == b">" else line


def is_nothing(line: bytes) -> bool:
    """Tell a line that no program printed into the log: a fence, a rule, a shell's prompt with its command."""
    return len(line) < 400 and _NOTHING.fullmatch(line.rstrip()) is not None


def _prefix(lines: list[bytes]) -> re.Pattern[bytes] | None:
    """What some collector puts before each line, where it is the same one, its digits aside, and no stamp; None: nothing."""
    found = [line[: header.start()] for line in lines if (header := _HEADER.search(line, 0, 300))]
    shapes = Counter(_BLANKS.sub(b" ", _DIGITS.sub(b"0", left)) for left in found)
    if not shapes or all(left.lstrip()[:1] == b"{" for left in found):  # whole objects are read as such
        return None
    shape, count = shapes.most_common(1)[0]
    if not shape.strip() or count < _FEW or count < 0.8 * len(found) or _STAMPED.search(shape) or _known(shape):
        return None
    return re.compile(re.escape(shape).replace(b"\\ ", rb" +").replace(b"0", rb"\d+"))


def _known(shape: bytes) -> bool:
    """A wrapping that is taken off later, and may tell a time or a process."""
    whole = shape.decode(errors="replace") + "INFO 01-01 00:00:00 [x.py:1] x"
    return unwrap(whole).text != whole


def _text(line: bytes) -> str:
    return line.rstrip(b"\r\n").decode(errors="replace")


def _width(texts: list[str]) -> int | None:
    """The width at which lines were cut: the longest there is, several times, and mostly followed by what begins no line."""
    longest = max(map(len, texts), default=0)
    if longest not in _WIDTHS:
        return None
    cut = [place for place, text in enumerate(texts) if len(text) == longest]
    after = [(texts[place], texts[place + 1]) for place in cut if place + 1 < len(texts)]
    rests = sum(_goes_on(text, rest) for text, rest in after)
    often = rests >= _OFTEN or (
        rests == 1 and longest % 10 == 0 and longest <= _USUAL
    )  # one cut alone is believed at a usual width
    return longest if often and rests >= 0.7 * len(after) else None


def _goes_on(text: str, rest: str) -> bool:
    return _BEGINS.match(rest) is None and text[:_ALIKE] != rest[:_ALIKE]

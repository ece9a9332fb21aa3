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
    r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Warning)\b|[\w.-]+:\d+:\d+ \[|\w[^|]{3,100}: +\d{1,3}%|Process \S+:$|raise |return |self\.)"
)
"""What the lines of a log begin with, and continuations of a cut line hardly ever do."""
_NOTHING = re.compile(rb"[^\w]*|[\w.-]{1,40}@[\w.-]{1,60}:[^|]{0,80}[#$] ?[^|]{0,200}|[#$%] .{0,200}|```\w*")
_SPELT = ((b"\xc2\xa0", b" "), (b"&lt;", b"<"), (b"&gt;", b">"), (b"&quot;", b'"'), (b"&amp;", b"&"))
"""How pages and their editors write blanks and brackets, and what they mean."""
_UNLESS = re.compile(rb"[<>&](?!(?:lt|gt|quot|amp);)")
"""Where one stands as it is, the others are not spelt so by a page."""
_WIDTHS = range(60, 401)
_HEADER = re.compile(
    rb"(?:\([A-Za-z][\w .=\-:]{0,60} ?pid=\d+(?:, ip=[\d.]+)?\) ?)*(?:\x1b\[[\d;]*m)*(?:\([A-Za-z][\w .=\-]{0,60} pid=|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?: \d\d-\d\d \d\d:|: {2,}))"
)
_BEGUN = re.compile(
    _HEADER.pattern
    + rb"|Loading \w+ checkpoint shards: |Capturing CUDA graph|(?:Downloading|Fetching|Reconstructing) |DeepGEMM |Wait for all |[\w.-]+:\d+:\d+ \[\d+\] |Traceback \(most recent|(?:  )?File \""
)
"""What a line of its own begins with, where a collector has put something before it."""
_DIGITS, _BLANKS = re.compile(rb"\d+"), re.compile(rb" +")
_STAMPED, _DATED = re.compile(rb"0:0|\x1b"), re.compile(rb"0-0-0[T ]0:0:0")
_DATE = re.compile(rb"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:?\d\d)?")
_FEW, _LEAST = 3, 2
"""So many lines alike are believed to have one prefix, or so few where it ends as a prefix does."""
_ENDING = re.compile(rb"[\])>|:-]\s*")
_USUAL = 250
"""Columns that a terminal hardly has more of."""
_OFTEN = 2
_ALIKE = 8
"""Lines whose beginnings are the same are two lines, whatever their length."""


class Paste:
    """How the lines of one file are to be mended, told by its beginning."""

    def __init__(self, head: bytes) -> None:
        self._spelt = tuple(pair for pair in _SPELT if pair[0] in head and pair[1] not in _UNLESS.findall(head))
        lines = [self._respelt(line) for line in head.split(b"\n") if line.strip()]
        quoted = sum(line.startswith((b"> ", b">\r")) for line in lines)
        self._quoted = len(lines) > 1 and quoted >= 0.8 * len(lines)
        self._prefix = None if self._quoted else _prefix(lines)
        texts = [_text(self._unquoted(line)) for line in lines]
        self.width = None if self._prefix else _width(texts[:-1] if len(head) >= 65536 else texts)
        """Columns at which lines were cut; None: they were not."""
        self._begun: bytes = b""

    def mend(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Give whole lines, less what is none of the log's; a cut line comes once its rest did (`end`)."""
        lines = map(self._respelt, lines) if self._spelt else lines
        if self._prefix is not None:
            for line in lines:
                found = self._prefix.match(line)
                yield _moment(found[0]) + line[found.end() :] if found else line
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

    def _respelt(self, line: bytes) -> bytes:
        for said, meant in self._spelt:
            line = line.replace(said, meant)
        return line

    def _unquoted(self, line: bytes) -> bytes:
        return line[1:].removeprefix(b" ") if self._quoted and line[:1] == b">" else line


def is_nothing(line: bytes) -> bool:
    """Tell a line that no program printed into the log: a fence, a rule, a shell's prompt with its command."""
    return len(line) < 400 and _NOTHING.fullmatch(line.rstrip()) is not None


def _prefix(lines: list[bytes]) -> re.Pattern[bytes] | None:
    """What some collector puts before each line, where it is the same one, its digits aside; None: nothing."""
    found = [line[: header.start()] for line in lines if (header := _BEGUN.search(line, 0, 300))]
    shapes = Counter(map(_shape, found))
    if not shapes or all(left.lstrip()[:1] == b"{" for left in found):  # whole objects are read as such
        return None
    shape, count = shapes.most_common(1)[0]
    few = _LEAST if _ENDING.search(shape[-2:]) else _FEW
    if not shape or count < few or count < 0.8 * len(found) or (_STAMPED.search(shape) and not _DATED.search(shape)):
        return None
    if _known(next(left for left in found if _shape(left) == shape)):
        return None
    if not shape.strip():
        return _indent(lines)
    return re.compile(re.escape(shape).replace(b"\\ ", rb" +").replace(b"0", rb"\d+"))


def _shape(left: bytes) -> bytes:
    return _BLANKS.sub(b" ", _DIGITS.sub(b"0", left))


def _indent(lines: list[bytes]) -> re.Pattern[bytes] | None:
    """Blanks before every line; those of a traceback that go beyond belong to it."""
    least = min(len(line) - len(line.lstrip(b" ")) for line in lines)
    return re.compile(rb" {%d}" % least) if least else None


def _moment(prefix: bytes) -> bytes:
    """The time that a prefix tells, as it is read later; nothing where it tells none."""
    found = _DATE.search(prefix)
    if found is None:
        return b""
    day, second, part, zone = found.groups()
    return day + b"T" + second + (b"." + part if part else b"") + (zone or b"Z") + b" "


def _known(prefix: bytes) -> bool:
    """A wrapping that is taken off whole later, and may tell a time or a process."""
    line = "(X pid=1) INFO 01-01 00:00:00 [x.py:1] x"
    return bool(prefix.strip()) and unwrap(prefix.decode(errors="replace") + line).text == line


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

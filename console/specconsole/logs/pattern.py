"""What is searched for in a log: plain text or a regular expression, line by line, never for longer than it may."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from specconsole.logs.effort import Effort, TooSlow, effort_of


@dataclass(frozen=True)
class Pattern:
    """Something to search for. Without a capital letter in it, capitals in the log are ignored.

    A line is searched alone: no match goes on in the next one.
    """

    text: str
    regex: bool = False

    @property
    def problem(self) -> str:
        """Why it cannot be searched for, in a word; "" when it can, as far as is known: it may prove too slow later."""
        return self._fault or ("too slow" if self.effort.spent_up else "")

    @cached_property
    def effort(self) -> Effort:
        """What it has cost so far; whoever types it again goes on from there."""
        return effort_of(f"{'/' if self.regex else '='}{self.text}")

    @cached_property
    def _fault(self) -> str:
        try:
            with self.effort.attempt(len(self.text)):
                return "matches everything" if self.compiled.search("") else ""
        except (re.error, OverflowError, RecursionError):
            return "invalid"
        except TooSlow:
            return ""

    @cached_property
    def ignores_case(self) -> bool:
        """Whether capitals do not matter; those of \\S and its like do not count as capitals."""
        said = re.sub(r"\\.", "", self.text, flags=re.DOTALL) if self.regex else self.text
        return said == said.lower()

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The expression; raises re.error when it is none."""
        source = self.text if self.regex else re.escape(self.text)
        if self.regex and source.startswith(".*") and "|" not in source:
            source = "^" + source  # the same lines, without a try at every place of each
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a set inside a set may mean something else one day
            return re.compile(source, re.MULTILINE | (re.IGNORECASE if self.ignores_case else 0))

    def spans(self, line: str, stop: int) -> list[tuple[int, int]]:
        """Where it stands in a line, from left to right, as far as it begins before a character; [] if that takes too long."""
        found: list[tuple[int, int]] = []
        try:
            with self.effort.attempt(len(line)):
                for match in self.compiled.finditer(line):
                    if match.start() >= stop:
                        break
                    if match.end() > match.start():
                        found.append(match.span())
        except TooSlow:
            return []
        return found

    def first(self, line: str) -> int:
        """The character of a line at which it stands first; 0 if nowhere, or if that takes too long."""
        try:
            with self.effort.attempt(len(line)):
                match = self.compiled.search(line)
        except TooSlow:
            return 0
        return match.start() if match else 0

    def holds(self, words: str) -> bool:
        """Whether it stands in a text; raises TooSlow."""
        with self.effort.attempt(len(words)):
            return self.compiled.search(words) is not None

    def lines(self, blob: bytes) -> list[int]:
        """The places at which those lines of a text begin that hold it.

        Args:
            blob: lines in UTF-8, each with its newline.

        Raises:
            TooSlow: it took longer than it may, now or before.
        """
        if not self.regex and (self._bytes is not None):
            return _literal(self._bytes, blob.lower() if self.ignores_case else blob)
        with self.effort.attempt(len(blob)):
            if self._alone:
                return list(self._line_by_line(blob))
            return list(self._at_once(blob.decode()))

    @cached_property
    def _bytes(self) -> bytes | None:
        """The plain text as it stands in the log; None where ignoring capitals takes more than ASCII."""
        return self.text.encode(errors="surrogatepass") if self.text.isascii() or not self.ignores_case else None

    @cached_property
    def _alone(self) -> bool:
        """Whether each line must be searched by itself."""
        return re.search(r"\\[AZ]", self.text) is not None

    def _line_by_line(self, blob: bytes) -> Iterator[int]:
        at = 0
        for line in blob.split(b"\n")[:-1]:
            if self.compiled.search(line.decode()):
                yield at
            at += len(line) + 1

    def _at_once(self, text: str) -> Iterator[int]:
        """One search over many lines is several times as fast as one each; what runs over a line's end is tried again."""
        place = counted = at = 0
        ascii_only = text.isascii()
        while match := self.compiled.search(text, place):
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.start())
            if end < 0:
                break
            if match.end() <= end or self.compiled.search(text[start:end]):
                at = start if ascii_only else at + len(text[counted:start].encode())
                counted = start
                yield at
            place = end + 1


def _literal(needle: bytes, blob: bytes) -> list[int]:
    found: list[int] = []
    at = blob.find(needle)
    while at >= 0:
        found.append(blob.rfind(b"\n", 0, at) + 1)
        end = blob.find(b"\n", at)
        at = blob.find(needle, end)
    return found

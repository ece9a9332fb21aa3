"""How vLLM words the milestones of a start: what a row of the tables means, and how a line is looked up in them; pure.

A line is told by its text, never by file and line number, which move with each release. Ranges name the first and the
last release that was seen to print a form; a form outside its range is read all the same, since builds are patched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from specconsole.load.phase import Phase

LONGEST = 16_384
"""Characters of a line that are looked at; a real configuration dump has 4,000 to 6,000."""


class Edge(Enum):
    """What a line says of its phase."""

    BEGIN = "begin"
    IN = "in"
    """It goes on, and may have begun before."""
    END = "end"
    """It ended with this line, of this worker where each says it."""


class By(Enum):
    """Who prints a form."""

    ONE = "one"
    """One process, or the first of several."""
    WORKERS = "workers"
    """Each worker (in the ranges of `Wording.each`)."""
    ENGINES = "engines"
    """Each data-parallel engine."""


@dataclass(frozen=True)
class Wording:
    """One form of one milestone."""

    says: str
    """What the text begins with, or holds where `inside`."""
    more: str = ""
    """A regular expression for what follows at once; its named groups are facts, `took` the seconds of the phase."""
    phase: Phase | None = None
    edge: Edge = Edge.IN
    since: str = "0.6.0"
    until: str = ""
    """"": still printed by the newest release that was seen, 0.33.0."""
    by: By = By.ONE
    each: tuple[str, str] = ("", "")
    """First and last release in which every worker prints it; ("", ""): in all. Others print it once."""
    runner: str = ""
    """The model runner that prints it: V1, V2; "" for both."""
    inside: bool = False
    facts: tuple[tuple[str, object], ...] = ()
    """Facts that the form itself states."""

    def repeats(self, version: str | None, runner: str | None = None) -> bool:
        """Tell whether each worker or engine prints it in this version; False where that is not known."""
        if self.by is By.ENGINES:
            return True
        if self.by is not By.WORKERS:
            return False
        if self.runner and runner and self.runner != runner:
            return False
        if self.each == ("", ""):
            return True
        return bool(version) and within(version or "", *self.each)


def within(version: str, since: str, until: str = "") -> bool:
    """Tell whether a version lies in a range of releases, both ends included; "" leaves an end open."""
    number = release(version)
    return release(since) <= number and (not until or number <= release(until))


@lru_cache(maxsize=256)
def release(version: str) -> tuple[int, ...]:
    """Read the three numbers of a release: 0.23.1rc1.dev197+g0119 is (0, 23, 1); what is no number counts as 0."""
    parts = re.findall(r"\d{1,6}", version.partition("+")[0])[:3]
    return tuple(int(part) for part in [*parts, "0", "0", "0"][:3])


@dataclass(frozen=True)
class Said:
    """A line that was recognised."""

    wording: Wording
    values: Mapping[str, str]
    """The named groups that took part."""


# From 0.32.0 on lines of the compiler carry the part of the model that they are about.
_TAG = re.compile(r"\[[\w .:-]{1,40}\] ")


_Rows = tuple[tuple[Wording, re.Pattern[str]], ...]


class Table:
    """Wordings that a line is looked up in; the first row that fits wins.

    Of a hundred rows a line is held only against those that share its first letters, and those that stand inside.
    """

    def __init__(self, rows: Iterable[Wording]) -> None:
        compiled = tuple((row, re.compile(row.more)) for row in rows)
        self._letters = min(len(row.says) for row, _ in compiled if not row.inside)
        heads = {row.says[: self._letters] for row, _ in compiled if not row.inside}
        self._rows = {head: self._sharing(compiled, head) for head in heads}
        self._inside = self._sharing(compiled, None)

    def _sharing(self, rows: _Rows, head: str | None) -> _Rows:
        return tuple((row, more) for row, more in rows if row.inside or row.says[: self._letters] == head)

    def find(self, text: str) -> Said | None:
        """Look a text up; None: no row fits."""
        text = text[:LONGEST]
        tag = _TAG.match(text) if text.startswith("[") else None
        begin = tag.end() if tag else 0
        for row, more in self._rows.get(text[begin : begin + self._letters], self._inside):
            at = text.find(row.says) if row.inside else begin if text.startswith(row.says, begin) else -1
            if at >= 0 and (found := more.match(text, at + len(row.says))):
                return Said(row, {name: value for name, value in found.groupdict().items() if value is not None})
        return None

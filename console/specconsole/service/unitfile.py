"""Unit files as systemd merges them: the main file, then its drop-ins, with lists that an empty value resets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from specconsole.service import quoting


@dataclass(frozen=True)
class Entry:
    """One setting, and where it stands in its file's text."""

    section: str
    key: str
    value: str
    pieces: tuple[tuple[int, int], ...] = field(compare=False, repr=False)
    """Where each part of the value begins, in the value and in the text: a part ends with its line."""
    begin: int = field(default=0, compare=False, repr=False)
    """Where its key stands in the text."""

    def place(self, at: int) -> int:
        """Where a character of the value stands in the text; for its length, where the last one ends."""
        if at and at == len(self.value):
            return self.place(at - 1) + 1
        start, place = [piece for piece in self.pieces if piece[0] <= at][-1]
        return place + at - start

    @property
    def continued(self) -> bool:
        """The value goes over several lines."""
        return len(self.pieces) > 1


@dataclass(frozen=True)
class Settings:
    """All settings of a unit in the order of the files."""

    entries: tuple[Entry, ...]

    def all(self, key: str, section: str = "Service") -> list[str]:
        """The values of a key that may be given several times, since its last reset."""
        values: list[str] = []
        for entry in self.entries:
            if (entry.section, entry.key) == (section, key):
                values = [*values, entry.value] if entry.value else []
        return values

    def last(self, key: str, section: str = "Service") -> str:
        """The value of a key that counts once; "" when it is not set."""
        found = (entry.value for entry in reversed(self.entries) if (entry.section, entry.key) == (section, key))
        return next(found, "")

    def words(self, key: str, section: str = "Service") -> list[str]:
        """All words of a key's values; a value that systemd cannot split is left out, as systemd does."""
        words: list[str] = []
        for value in self.all(key, section):
            try:
                words += quoting.split(value)
            except ValueError:  # noqa: PERF203  each line counts for itself
                continue
        return words

    def commands(self, key: str = "ExecStart") -> list[quoting.Command]:
        """All commands of a key; a line that systemd cannot split is left out, as systemd does."""
        found: list[quoting.Command] = []
        for value in self.all(key):
            try:
                found += quoting.commands(value)
            except ValueError:  # noqa: PERF203  each line counts for itself
                continue
        return found


def parse(*texts: str) -> Settings:
    """Read files in their order: the unit's own, then its drop-ins. An entry's places are those in its own file."""
    return Settings(tuple(entry for text in texts for entry in _entries(text)))


def _entries(text: str) -> Sequence[Entry]:
    entries = []
    section = ""
    for line, pieces in _logical_lines(text):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif "=" in line:
            key, _, value = line.partition("=")
            start = len(key) + 1 + len(value) - len(value.lstrip())
            entries.append(Entry(section, key.strip(), value.strip(), _from(pieces, start), pieces[0][1]))
    return entries


Pieces = tuple[tuple[int, int], ...]


def _from(pieces: Sequence[tuple[int, int]], start: int) -> Pieces:
    """The same pieces, counted from a later place in the line."""
    first = [piece for piece in pieces if piece[0] <= start][-1]
    return ((0, first[1] + start - first[0]), *((at - start, place) for at, place in pieces if at > start))


def _logical_lines(text: str) -> list[tuple[str, Pieces]]:
    """Join continued lines: the backslash becomes a blank, and comments between them are skipped."""
    lines: list[tuple[str, Pieces]] = []
    held, pieces = "", list[tuple[int, int]]()
    end = 0
    for raw in text.split("\n"):
        begin, end = end, end + len(raw) + 1
        line = raw.lstrip(quoting.BLANKS)
        if line[:1] in ("#", ";"):
            continue
        pieces.append((len(held), begin + len(raw) - len(line)))
        line = held + line
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            held = line[:-1] + " "
            continue
        if line.strip(quoting.BLANKS):
            lines.append(_stripped(line, pieces))
        held, pieces = "", []
    return [*lines, _stripped(held, pieces)] if held.strip(quoting.BLANKS) else lines


def _stripped(line: str, pieces: Sequence[tuple[int, int]]) -> tuple[str, Pieces]:
    return line.strip(quoting.BLANKS), _from(pieces, len(line) - len(line.lstrip(quoting.BLANKS)))

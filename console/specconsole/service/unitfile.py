"""Unit files as systemd merges them: the main file, then its drop-ins, with lists that an empty value resets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specconsole.service import quoting


@dataclass(frozen=True)
class Settings:
    """All settings of a unit in the order of the files."""

    entries: tuple[tuple[str, str, str], ...]
    """Section, key, value."""

    def all(self, key: str, section: str = "Service") -> list[str]:
        """The values of a key that may be given several times, since its last reset."""
        values: list[str] = []
        for where, name, value in self.entries:
            if (where, name) == (section, key):
                values = [*values, value] if value else []
        return values

    def last(self, key: str, section: str = "Service") -> str:
        """The value of a key that counts once; "" when it is not set."""
        return next((value for where, name, value in reversed(self.entries) if (where, name) == (section, key)), "")

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
    """Read files in their order: the unit's own, then its drop-ins."""
    return Settings(tuple(entry for text in texts for entry in _entries(text)))


def _entries(text: str) -> Sequence[tuple[str, str, str]]:
    entries = []
    section = ""
    for line in _logical_lines(text):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif "=" in line:
            key, _, value = line.partition("=")
            entries.append((section, key.strip(), value.strip()))
    return entries


def _logical_lines(text: str) -> list[str]:
    """Join continued lines: the backslash becomes a blank, and comments between them are skipped."""
    lines: list[str] = []
    held = ""
    for raw in text.split("\n"):
        line = raw.lstrip(quoting.BLANKS)
        if line[:1] in ("#", ";"):
            continue
        line = held + line
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            held = line[:-1] + " "
            continue
        held = ""
        if line.strip():
            lines.append(line.strip(quoting.BLANKS))
    return [*lines, held.strip(quoting.BLANKS)] if held.strip() else lines

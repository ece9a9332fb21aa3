"""The journal of the simulated host: entries as journald keeps them, printed as `journalctl -o json` prints them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from specconsole.stream import Latest

Fields = Mapping[str, bytes]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

_LONG = 4096
"""Without `--all` journalctl prints null for a field of this many bytes or more."""

_MOST = 20_000
"""Entries that are kept; a demo may run overnight. The oldest quarter is vacuumed at once."""

_BASIC = ("__CURSOR", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_BOOT_ID")
"""Printed whatever `--output-fields` asks for."""


@dataclass(frozen=True)
class Entry:
    """One entry."""

    seq: int
    at: float
    """Seconds since the epoch."""
    fields: Fields


class Journal:
    """Entries in order of time, and a watch for those who follow."""

    def __init__(self, boot_id: str, booted: float) -> None:
        self.entries: list[Entry] = []
        self.gone = 0
        """How many entries were vacuumed."""
        self.grown = Latest(0)
        """How many entries there have been."""
        self._boot_id = boot_id
        self._booted = booted

    def add(self, at: float, fields: Mapping[str, str | bytes]) -> None:
        """Append an entry."""
        if len(self.entries) >= _MOST:
            del self.entries[: _MOST // 4]
            self.gone += _MOST // 4
        seq = self.count + 1
        micros, mono = round(at * 1e6), round((at - self._booted) * 1e6)
        cursor = f"s={self._boot_id[::-1]};i={seq:x};b={self._boot_id};m={mono:x};t={micros:x};x={seq * 2654435761:x}"
        basic = {
            "__CURSOR": cursor,
            "__REALTIME_TIMESTAMP": str(micros),
            "__MONOTONIC_TIMESTAMP": str(mono),
            "_BOOT_ID": self._boot_id,
        }
        all_fields = {
            name: value if isinstance(value, bytes) else value.encode()
            for name, value in (basic | dict(fields)).items()
        }
        self.entries.append(Entry(seq, at, all_fields))

    @property
    def count(self) -> int:
        """How many entries there have been."""
        return self.gone + len(self.entries)

    def after(self, seq: int) -> list[Entry]:
        """The entries after that number that are still there."""
        return self.entries[max(seq - self.gone, 0) :]

    def announce(self) -> None:
        """Wake those who follow."""
        if self.grown.value != self.count:
            self.grown.set(self.count)

    def place(self, cursor: str) -> int:
        """The number of the entry that a cursor means; one that is gone means the next later one."""
        parts = dict(part.split("=", 1) for part in cursor.split(";") if "=" in part)
        return int(parts.get("i", "0"), 16)


def render(entry: Entry, wanted: Sequence[str], everything: bool) -> bytes:
    """One line of `-o json`: bytes that are no text, or hold controls, as an array of numbers."""
    names: Iterable[str] = [*_BASIC, *wanted] if wanted else entry.fields
    shown = {name: _value(entry.fields[name], everything) for name in dict.fromkeys(names) if name in entry.fields}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _value(value: bytes, everything: bool) -> str | list[int] | None:
    if len(value) >= _LONG and not everything:
        return None
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return list(value)
    return list(value) if _CONTROL.search(text) else text


def plain(entry: Entry) -> bytes:
    """One line of `-o cat`."""
    return entry.fields.get("MESSAGE", b"") + b"\n"


class Match:
    """What an entry must have: groups of which one must fit, each a set of fields with the values allowed for it."""

    def __init__(self) -> None:
        self._groups: list[dict[str, set[bytes]]] = [{}]
        self._units: set[bytes] = set()
        self._pattern: re.Pattern[bytes] | None = None

    def term(self, word: str) -> None:
        """Take FIELD=value, or + for "or"."""
        if word == "+":
            self._groups.append({})
            return
        name, _, value = word.partition("=")
        self._groups[-1].setdefault(name, set()).add(value.encode())

    def unit(self, name: str) -> None:
        """Take a unit: what it prints, and what PID 1 says of it."""
        self._units.add((name if "." in name else f"{name}.service").encode())

    def grep(self, pattern: str) -> None:
        """Take a pattern for the message; without capitals it means both cases."""
        self._pattern = re.compile(pattern.encode(), re.IGNORECASE if pattern.islower() else 0)

    def fits(self, entry: Entry) -> bool:
        """Say whether an entry is meant."""
        fields = entry.fields
        if self._pattern and not self._pattern.search(fields.get("MESSAGE", b"")):
            return False
        by_pid_1 = fields.get("_PID") == b"1" and fields.get("UNIT") in self._units
        if self._units and not by_pid_1 and fields.get("_SYSTEMD_UNIT") not in self._units:
            return False
        return any(all(fields.get(name) in values for name, values in group.items()) for group in self._groups)


def select(entries: Iterable[Entry], match: Match, since: float | None, until: float | None) -> Iterator[Entry]:
    """Yield the entries that fit, of a span of time."""
    for entry in entries:
        if (since is None or entry.at >= since) and (until is None or entry.at <= until) and match.fits(entry):
            yield entry

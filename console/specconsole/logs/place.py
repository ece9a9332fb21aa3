"""How far the journal was read, and how journalctl is made to go on exactly there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specconsole.logs.entry import Entry
from specconsole.logs.query import Query
from specconsole.logs.record import Kind, Level
from specconsole.text import duration


class Place:
    """The last entry that was read; knows what to ask next and whether the answer goes on without a gap.

    A cursor is asked for *with* its entry, and that entry is looked for in the answer: when the journal no longer has
    it, journalctl goes on with whatever is left and says nothing.
    """

    def __init__(
        self, query: Query, cursor: str, since: float | None, lines: int | None, started: float, *, live: bool
    ) -> None:
        self.query = query
        self.count = 0
        """Entries read so far."""
        self._cursor = cursor
        self._since = since
        self._lines = lines
        self._started = started
        self._live = live
        self._last: Entry | None = None
        self._boot = ""
        """The last one that an entry named."""
        self._expected = ""

    def argv(self) -> list[str]:
        """Build the command that goes on here."""
        return self.query.argv(*self._position(), *(("-f",) if self._live else ()))

    def _position(self) -> list[str]:
        # With -f journalctl shows ten lines only, from a cursor on too (seen with 252, not with 257), unless told not
        # to; and told so it takes no notice of -n.
        everything = ["--no-tail"] if self._live else []
        self._expected = self._last.cursor if self._last else ""
        if cursor := self._expected or self._cursor:
            return [f"--cursor={cursor}", *everything]
        if self._since is not None:
            return [f"--since=@{self._since:.6f}", *everything]
        if self._lines is not None:
            return ["-n", str(self._lines)]
        if not self._live:
            return []
        # From now on. A second attempt before any line must not leave out what came since the first.
        self._since = self._started
        return ["-n", "0"]

    def take(self, entries: Sequence[Entry | None]) -> list[Entry]:
        """Return the entries that are new, with what is to be said where lines are missing or the host was started anew."""
        taken: list[Entry] = []
        for entry in entries:
            if entry is None:
                continue
            if self._expected and entry.cursor:
                known, self._expected = entry.cursor == self._expected, ""
                if known:
                    continue
                taken.append(self._gap(entry))
            taken += self._between(entry)
            taken.append(self._placed(entry))
        self.count += len(taken)
        return taken

    def adapt(self, complaint: str) -> bool:
        """Change the question after an error of journalctl; False: there is nothing to change."""
        if "--output-fields" in complaint and self.query.fields:
            self.query = replace(self.query, fields=False)
            return True
        if "seek to cursor" in complaint and (self._last or self._cursor):
            self._since = self._last.at if self._last else self._started
            self._cursor, self._last = "", None
            return True
        return False

    def _placed(self, entry: Entry) -> Entry:
        if entry.cursor:
            self._last = entry
            return entry
        unit = self._last.unit if self._last else next(iter(self.query.keys.values()), "")
        return entry._replace(at=self._last.at if self._last else self._started, unit=unit)

    def _between(self, entry: Entry) -> list[Entry]:
        """A line between two boots of the host."""
        before, self._boot = self._boot, entry.boot or self._boot
        if before in ("", self._boot):
            return []
        text = "The host was started anew."
        return [Entry(entry.at, entry.unit, text, Kind.SYSTEMD, source="journald", boot=entry.boot)]

    def _gap(self, entry: Entry) -> Entry:
        assert self._last is not None
        missing = duration(entry.at - self._last.at)
        text = (
            f"The journal no longer has the line that was read last: lines of the {missing} before here may be missing."
        )
        return Entry(entry.at, entry.unit, text, Kind.GAP, Level.WARNING, "journald", boot=entry.boot)

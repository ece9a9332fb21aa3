"""What every rank says alike made one line."""

from __future__ import annotations

from dataclasses import dataclass, field

from specconsole.logs.record import Kind, Level, LogRecord

TOGETHER_S = 10.0
"""Ranks that say the same within so long, by the host's clock, say it together."""
_OPEN = 1024
"""So many sayings are remembered at a time."""
_LONGEST = 4096
"""Characters of a text that is compared; longer ones are shown for each rank."""


@dataclass
class RankFold:
    """Tells which lines repeat what another rank has just said, word for word; eight ranks then take one line.

    The lines themselves are kept: who reads a rank's own log sees them all.
    """

    _said: dict[tuple[str, Level, Kind, str], _Saying] = field(default_factory=dict)

    def feed(self, record: LogRecord, number: int) -> int | None:
        """Return the number of the record that this one repeats; None: it says something itself.

        Args:
            record: what was logged next.
            number: what to call it by.
        """
        if record.rank is None or len(record.text) > _LONGEST:
            return None
        key, by = (record.unit, record.level, record.kind, record.text), (record.process, record.pid)
        saying = self._said.get(key)
        if saying is not None and by not in saying.by and abs(record.at - saying.at) <= TOGETHER_S:
            saying.by.add(by)
            return saying.number
        self._said.pop(key, None)
        self._said[key] = _Saying(number, record.at, {by})
        if len(self._said) > _OPEN:
            del self._said[next(iter(self._said))]
        return None


@dataclass
class _Saying:
    """What a rank said, and who has said it since."""

    number: int
    at: float
    by: set[tuple[str | None, int | None]]

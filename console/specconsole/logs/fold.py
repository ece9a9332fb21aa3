"""Repeated lines made one: the access lines that the console's own polls cause."""

from __future__ import annotations

from dataclasses import dataclass, field

from specconsole.logs import header
from specconsole.logs.assemble import Message
from specconsole.logs.record import ACCESS, Kind

POLLED = ("/health", "/v1/models", "/metrics")
"""What the console asks for, by GET, every second or so, from the host itself."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost", "")
"""Clients that are the host itself; a unix socket has none. Another poller on the host looks the same and is folded too."""
STOPPED_S = 5.0
"""For less than this a poll may be late."""
WINDOW_S = 60.0
"""A run of polls is summed up this often, by the host's clock."""


@dataclass
class _Run:
    """Polls of one kind within a minute."""

    begun: float
    newest: Message | None = None
    """The newest that was not shown."""
    count: int = 0
    """How many were not shown."""

    def is_over(self, at: float) -> bool:
        """Whether something so late is beyond it."""
        return at - self.begun >= WINDOW_S or at < self.begun

    def has_stopped(self, at: float) -> bool:
        """Whether polls have stayed away by then, for three times as long as from one to the next: what is held comes first."""
        if self.newest is None:
            return False
        last = self.newest.entry.at
        return at - last > max(3 * (last - self.begun) / self.count, STOPPED_S)

    def shown(self) -> tuple[Message, int] | None:
        """The newest, for all that were not shown before it."""
        return (self.newest, self.count - 1) if self.newest else None


@dataclass
class Fold:
    """Lets the first poll of each kind through and sums up those that follow; another status is another kind.

    Each line is counted once: what comes out stands for one line and those that its count names.
    """

    _held: dict[tuple[str, str, str], _Run] = field(default_factory=dict)

    def feed(self, message: Message) -> list[tuple[Message, int]]:
        """Return what to show now, each with the number of others that it stands for."""
        poll, at = _poll(message), message.entry.at
        key = (message.entry.unit, *poll) if poll else None
        shown = self._over(at, key) if self._held else []
        if key is None:
            return [*shown, (message, 0)]
        run = self._held.get(key)
        if run is None or run.is_over(at):
            self._held[key] = _Run(at)
            return [*shown, (message, run.count if run else 0)]
        run.newest, run.count = message, run.count + 1
        return shown

    def flush(self) -> list[tuple[Message, int]]:
        """Return what was held back, oldest first; the next poll is let through again."""
        held = [shown for run in self._held.values() if (shown := run.shown())]
        self._held.clear()
        return sorted(held, key=lambda pair: pair[0].entry.at)

    def _over(self, at: float, but: tuple[str, str, str] | None) -> list[tuple[Message, int]]:
        """What was held of runs that did not go on, oldest first; the run of the next poll shows its count with that poll.

        It stands before what is shown now: told a minute later it would look out of order.
        """
        ended = [key for key, run in self._held.items() if key != but and (run.is_over(at) or run.has_stopped(at))]
        held = [shown for key in ended if (shown := self._held.pop(key).shown())]
        return sorted(held, key=lambda pair: pair[0].entry.at)


def _poll(message: Message) -> tuple[str, str] | None:
    return poll(message.first.kind, message.first.text)


def poll(kind: Kind, text: str) -> tuple[str, str] | None:
    """Path and status of one of our polls; None: it is something else."""
    if kind is not ACCESS:
        return None
    found = header.ACCESS.match(text)
    if not found or found["method"] != "GET" or found["path"] not in POLLED or (found["client"] or "") not in _LOOPBACK:
        return None
    return found["path"], found["status"]

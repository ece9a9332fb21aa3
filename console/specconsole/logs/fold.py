"""The access lines that the console's own polls cause, folded into a count so that they do not drown the log."""

from __future__ import annotations

from dataclasses import dataclass, field

from specconsole.logs.assemble import Message
from specconsole.logs.header import ACCESS
from specconsole.logs.record import Kind

POLLED = ("/health", "/v1/models", "/metrics")
"""What the console asks for, by GET, every second or so, from the host itself."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost", "")
"""Clients that are the host itself; a unix socket has none. Another poller on the host looks the same and is folded too."""
WINDOW_S = 60.0
"""A run of polls is summed up this often, by the host's clock."""


@dataclass
class Fold:
    """Lets the first poll of each kind through and sums up those that follow; another status is another kind.

    Each line is counted once: what comes out stands for one line and those that its count names.
    """

    _held: dict[tuple[str, str, str], tuple[float, Message | None, int]] = field(default_factory=dict)
    """When the run began, its newest poll that was not shown, and how many were not shown."""

    def feed(self, message: Message) -> list[tuple[Message, int]]:
        """Return what to show now, each with the number of others that it stands for."""
        poll = _poll(message)
        if poll is None:
            return [(message, 0)]
        key = (message.entry.unit, *poll)
        at = message.entry.at
        begun, _, count = self._held.get(key, (None, None, 0))
        if begun is None or at < begun or at - begun >= WINDOW_S:
            self._held[key] = (at, None, 0)
            return [(message, count)]
        self._held[key] = (begun, message, count + 1)
        return []

    def flush(self) -> list[tuple[Message, int]]:
        """Return what was held back, oldest first; the next poll is let through again."""
        held = [(message, count - 1) for _, message, count in self._held.values() if message]
        self._held.clear()
        return sorted(held, key=lambda pair: pair[0].entry.at)


def _poll(message: Message) -> tuple[str, str] | None:
    """Path and status of one of our polls; None: it is something else."""
    if message.first.kind is not Kind.ACCESS:
        return None
    found = ACCESS.match(message.first.text)
    if not found or found["method"] != "GET" or found["path"] not in POLLED or (found["client"] or "") not in _LOOPBACK:
        return None
    return found["path"], found["status"]

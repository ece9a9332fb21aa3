"""Where the app's data comes from: the domain's generators for one host, imported when they are first asked for."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from specconsole.engine.snapshot import EngineSnapshot
from specconsole.gpu.sample import Fleet
from specconsole.host.base import Link
from specconsole.logs.record import LogRecord
from specconsole.service.unit import Unit


class Feeds(Protocol):
    """Everything that the app follows; each generator goes on over link cuts."""

    def links(self) -> AsyncGenerator[Link, None]:
        """The state of the link, now and after each change."""
        ...

    def fleets(self) -> AsyncGenerator[Fleet, None]:
        """Samples of the host, at the rate of `set_rate`."""
        ...

    def set_rate(self, interval_s: float, units: tuple[Unit, ...]) -> None:
        """How often to sample, and the units whose processes to list."""
        ...

    def units(self) -> AsyncGenerator[tuple[Unit, ...], None]:
        """All units, at first and after each change."""
        ...

    def log(self, units: tuple[Unit, ...], first_seq: int) -> AsyncGenerator[list[LogRecord], None]:
        """New records of these units' logs, after some of their past; numbered from `first_seq`."""
        ...

    def engine(self, unit: Unit) -> AsyncGenerator[EngineSnapshot, None]:
        """What the server of a unit says."""
        ...


class Store(Protocol):
    """A bounded store of log records: what `log_window.Records` reads, and a way in."""

    @property
    def first(self) -> int:
        """The number of the oldest record that is held."""
        ...

    @property
    def end(self) -> int:
        """The number after the newest record."""
        ...

    def record(self, number: int) -> LogRecord:
        """The record of that number; it must be held."""
        ...

    def extend(self, records: list[LogRecord]) -> None:
        """Add new records at the end."""
        ...

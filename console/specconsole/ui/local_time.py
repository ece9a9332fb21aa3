"""Times of day as the operator's own clock shows them."""

from __future__ import annotations

from datetime import datetime, tzinfo
from functools import lru_cache


class LocalTime:
    """Writes seconds since the epoch as HH:MM:SS in one time zone; None is the machine's own."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        self.zone = zone
        self._second = lru_cache(4096)(self._write)

    def __call__(self, at: float) -> str:
        """HH:MM:SS, eight characters."""
        return self._second(int(at))

    def _write(self, second: int) -> str:
        try:
            return datetime.fromtimestamp(second, self.zone).strftime("%H:%M:%S")
        except (OverflowError, OSError, ValueError):
            return "--:--:--"

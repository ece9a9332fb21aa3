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

    def full(self, at: float) -> str:
        """Date, time with milliseconds, zone: 2026-11-29 14:32:01.123 +0100."""
        try:
            when = datetime.fromtimestamp(at, self.zone).astimezone(self.zone)
        except (OverflowError, OSError, ValueError):
            return "—"
        return f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03} {when:%z}"

    def day(self, at: float) -> str:
        """YYYY-MM-DD HH:MM:SS, nineteen characters."""
        try:
            return datetime.fromtimestamp(at, self.zone).strftime("%Y-%m-%d %H:%M:%S")
        except (OverflowError, OSError, ValueError):
            return "---------- --:--:--"

    def file(self, at: float) -> str:
        """YYYY-MM-DD-HHMMSS, for the name of a file."""
        return self.day(at).replace(" ", "-").replace(":", "")

    def _write(self, second: int) -> str:
        try:
            return datetime.fromtimestamp(second, self.zone).strftime("%H:%M:%S")
        except (OverflowError, OSError, ValueError):
            return "--:--:--"

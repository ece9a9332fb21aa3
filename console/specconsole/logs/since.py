"""The moments that people write: 10m, 2h, 14:00, 2026-11-29 14:00, "last start"."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta, timezone

from specconsole.errors import UsageError

LAST_START = "last start"
"""What asks for the beginning of the unit's newest start; that is no moment, so it is found in the journal."""
_NAMES = {
    1: "s sec second seconds",
    60: "m min minute minutes",
    3600: "h hr hour hours",
    86400: "d day days",
    604800: "w week weeks",
}
_UNITS = {name: seconds for seconds, names in _NAMES.items() for name in names.split()}
"""As systemd.time(7) has them, so that what `journalctl --since` takes is taken here."""
_SPAN = re.compile(rf"(?:\d+(?:\.\d+)?\s*(?:{'|'.join(sorted(_UNITS, key=len, reverse=True))})\s*)+")
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_HOUR = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")


def parse(text: str, now: float) -> float:
    """Return the moment meant, in seconds since the epoch; without a zone it is the reader's own time.

    Args:
        text: a span back from now, an hour of today, a day, a day and an hour, or seconds since the epoch as @N.
        now: seconds since the epoch.

    Raises:
        UsageError: it is none of these, or lies ahead. What lies before the epoch is the epoch: no journal takes less.
    """
    at = _moment(text.strip(), now)
    if at is None or not math.isfinite(at):
        forms = '10m, 2h, 1h30m, 14:00, yesterday, 2026-11-29, "2026-11-29 14:00" or "last start"'
        raise UsageError(f"--since {text!r} is no time.", hint=f"It takes {forms}.")
    if at > now + 1:
        raise UsageError(f"--since {text!r} lies ahead.", hint="Nothing was logged then.")
    return max(at, 0.0)


def _moment(text: str, now: float) -> float | None:
    low = text.lower().removesuffix(" ago").lstrip("-").strip()
    if _SPAN.fullmatch(low):
        return now - sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(low))
    if low == "now":
        return now
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    if low in ("today", "yesterday"):
        return (today - timedelta(days=low == "yesterday")).timestamp()
    try:
        if low.startswith("@"):
            return float(low[1:])
        if _HOUR.fullmatch(low):
            hours, minutes, *seconds = map(int, low.split(":"))
            return today.replace(hour=hours, minute=minutes, second=seconds[0] if seconds else 0).timestamp()
        return _calendar(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _calendar(text: str) -> datetime:
    """ISO 8601 as people write it; Python 3.10 reads neither Z nor a blank before the zone."""
    head, zone = (text[:-1], "+00:00") if text[-1:] in ("Z", "z") else (text, "")
    if head.upper().endswith(" UTC"):
        head, zone = head[:-4], "+00:00"
    moment = datetime.fromisoformat(head.strip() + zone)
    return moment if moment.tzinfo is None else moment.astimezone(timezone.utc)

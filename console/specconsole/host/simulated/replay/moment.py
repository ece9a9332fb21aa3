"""Where a replay is to begin, as a person says it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from specconsole.errors import UsageError
from specconsole.host.simulated.replay.bundle import Bundle
from specconsole.text import one_line

BEFORE_S = 5.0
"""It opens so long before what was asked for, so that it is seen to happen."""
_BAD = ("ERROR", "CRITICAL")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?\Z")
_FURTHER = re.compile(r"\+(\d{1,7}(?:\.\d+)?)\Z")


def moment(wanted: str, kept: Bundle, begin: float, end: float, zone: tzinfo | None = None) -> float:
    """Find a moment of a bundle, in seconds since the epoch.

    Args:
        wanted: "error" (the first error of its log), "end", "+SECONDS" from its beginning, or HH:MM[:SS], a time of day.
        kept: the bundle.
        begin: when it begins, in seconds since the epoch.
        end: when it ends.
        zone: the time zone of a time of day; None: this machine's.

    Raises:
        UsageError: it is none of these, or not within the bundle.
    """
    if wanted == "error":
        return max(_first_error(kept) - BEFORE_S, begin)
    if wanted == "end":
        return max(end - BEFORE_S, begin)
    if further := _FURTHER.match(wanted):
        found = begin + float(further[1])
    elif clock := _CLOCK.match(wanted):
        found = _time_of_day(clock, begin, zone)
    else:
        raise UsageError(
            f"--at {one_line(wanted, 40)} is no time.",
            hint="It takes error, end, +SECONDS or a time of day, HH:MM[:SS].",
        )
    if not begin <= found < end:
        first, last = (datetime.fromtimestamp(at, zone).strftime("%H:%M:%S") for at in (begin, end))
        raise UsageError(
            f"--at {one_line(wanted, 40)} is not within the bundle.", hint=f"It tells of {first} to {last}."
        )
    return found


def _first_error(kept: Bundle) -> float:
    errors = [
        float(record["at"]) for records in kept.records.values() for record in records if record.get("level") in _BAD
    ]
    if not errors:
        raise UsageError("The log of this bundle holds no error.", hint="--at end shows how it ended.")
    return min(errors)


def _time_of_day(clock: re.Match[str], begin: float, zone: tzinfo | None) -> float:
    """The first such time of day from the beginning on."""
    hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise UsageError(f"--at {clock[0]} is no time of day.", hint="It goes from 00:00 to 23:59:59.")
    first = datetime.fromtimestamp(begin, zone)
    found = first.replace(hour=hour, minute=minute, second=second, microsecond=0)
    return (found if found.timestamp() >= begin - 1 else found + timedelta(days=1)).timestamp()

"""The time that the user wants to see the log at: 14:32, 14:32:10, -10m, 2h ago, 2026-11-29 14:32."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from specconsole.errors import UsageError
from specconsole.logs import since

_HOUR = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")


def moment(text: str, now: float) -> float | None:
    """Seconds since the epoch of what was typed; an hour that is still to come is yesterday's. None: it is no time."""
    said = text.strip()
    try:
        return since.parse(said, now)
    except UsageError:
        if not _HOUR.fullmatch(said):
            return None
    try:
        return since.parse(f"{datetime.fromtimestamp(now) - timedelta(days=1):%Y-%m-%d} {said.rjust(5, '0')}", now)
    except UsageError:
        return None

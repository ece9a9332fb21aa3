"""Time spans as `systemctl show` prints them: 1min 30s, 2h, 100ms, infinity."""

from __future__ import annotations

import math
import re

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_UNITS |= {"month": 2629800.0, "y": 31557600.0}
_PART = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)(us|ms|s|min|h|d|w|month|y)\Z")


def seconds(text: str) -> float | None:
    """A span in seconds, `math.inf` for infinity; None: not a span."""
    if text == "infinity":
        return math.inf
    parts = [_PART.match(word) for word in text.split()]
    if text == "0":
        return 0.0
    if not parts or None in parts:
        return None
    return sum(float(part[1]) * _UNITS[part[2]] for part in parts if part)

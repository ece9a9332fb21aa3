"""Text from outside made harmless, and one formatter per unit of measure.

Everything that a host, a log or a file says passes `clean` before it can reach a terminal: escape sequences are
removed, other control characters are made visible, and nothing here is ever read as markup.
"""

from __future__ import annotations

import re

UNKNOWN = "—"
"""What stands where a value cannot be read; never 0."""

# CSI, OSC/DCS/PM/APC/SOS strings (ended by BEL or ST, or cut by the end of the text), two-byte escapes, and the
# 8-bit forms of CSI and of the string openers.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?"
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\x9c|$)"
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]?"
    r"|[\x90\x98\x9d\x9e\x9f].*?(?:\x07|\x1b\\|\x9c|$)",
    re.DOTALL,
)
# C0 but tab and newline, DEL, C1, the bidirectional controls that can make a line read as another one, and halves of
# surrogate pairs, which JSON can spell and no encoding can write.
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


_WHOLE = re.compile(r"-?[0-9]{1,18}")
_DIGITS = re.compile(r"\d{300,}")


def short_numbers(text: str) -> str:
    """Cut a row of 300 digits or more to its first 20: `int` refuses 4300, and a float holds no more than 308."""
    return text if len(text) < 300 else _DIGITS.sub(lambda found: found[0][:20] + "…", text)


def whole_number(text: str) -> int | None:
    """A whole number of at most 18 digits; None: it is none. Longer ones are no number of anything here."""
    return int(text) if _WHOLE.fullmatch(text) else None


def strip_escapes(text: str) -> str:
    """Remove terminal escape sequences, also cut ones; control characters stay."""
    return _ESCAPES.sub("", text) if "\x1b" in text or not text.isascii() else text


def clean(text: str) -> str:
    """Make outside text safe to print: no escape sequences, control characters shown as U+FFFD; tab and newline stay."""
    return CONTROLS.sub("\ufffd", strip_escapes(text))


def one_line(text: str, width: int = 0) -> str:
    """Clean outside text for a single line; longer than `width` characters (0: any) it ends in an ellipsis."""
    line = " ".join(clean(text).split())
    return line if not width or len(line) <= width else line[: max(width - 1, 0)] + "…"


def bytes_binary(value: float | None, digits: int = 1) -> str:
    """Bytes with a binary unit: 92.8 GiB."""
    if value is None:
        return UNKNOWN
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.{digits}f} {unit}"
        value /= 1024
    return f"{value:.{digits}f} TiB"


def rate(value: float | None) -> str:
    """Bytes a second with a decimal unit: 2.1 GB/s."""
    if value is None:
        return UNKNOWN
    for unit in ("B/s", "kB/s", "MB/s"):
        if abs(value) < 1000:
            return f"{value:.0f} {unit}" if unit == "B/s" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB/s"


def number(value: float | None, digits: int = 0) -> str:
    """A count with thousands separated: 12,411."""
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def percent(fraction: float | None, digits: int = 0) -> str:
    """A fraction of 1 as a percentage: 0.47 is 47 %."""
    return UNKNOWN if fraction is None else f"{fraction * 100:.{digits}f} %"


def milliseconds(seconds: float | None, digits: int = 2) -> str:
    """Seconds shown in milliseconds: 13.60 ms."""
    return UNKNOWN if seconds is None else f"{seconds * 1000:.{digits}f} ms"


def duration(seconds: float | None) -> str:
    """A span as people read clocks: 0:41, 38:12, 1:04:09, 3d 4h."""
    if seconds is None:
        return UNKNOWN
    whole = int(max(seconds, 0))
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    if days:
        return f"{days}d {hours}h"
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


def about(seconds: float | None) -> str:
    """A span whose seconds do not matter once it is long: 0:41, 9:59, 38 min, 2 h 30, 3d 4h."""
    if seconds is None or seconds < 600 or seconds >= 86400:
        return duration(seconds)
    minutes = int(seconds // 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d}"


def age(seconds: float | None) -> str:
    """How old a reading is, short: 0.4 s, 12 s, 3 min, 2 h."""
    if seconds is None:
        return UNKNOWN
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def milliseconds_between(low: float, high: float, value: float | None, digits: int = 1) -> str:
    """Seconds of which only a range may be known, in milliseconds: 45.0 ms, <10 ms, >80000 ms."""
    if value is not None:
        return milliseconds(value, digits)
    return f"<{high * 1000:.0f} ms" if high != float("inf") else f">{low * 1000:.0f} ms"


def reason(error: Exception) -> str:
    """What went wrong, in the system's words without its number and the path, which who asks has named already."""
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return one_line(str(said).rstrip("."), 200)

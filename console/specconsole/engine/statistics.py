"""The lines of statistics in a server's log, in every form since 0.5, as values; fields are found by name, never by place.

Each line covers the interval since the one before. A rate of `nan` is unknown, percentages become fractions, and a length
that 0.8.5 printed without the bonus token is made up from the counts where the line gives them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

SPEC = re.compile(r"(?:SpecDecoding metrics|Speculative metrics): ")
STATS = re.compile(r"Avg prompt throughput: ")
_PAIR = re.compile(r"([A-Za-z][A-Za-z -]*?)(?: tokens)?: *(nan|-?[\d,]*\d(?:\.\d+)?)(%?)", re.IGNORECASE)
_POSITIONS = re.compile(r"Per-position acceptance rate: ((?:[\d.]+(?:, )?)+)")
_ENGINE = re.compile(r"Engine (\d+): ")
INTERVAL_S = 10.0
"""Seconds between two lines, unless VLLM_LOG_STATS_INTERVAL says otherwise; V0 printed every 5 s."""
AGREE = 0.006
"""A printed share is good to half of its last digit."""


@dataclass(frozen=True)
class SpecLine:
    """What speculation did in one interval; None: the line does not say, or nothing was drafted."""

    rate: float | None
    """Accepted of drafted tokens, 0 to 1."""
    accepted: int | None
    drafted: int | None
    emitted: int | None = None
    """Tokens sent; V0 alone prints it."""
    k: int | None = None
    """Tokens drafted a step, where the line shows it."""
    drafts: int | None = None
    """Steps that drafted: drafted / k, where that holds for every draft."""
    length: float | None = None
    """AL, the bonus token included."""
    per_position: tuple[float, ...] | None = None
    engine: str = ""
    """V0 or V1, by the words of the line."""
    form: str = ""
    """The first release that printed this form."""


@dataclass(frozen=True)
class StatsLine:
    """The engine in one interval."""

    prompt_tok_s: float | None
    generation_tok_s: float | None
    running: int | None
    waiting: int | None
    kv_use: float | None = None
    """Share of the KV cache in use, 0 to 1."""
    engine: str = ""
    """The data-parallel rank, where the line names it."""


def spec(text: str) -> SpecLine | None:
    """Read a line of speculation; None: it is none."""
    found = SPEC.search(text)
    if found is None:
        return None
    said = text[found.end() : found.end() + 1000]
    values = _values(_POSITIONS.sub("", said))
    old = "number of draft" in values or "number of accepted" in values
    accepted = _whole(values, "accepted", "number of accepted")
    drafted = _whole(values, "drafted", "number of draft")
    places = _positions(said)
    rate = accepted / drafted if accepted is not None and drafted else _rate(values, drafted)
    k = _whole(values, "number of speculative") or (len(places) if places else None)
    length = _length(values.get("mean acceptance length", (math.nan, False))[0], rate, k, drafted, places)
    emitted = _whole(values, "number of emitted")
    return SpecLine(
        rate,
        accepted,
        drafted,
        emitted,
        k,
        _drafts(accepted, drafted, k, length),
        length,
        places,
        "V0" if emitted is not None else "V1",
        _form(old, emitted, values, said),
    )


def stats(text: str) -> StatsLine | None:
    """Read a line of throughputs; None: it is none."""
    if not STATS.search(text):
        return None
    begin = max(text.find("Avg prompt throughput") - 24, 0)
    values = _values(text[begin : begin + 1000])
    engine = _ENGINE.search(text)
    kv = next((value for name, (value, _) in values.items() if name.endswith("kv cache usage")), None)
    return StatsLine(
        _real(values, "avg prompt throughput"),
        _real(values, "avg generation throughput"),
        _whole(values, "running"),
        _whole(values, "waiting", "pending"),
        kv,
        str(int(engine[1])) if engine else "",
    )


def accepted_share(line: SpecLine, stats_line: StatsLine, seconds: float) -> float | None:
    """Accepted of all generated tokens of one interval; with n-gram few steps draft, and the rate does not show it."""
    made = None if stats_line.generation_tok_s is None else stats_line.generation_tok_s * seconds
    return line.accepted / made if line.accepted is not None and made else None


Values = dict[str, tuple[float, bool]]


def _values(text: str) -> Values:
    """Numbers by what stands before them, in small letters, percentages as fractions."""
    found: Values = {}
    for name, number, percent in _PAIR.findall(text):
        value = float(number.replace(",", ""))
        found[name.strip().lower().removesuffix(" tokens")] = (value / 100 if percent else value, bool(percent))
    return found


def _real(values: Values, *names: str) -> float | None:
    value = next((values[name][0] for name in names if name in values), math.nan)
    return None if math.isnan(value) else value


def _whole(values: Values, *names: str) -> int | None:
    value = _real(values, *names)
    return None if value is None or abs(value) > 1e15 else int(value)


def _rate(values: Values, drafted: int | None) -> float | None:
    """The printed rate, where there are no counts to make it up from; nothing drafted has no rate."""
    return None if drafted == 0 else _real(values, "draft acceptance rate", "avg draft acceptance rate")


def _positions(said: str) -> tuple[float, ...] | None:
    found = _POSITIONS.search(said)
    if not found:
        return None
    values = [part for part in found[1].split(", ") if re.fullmatch(r"\d+(?:\.\d+)?", part.strip(" ,"))]
    return tuple(float(part.strip(" ,")) for part in values[:64]) or None


def _length(
    printed: float, rate: float | None, k: int | None, drafted: int | None, places: tuple[float, ...] | None
) -> float | None:
    """The printed length; 0.8.5 left the bonus token out, which the positions, whose sum is the length less one, show."""
    if math.isnan(printed) or drafted == 0:
        return None if drafted == 0 or rate is None or k is None or not places else 1 + sum(places)
    if places and abs(printed - sum(places)) < 0.02 < abs(printed - 1 - sum(places)):
        return printed + 1
    return printed


def _drafts(accepted: int | None, drafted: int | None, k: int | None, length: float | None) -> int | None:
    """Steps that drafted, where drafted / k says the same as accepted / (length - 1): short drafts of n-gram do not."""
    if drafted is None or not k:
        return None
    full = drafted / k
    if accepted and length is not None and length > 1.05:
        by_length = accepted / (length - 1)
        if abs(by_length - full) > AGREE / (length - 1) * by_length + 1:
            return round(by_length)
    return round(full) if abs(full - round(full)) < 1e-6 else None


def _form(old: bool, emitted: int | None, values: Values, said: str) -> str:
    if emitted is not None:
        return "0.5"
    if old or "mean acceptance length" not in values:
        return "0.8"
    if "accepted throughput" in values:
        return "0.10"
    return "0.9" if "Per-position" in said else "0.8.5"

"""Progress bars: what they count, how many of how many, and since when.

Sources: vLLM's loaders and runners from 0.6 to 0.33, and tqdm's formats. A pair of numbers is progress only where the
text names what is counted; a percent alone never is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from specconsole.load.phase import Phase
from specconsole.load.wording import within

LONGEST = 1024
"""Characters of a bar that are looked at; a terminal's width is a few hundred."""
_COUNT = re.compile(
    r":\s{1,200}\d{1,3}%(?: Completed)?\s?\|(?:[^|]{0,600}\|)?\s{0,9}(?P<done>\d{1,9})/(?P<total>\d{1,9}) "
    r"\[(?:(?P<elapsed>\d{1,4}(?::\d\d){1,2})<(?P<remaining>[\d:?]{1,12})(?:, {0,4}(?P<rate>[\d.]{1,12})(?P<per>s/|[a-z]{1,9}/s))?)?"
)


@dataclass(frozen=True)
class BarForm:
    """One bar: what its text begins with, which phase it counts in, and what."""

    says: str
    phase: Phase
    unit: str
    since: str = "0.6.0"
    until: str = ""


FORMS = (
    BarForm("Loading safetensors using Runai Model Streamer", Phase.WEIGHTS, "shards", "0.6.6", "0.9.2"),
    BarForm("Loading safetensors using Runai Model Streamer", Phase.WEIGHTS, "tensors", "0.10.0"),
    BarForm("Loading safetensors using InstantTensor loader", Phase.WEIGHTS, "tensors", "0.18.0"),
    BarForm("Loading safetensors using Fastsafetensor loader", Phase.WEIGHTS, "shards", "0.8.5", "0.22.1"),
    BarForm("Loading fastsafetensors checkpoint shards", Phase.WEIGHTS, "shards", "0.23.0"),
    BarForm("Loading safetensors checkpoint shards", Phase.WEIGHTS, "shards"),
    BarForm("Loading pt checkpoint shards", Phase.WEIGHTS, "shards"),
    BarForm("Loading np_cache checkpoint shards", Phase.WEIGHTS, "shards"),
    BarForm("Loading shards", Phase.WEIGHTS, "shards"),
    BarForm("Multi-thread loading", Phase.WEIGHTS, "shards", "0.10.2"),
    BarForm("Capturing CUDA graph shapes", Phase.CAPTURE, "graphs", until="0.10.2"),
    BarForm("Capturing ", Phase.CAPTURE, "graphs", "0.10.1"),
    BarForm("DeepGEMM warmup", Phase.WARMUP, "kernels"),
    BarForm("JIT kernel warmup", Phase.WARMUP, "kernels", "0.29.0"),
    BarForm("Compiling CuTeDSL kernels", Phase.WARMUP, "kernels"),
    BarForm("[AutoTuner]", Phase.WARMUP, "kernels"),
)
"""The first row that fits wins; of two rows with one text, the one whose range holds the version, else the last."""
HUB = (BarForm("Fetching ", Phase.DOWNLOAD, "files"), BarForm("Downloading shards", Phase.DOWNLOAD, "files"))
"""Bars of the hub's client, which come before any start and within it: they tell a count, and no phase of a start's own."""


@dataclass(frozen=True)
class Bar:
    """One state of a bar: `done` of `total`."""

    label: str
    done: int
    total: int
    unit: str
    phase: Phase = Phase.WEIGHTS
    elapsed_s: float | None = None
    """Seconds since it was at 0, by the bar itself; good to a second, and to 0.1 s when it is complete."""
    remaining_s: float | None = None
    """The bar's own guess, smoothed over its latest steps and cut to whole seconds: after a burst it says 14 s of 3 h."""
    each_s: float | None = None
    """Seconds for one, by the bar's smoothed rate."""

    @property
    def complete(self) -> bool:
        """All were counted; what was read may still have to be converted."""
        return self.done >= self.total


def parse(text: str, version: str | None = None, forms: tuple[BarForm, ...] = FORMS) -> Bar | None:
    """Read the bar in a log text, or None when it is no bar of a known kind."""
    text = text[:LONGEST]
    found = _COUNT.search(text)
    if not found:
        return None
    head = text[: found.start()].strip()
    fitting = [form for form in forms if head.startswith(form.says)]
    if not fitting:
        return None
    same = [form for form in fitting if form.says == fitting[0].says]
    form = next((f for f in same if version and within(version, f.since, f.until)), same[-1])
    done, total = int(found["done"]), int(found["total"])
    remaining = _seconds(found["remaining"] or "?")
    return Bar(head[:120], done, total, form.unit, form.phase, _elapsed(found, done, total), remaining, _each(found))


def _seconds(clock: str) -> float | None:
    if not re.fullmatch(r"\d{1,4}(?::\d\d){1,2}", clock):
        return None
    seconds = 0
    for part in clock.split(":"):
        seconds = seconds * 60 + int(part)
    return float(seconds)


def _each(found: re.Match[str]) -> float | None:
    rate = float(found["rate"]) if found["rate"] and re.fullmatch(r"\d+(?:\.\d+)?", found["rate"]) else 0.0
    return None if rate <= 0 else rate if found["per"] == "s/" else 1 / rate


def _elapsed(found: re.Match[str], done: int, total: int) -> float | None:
    """Seconds since 0: the clock in the bar is cut to whole seconds, the rate of a complete bar is its mean."""
    seconds, each = _seconds(found["elapsed"] or ""), _each(found)
    if seconds is None or done < total or each is None:
        return seconds
    exact = total * each
    return min(max(exact, seconds), seconds + 1.0) if seconds - 1 < exact < seconds + 2 else seconds + 0.5

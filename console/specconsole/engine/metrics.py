"""The text of vLLM's /metrics as values, for every version: engines summed, resets seen, unknown kept apart from zero.

Only what is asked for is parsed beyond its number: a scrape of 680 lines is read in under a millisecond.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from specconsole.engine.histogram import Histogram

_LABEL = re.compile(r'\s*([A-Za-z_:][\w:]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_ESCAPE = re.compile(r"\\(.)")
_UNESCAPED = {"n": "\n", '"': '"', "\\": "\\"}

MOST = 1e18
"""No count, size or time of a server is larger: such a value is unknown, as NaN is; sums and curves of it would have no end."""

Series = tuple[tuple[str, float], ...]


@lru_cache(maxsize=8192)
def labels_of(raw: str) -> Mapping[str, str]:
    """The labels of one series; the same texts come with every scrape, so each is taken apart once."""
    pairs = {}
    for name, value in _LABEL.findall(raw):
        pairs[name] = _ESCAPE.sub(lambda m: _UNESCAPED.get(m[1], m[0]), value) if "\\" in value else value
    return pairs


@dataclass(frozen=True)
class Scrape:
    """One answer of /metrics. Names are given with or without `_total`; `_created` stamps are never read as values."""

    series: Mapping[str, Series]
    no_data: str = ""
    """Why it says nothing of the engine; "" when it does. The three cases differ, and none of them means zero."""

    def _find(self, name: str) -> Series:
        return self.series.get(f"{name}_total") or self.series.get(name) or ()

    def has(self, name: str) -> bool:
        """A sample of that name is there, be it zero."""
        return bool(self._find(name) or self.series.get(f"{name}_count"))

    def value(self, name: str, **labels: str) -> float | None:
        """The sum over engines and all other labels; None when there is no such sample, or one of them is NaN."""
        return _sum(self._selected(name, labels).values())

    def mean(self, name: str) -> float | None:
        """The mean over engines: for shares such as cache use."""
        values = self._selected(name, {})
        total = _sum(values.values())
        return None if total is None else total / len(values)

    def by_label(self, name: str, label: str) -> dict[str, float]:
        """The sums by the values of one label; series without that label count under ""."""
        sums: defaultdict[str, float] = defaultdict(float)
        for key, value in self._selected(name, {}).items():
            sums[dict(key).get(label, "")] += value
        return dict(sums)

    def info(self, name: str) -> Mapping[str, str]:
        """The labels of an info metric, whose value is always 1; {} when it is not there."""
        found = self._find(name)
        return labels_of(found[0][0]) if found else {}

    def histogram(self, name: str) -> Histogram | None:
        """The histogram summed over engines; None when it is not there."""
        told = self.by_label(f"{name}_bucket", "le").items()
        buckets = {bound: count for text, count in told if (bound := _bound(text)) is not None}
        total, count = self.value(f"{name}_sum"), self.value(f"{name}_count")
        if total is None or count is None or any(map(math.isnan, buckets.values())):
            return None
        bounds = tuple(sorted(buckets))
        return Histogram(bounds, tuple(buckets[bound] for bound in bounds), total, count)

    @property
    def engines(self) -> int | None:
        """How many engines (data-parallel ranks) report; None without data, 1 where versions had no such label."""
        names = {labels_of(raw).get("engine", "") for raw, _ in self._find("vllm:num_requests_running")}
        return len(names) or None

    @property
    def model(self) -> str | None:
        """The served name as the metrics label it."""
        return self.info("vllm:num_requests_running").get("model_name")

    @property
    def process_start(self) -> float | None:
        """Seconds since the epoch at which the API server began; None with several API servers."""
        return self.value("process_start_time_seconds")

    def _selected(self, name: str, wanted: Mapping[str, str]) -> dict[tuple[tuple[str, str], ...], float]:
        """Values by label set. Gauges that differ only by `pid` (several API servers) tell one thing: the largest."""
        selected: dict[tuple[tuple[str, str], ...], float] = {}
        for raw, value in self._find(name):
            labels = labels_of(raw)
            if any(labels.get(label) != text for label, text in wanted.items()):
                continue
            key = tuple(sorted(pair for pair in labels.items() if pair[0] != "pid"))
            selected[key] = max(value, selected.get(key, value))
        return selected


def _sum(values: Iterable[float]) -> float | None:
    numbers = list(values)
    total = math.fsum(numbers) if numbers else math.nan
    return None if math.isnan(total) else total


def _bound(text: str) -> float | None:
    """A bucket's upper end; None: it is none."""
    try:
        bound = float(text)
    except ValueError:
        return None
    return None if math.isnan(bound) else bound


def parse(text: str | bytes) -> Scrape:
    """Read the Prometheus text format; lines that are none of it are passed over."""
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    series: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    for line in text.split("\n"):
        if not line or line[0] == "#":
            continue
        brace = line.find("{")
        if brace < 0:
            name, _, rest = line.partition(" ")
            labels = ""
        else:
            name, (labels, _, rest) = line[:brace], line[brace + 1 :].rpartition("}")
        words = rest.split(None, 1)
        try:
            value = float(words[0])
            series[name].append((labels, value if -MOST <= value <= MOST else math.nan))
        except (IndexError, ValueError):
            continue
    return Scrape({name: tuple(samples) for name, samples in series.items()}, _no_data(text, series))


def _no_data(text: str, series: Mapping[str, object]) -> str:
    if any(name.startswith("vllm:") and not name.endswith("_created") for name in series):
        return ""
    if not text.strip():
        return "the metrics endpoint answered with nothing"
    if "# HELP vllm:" in text or "# TYPE vllm:" in text:
        return "the metrics are declared but hold no sample"
    return "only the API process's own metrics: this server keeps no engine statistics"


def restarted(before: Scrape, after: Scrape) -> bool:
    """The server process is another one, by its start time (to half a second: it is read from clock ticks)."""
    first, second = before.process_start, after.process_start
    return first is not None and second is not None and abs(second - first) > 0.5


def delta(before: Scrape, after: Scrape, name: str, **labels: str) -> float | None:
    """What a counter gained between two scrapes, engines summed; None on a reset, a restart, or where either is unknown."""
    old, new = before._selected(name, labels), after._selected(name, labels)
    if not old or not new or restarted(before, after):
        return None
    if any(key not in new or not new[key] >= value for key, value in old.items()):
        return None
    gained = math.fsum(new.values()) - math.fsum(old.values())
    return None if math.isnan(gained) else gained


def window(before: Scrape, after: Scrape, name: str) -> Histogram | None:
    """What a histogram gained between two scrapes; None on a reset, a restart, or where either is unknown."""
    old, new = before.histogram(name), after.histogram(name)
    if old is None or new is None or old.bounds != new.bounds or delta(before, after, f"{name}_count") is None:
        return None
    counts = tuple(now - then for now, then in zip(new.counts, old.counts, strict=True))
    return Histogram(new.bounds, counts, new.total - old.total, new.count - old.count)

"""What in a scrape cannot be true of one server: values no counter has, and figures of several servers in one text; pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from specconsole.engine.metrics import Scrape, labels_of

SEVERAL = "figures of several servers stand in one text"
_TELLS = ("model_name", "instance", "pod")
"""Labels of which one server has one value: vLLM's own, and those that Prometheus puts to what it collected."""
_ONCE = ("vllm:num_requests_running", "vllm:generation_tokens_total", "vllm:generation_tokens")
_UNSET = "_hit_rate"
"""V0 has -1 there while nothing was asked for."""
_NAMED = 4


def sound(scrape: Scrape) -> tuple[Scrape, tuple[str, ...]]:
    """The scrape without what cannot be, and a sentence on each: a sum over it would be as wrong.

    Counts, times, shares and sizes of the engine are never below 0 and never without end.
    """
    said, kept = [], dict(scrape.series)
    for name, samples in scrape.series.items():
        wrong = [value for _, value in samples if not (math.isfinite(value) and value >= 0)]
        if wrong and name.startswith("vllm:") and not name.endswith(_UNSET):
            del kept[name]
            said.append(f"{name} is {wrong[0]:g}, which cannot be")
    more = [f"{len(said) - _NAMED} more values cannot be"] if len(said) > _NAMED else []
    return replace(scrape, series=kept), (*said[:_NAMED], *more)


def several(scrape: Scrape) -> str:
    """Which servers' figures stand among each other; "": those of one."""
    for label in _TELLS:
        names = list(dict.fromkeys(_values(scrape, label)))
        if len(names) > 1:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            return f"{label} {', '.join(names[:_NAMED])}{more}"
    doubled = next((name for name in _ONCE if _twice(scrape, name)), None)
    return f"{doubled} comes twice with the same labels" if doubled else ""


def _values(scrape: Scrape, label: str) -> Iterator[str]:
    for name, samples in scrape.series.items():
        if name.startswith("vllm:"):
            yield from (value for raw, _ in samples if (value := labels_of(raw).get(label)))


def _twice(scrape: Scrape, name: str) -> bool:
    raws = [raw for raw, _ in scrape.series.get(name, ())]
    return len(set(raws)) < len(raws)

"""Progress bars of the weight loaders: how many of what, and of which model.

Sources: vLLM's loaders from 0.6 to 0.33. A pair of numbers is progress only where the text names what is counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_COUNT = re.compile(r":\s+(?P<percent>\d+)%.*?\|\s*(?P<done>\d+)/(?P<total>\d+) \[")
# Text that a loader's bar begins with, and what its numbers count.
LOADERS: tuple[tuple[str, str], ...] = (
    ("Loading safetensors checkpoint shards", "shards"),
    ("Loading pt checkpoint shards", "shards"),
    ("Loading np_cache checkpoint shards", "shards"),
    ("Loading shards", "shards"),
    ("Multi-thread loading", "shards"),
    ("Loading safetensors using Fastsafetensor loader", "shards"),
    ("Loading safetensors using Runai Model Streamer", "tensors"),  # files up to 0.9.2
    ("Loading safetensors using InstantTensor loader", "tensors"),
)


@dataclass(frozen=True)
class Bar:
    """A weight loader's bar: `done` of `total` shards or tensors."""

    label: str
    done: int
    total: int
    unit: str

    @property
    def complete(self) -> bool:
        """All were read; the weights may still have to be converted."""
        return self.done >= self.total


def parse(text: str) -> Bar | None:
    """Read the bar in a log text, or None when it is no bar of a weight loader."""
    found = _COUNT.search(text)
    if not found:
        return None
    head = text[: found.start()].strip()
    for label, unit in LOADERS:
        if head.startswith(label):
            return Bar(label, int(found["done"]), int(found["total"]), unit)
    return None

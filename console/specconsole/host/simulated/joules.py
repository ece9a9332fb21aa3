"""What the energy counters of the simulated GPUs would say of a benchmark: their power under it, over its own time.

The time is that of the streams' stamps. The demo's clock runs up to 600 times as fast as this program, and what the program takes
between two requests would be seconds of the demo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from specconsole.host.simulated.machine import Machine


class Joules:
    """Counts while requests run."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.seconds = 0.0
        self.joules = [0.0] * len(machine.site.cards)
        self._watts: list[list[float]] = []

    def cards(self) -> list[dict[str, Any]]:
        """The cards, as the load generator tells them."""
        return [
            {
                "index": index,
                "uuid": card.get("uuid", ""),
                "others": sum(one.gpu == index for one in self._machine.strangers),
            }
            for index, card in enumerate(self._machine.site.cards)
        ]

    def begin(self) -> None:
        """A batch begins: what was noted before is of no use."""
        self._watts.clear()

    def feel(self) -> None:
        """Note the power now: requests run."""
        gpus = self._machine.sample().gpus
        self._watts.append([gpus[min(index, len(gpus) - 1)].power_w for index in range(len(self.joules))])

    def count(self, results: Iterable[Mapping[str, Any]]) -> None:
        """Count a batch of requests that have ended: the mean of the power noted, from the first one's start to the last one's end."""
        ended = [(float(one["sent_at"]), float(one["sent_at"]) + (one["end_ns"] or 0) / 1e9) for one in results]
        if not ended or not self._watts:
            return
        seconds = max(end for _, end in ended) - min(begin for begin, _ in ended)
        for index in range(len(self.joules)):
            self.joules[index] += sum(watts[index] for watts in self._watts) / len(self._watts) * seconds
        self.seconds += seconds

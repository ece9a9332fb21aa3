"""The scrapes of one server process, as many as windows are taken between; begun anew when its counters are. Pure."""

from __future__ import annotations

from specconsole.engine import metrics, name
from specconsole.engine.metrics import Scrape
from specconsole.engine.window import Window, measure

RATES_S = 10.0
"""Rates are taken over this long: a step of a big model takes 14 ms, a prefill seconds."""
LATENCIES_S = 60.0
"""Latencies over this long: a request of 1,000 tokens ends after 14 s, and only then says anything."""
_THIN = 10
"""Scrapes that only latencies need are kept a tenth of their window apart."""
_GROWING = (name.GENERATED, name.PROMPT, f"{name.TTFT}_count")


class Scrapes:
    """The scrapes of one server process that windows are taken between."""

    def __init__(self, rates_s: float = RATES_S, latencies_s: float = LATENCIES_S) -> None:
        self.rates_s, self.latencies_s = rates_s, max(rates_s, latencies_s)
        self._held: list[tuple[float, Scrape]] = []

    def add(self, at: float, scrape: Scrape) -> bool:
        """Take in a scrape made at `at` (monotonic seconds); False: counters began anew, so all before is forgotten."""
        anew = bool(self._held) and _anew(self._held[-1][1], scrape)
        if anew:
            self._held.clear()
        self._held = [*self._worth(at), (at, name.kept(scrape))]
        return not anew

    def clear(self) -> None:
        """Forget all: what was measured belongs to a process that is gone."""
        self._held.clear()

    def window(self) -> Window | None:
        """What happened until the newest scrape; None while there is only one."""
        if len(self._held) < 2:
            return None
        at, newest = self._held[-1]
        then, before = self._since(at - self.rates_s)
        long_ago, earlier = self._since(at - self.latencies_s)
        if at <= then:
            return None
        return measure(before, newest, at - then, earlier=earlier, latency_seconds=at - long_ago)

    def _since(self, moment: float) -> tuple[float, Scrape]:
        """The newest scrape that is as old as `moment`, else the oldest there is."""
        return next((held for held in reversed(self._held[:-1]) if held[0] <= moment), self._held[0])

    def _worth(self, at: float) -> list[tuple[float, Scrape]]:
        """What is still needed at `at`: all of the rates' window and one before it, a few of the latencies'."""
        kept: list[tuple[float, Scrape]] = []
        recent = self._since(at - self.rates_s)[0] if self._held else at
        oldest = self._since(at - self.latencies_s)[0] if self._held else at
        for held in self._held:
            if held[0] < oldest:
                continue
            if held[0] >= recent or not kept or held[0] - kept[-1][0] >= self.latencies_s / _THIN:
                kept.append(held)
        return kept


def _anew(before: Scrape, after: Scrape) -> bool:
    """Another process answers, or a counter that only grows fell: an engine was started anew, or left the group."""
    return metrics.restarted(before, after) or any(
        before.has(one) and metrics.delta(before, after, one) is None for one in _GROWING
    )

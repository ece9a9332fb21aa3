"""What a tick may cost, and which fields are left out to keep it there; Python 3.8, standard library."""

from __future__ import annotations

from typing import Dict, FrozenSet, Optional, Set, Tuple

SHARE = 0.25
"""The share of the interval that a tick may take: the host is there to serve, not to be watched."""
DEAR: Tuple[str, ...] = ("pcie", "gpm", "processes")
"""The groups that can be left out; where they cost the same, the first goes first."""
SLOWEST_S = 5.0
_WEIGHT = 0.3
_AGAIN = 0.8  # taken back only where a fifth of the budget stays free, or it would come and go
_FADE_S = 60.0  # an old measurement counts half: the driver may have been busy just then


class Budget:
    """Learns what each group costs and says which to read; all times are wall seconds."""

    def __init__(self) -> None:
        self.cost: Dict[str, float] = {}
        self.dropped: Set[str] = set()
        self._planned_at: Optional[float] = None
        self._met: Set[str] = set()

    def learn(self, costs: Dict[str, float]) -> None:
        """Take in what the groups of one tick cost; a group's first call costs ten times as much and does not count."""
        for group, seconds in costs.items():
            if group not in self._met:
                self._met.add(group)
                continue
            before = self.cost.get(group, seconds)
            self.cost[group] = before + _WEIGHT * (seconds - before)

    def interval(self, asked: float) -> float:
        """The interval that the groups which cannot be left out allow: the asked one, or longer."""
        fixed = sum(seconds for group, seconds in self.cost.items() if group not in DEAR)
        return max(asked, min(fixed / SHARE, SLOWEST_S))

    def plan(self, interval: float, now: float) -> FrozenSet[str]:
        """Say which dear groups to read in a tick of this interval: the dearest are left out first."""
        self._fade(now)
        budget = interval * SHARE
        spent = sum(seconds for group, seconds in self.cost.items() if group not in DEAR)
        wanted: Set[str] = set()
        for group in sorted(DEAR, key=lambda group: (self.cost.get(group, 0.0), -DEAR.index(group))):
            spent += self.cost.get(group, 0.0)
            if spent <= budget * (_AGAIN if group in self.dropped else 1.0):
                wanted.add(group)
        self.dropped = set(DEAR) - wanted
        return frozenset(wanted)

    def _fade(self, now: float) -> None:
        passed = 0.0 if self._planned_at is None else now - self._planned_at
        self._planned_at = now
        for group in self.dropped:
            if group in self.cost:
                self.cost[group] *= 0.5 ** (passed / _FADE_S)

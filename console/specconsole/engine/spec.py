"""Speculation's counters: since the process began, and what they gained in a window."""

from __future__ import annotations

import math
from dataclasses import dataclass

from specconsole.engine import metrics, name
from specconsole.engine.metrics import Scrape


@dataclass(frozen=True)
class SpecCounters:
    """Speculation's counters, of all engines, since the process began or over a window."""

    drafts: float | None
    """Steps that drafted; None: this version (V0, 0.8.3, 0.8.4) does not count them."""
    drafted: float
    """Tokens proposed."""
    accepted: float
    """Tokens accepted; counts those past a request's stop too."""
    per_position: tuple[float, ...] = ()
    """Accepted at each position of the draft."""

    @property
    def acceptance_length(self) -> float | None:
        """AL: 1 + accepted/drafts, bonus token included, over steps that drafted; None without drafts."""
        return 1 + self.accepted / self.drafts if self.drafts else None

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted of what was drafted; None when nothing was."""
        return self.accepted / self.drafted if self.drafted > 0 else None

    @property
    def by_position(self) -> tuple[float, ...]:
        """Accepted at each position, of all drafts: unconditional, so it never rises; () without drafts.

        Methods that draft fewer tokens than asked (n-gram, suffix) show later positions too low.
        """
        return tuple(accepted / self.drafts for accepted in self.per_position) if self.drafts else ()

    @property
    def conditional(self) -> tuple[float | None, ...]:
        """Accepted at each position, of the drafts that were accepted up to it; None where none was."""
        if not self.drafts:
            return ()
        before = (self.drafts, *self.per_position)
        return tuple(now / then if then > 0 else None for then, now in zip(before, self.per_position, strict=False))


def spec_counters(scrape: Scrape) -> SpecCounters | None:
    """Speculation's counters; None where the family is missing, which is how a baseline looks."""
    drafts, drafted, accepted = (scrape.value(one) for one in (name.DRAFTS, name.DRAFTED, name.ACCEPTED))
    if drafted is None or accepted is None:
        return None
    by_position = scrape.by_label(name.PER_POSITION, "position")
    positions = sorted((position for position in by_position if position.isdecimal() and len(position) < 10), key=int)
    places = tuple(by_position[position] for position in positions)
    return SpecCounters(drafts, drafted, accepted, () if any(map(math.isnan, places)) else places)


def spec_gained(before: Scrape, after: Scrape) -> SpecCounters | None:
    """What speculation's counters gained; None on a reset or without speculation."""
    drafts, drafted, accepted = (
        metrics.delta(before, after, one) for one in (name.DRAFTS, name.DRAFTED, name.ACCEPTED)
    )
    old, new = spec_counters(before), spec_counters(after)
    if old is None or new is None or drafted is None or accepted is None:
        return None
    if drafts is None and new.drafts is not None:
        return None
    positions = tuple(now - then for now, then in zip(new.per_position, old.per_position, strict=False))
    return SpecCounters(drafts, drafted, accepted, positions)

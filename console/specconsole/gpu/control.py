"""What the screen wants of the probe, changeable while it runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace

from specconsole.stream import Latest

Units = Sequence[str] | Mapping[str, str]
"""Names of units, or a mapping of names to their cgroup paths ("" to look for it)."""


@dataclass(frozen=True)
class Wish:
    """What is wanted at one moment."""

    interval_s: float = 1.0
    units: Units = ()

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments of the probe, and the keys of a control line."""
        units = self.units
        listed = dict(units) if isinstance(units, Mapping) else list(units)
        return {"interval_s": self.interval_s, "units": listed}


class ProbeControl:
    """The wish, to set from anywhere in the event loop; whoever follows the probe passes it on."""

    def __init__(self, interval_s: float = 1.0, units: Units = ()) -> None:
        self._wish = Latest(Wish(interval_s, units))

    @property
    def wish(self) -> Wish:
        """What is wanted now."""
        return self._wish.value

    def watch(self) -> AsyncGenerator[Wish, None]:
        """Yield the wish now and after each change."""
        return self._wish.watch()

    @property
    def interval_s(self) -> float:
        """Seconds between two samples; the host takes 0.1 to 5."""
        return self.wish.interval_s

    @interval_s.setter
    def interval_s(self, seconds: float) -> None:
        self._take(replace(self.wish, interval_s=seconds))

    @property
    def units(self) -> Units:
        """The units whose process trees are read."""
        return self.wish.units

    @units.setter
    def units(self, units: Units) -> None:
        self._take(replace(self.wish, units=units))

    def _take(self, wish: Wish) -> None:
        if wish != self.wish:
            self._wish.set(wish)

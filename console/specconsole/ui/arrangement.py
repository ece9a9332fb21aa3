"""How the dashboard is arranged, kept from one start to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_SHARED = ("load", "engine")
"""Panes of which one stands in the other's place."""


@dataclass
class Arrangement:
    """Which pane the user is in, and whether it has the whole screen; the one object of an app, which the dashboard changes."""

    pane: str = "log"
    """The name of the pane in focus."""
    zoomed: bool = False
    """It has the whole screen."""

    @classmethod
    def remembered(cls, values: Mapping[str, str]) -> Arrangement:
        """As it was left, by what was kept: which pane had the whole screen. Where all are shown, it begins in the log."""
        zoomed = values.get("zoomed") == "yes"
        return cls(values.get("pane", "log") if zoomed else "log", zoomed)

    @property
    def kept(self) -> dict[str, str]:
        """What is to be kept of it."""
        return {"pane": self.pane if self.zoomed else "log", "zoomed": "yes" if self.zoomed else "no"}

    def holds(self, pane: str) -> bool:
        """Whether the user is in this pane, or in the one that stands in its place."""
        return pane == self.pane or {pane, self.pane} == set(_SHARED)

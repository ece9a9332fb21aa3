"""Which records of the log the user wants to see: by level, rank, unit and text; changed by small keys, said in the title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from specconsole.logs.buffer import Filter
from specconsole.logs.pattern import Pattern
from specconsole.logs.record import Level
from specconsole.text import one_line

T = TypeVar("T")

ALL = "*"
"""Stands for all units together."""
_LEVELS = (None, Level.WARNING, Level.ERROR)
_SAID = {Level.WARNING: "warnings and errors", Level.ERROR: "errors"}


@dataclass(frozen=True)
class Choice:
    """What is shown; the plain one shows all that the selected unit printed."""

    level: Level | None = None
    rank: int | None = None
    unit: str = ""
    """Another unit's key, `ALL`, or "" for the unit that is selected."""
    text: Pattern | None = None
    folded: bool = True
    """One line for what several ranks say alike."""

    def filter(self, selected: str) -> Filter:
        """The filter to look with."""
        unit = self.unit or selected
        return Filter(
            level=self.level,
            units=None if unit == ALL else frozenset((unit,)),
            ranks=None if self.rank is None else frozenset((self.rank,)),
            text=None if self.text is None or self.text.problem else self.text,
            repeats=not self.folded or self.rank is not None,  # a rank's own log holds what it repeats
        )

    @property
    def filters(self) -> tuple[str, ...]:
        """What is left out, in words for the title."""
        said = [_SAID[self.level]] if self.level is not None else []
        said += [f"TP{self.rank}"] if self.rank is not None else []
        said += [quoted(self.text)] if self.text is not None else []
        return tuple(said)

    @property
    def plain(self) -> bool:
        """Whether no filter is set."""
        return not self.filters and not self.unit

    def cleared(self) -> Choice:
        """Without any filter."""
        return Choice(folded=self.folded)

    def next_level(self) -> Choice:
        """The next level."""
        return replace(self, level=_after(self.level, _LEVELS, 1))

    def next_rank(self, ranks: Sequence[int], direction: int) -> Choice:
        """The next of the ranks that there are; after the last one all."""
        return replace(self, rank=_after(self.rank, (None, *ranks), direction))

    def next_unit(self, units: Sequence[str], selected: str) -> Choice:
        """The next unit; after the last one all together, then the selected one again."""
        others = [unit for unit in units if unit != selected]
        return replace(self, unit=_after(self.unit, ("", *others, *([ALL] if others else [])), 1))


def quoted(pattern: Pattern) -> str:
    """How a pattern is written: "text" or /expression/."""
    said = one_line(pattern.text, 30)
    return f"/{said}/" if pattern.regex else f'"{said}"'


def _after(now: T, choices: Sequence[T], step: int) -> T:
    at = choices.index(now) if now in choices else 0
    return choices[(at + step) % len(choices)]

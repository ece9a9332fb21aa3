"""What a look at the host brought: the newest find, how old it is, and how the look goes that is under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from textual.message import Message

from specconsole import text
from specconsole.ui.freshness import whole
from specconsole.ui.rows.row import Row

if TYPE_CHECKING:
    from specconsole.clock import Clock

T = TypeVar("T")


@dataclass(frozen=True)
class Looked(Generic[T]):
    """What a page shows that is read when somebody asks for it."""

    found: T | None = None
    """What the last look brought that did not fail; None: there was none."""
    at: float = 0.0
    """Monotonic seconds at which it came."""
    pace: float = 1.0
    """How many seconds of the host passed in one of the viewer's then: above 1 in a demo only."""
    problem: str = ""
    """Why the last look failed, in a sentence."""
    looking: bool = False
    """A look is under way."""

    def begun(self) -> Looked[T]:
        """The same while it is looked anew."""
        return replace(self, problem="", looking=True)

    def got(self, found: T, clock: Clock) -> Looked[T]:
        """What was found now."""
        return Looked(found, clock.monotonic(), clock.speed)

    def failed(self, why: str) -> Looked[T]:
        """The same after a look in vain."""
        return replace(self, problem=why, looking=False)

    def over(self) -> Looked[T]:
        """The same when nothing comes any more."""
        return replace(self, looking=False)

    def age_s(self, now: float) -> float:
        """The viewer's seconds since it came, at monotonic seconds `now`."""
        return max(now - self.at, 0.0) / self.pace


def age_row(shown: Sequence[Looked[Any]], now: float, busy: str, done: str) -> Row:
    """How old what is shown is: why it could not be read, `busy` while it is, else `done` and the oldest one's age."""
    if problem := next((one.problem for one in shown if one.problem), ""):
        return ((f"✖ {text.one_line(problem, 60)} ", "bad"),)
    if any(one.looking or one.found is None for one in shown):
        return ((f"{busy} ", "busy"),)
    return ((f"{done} {whole(max(one.age_s(now) for one in shown))} ago ", "muted"),)


@dataclass
class Wanted(Message):
    """A unit's definition is to be read anew."""

    key: str

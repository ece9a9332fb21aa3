"""A scenario: what a simulated host is about, from its opening on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from specconsole.host.simulated.machine import Stranger
from specconsole.host.simulated.scenario import kimi
from specconsole.host.simulated.scenario.load import Plan, phases
from specconsole.host.simulated.scenario.pace import Kind, Pace
from specconsole.host.simulated.scenario.phase import Phase
from specconsole.host.simulated.scenario.written import Written
from specconsole.host.simulated.script import Ending, Script
from specconsole.host.simulated.site import Site
from specconsole.host.target import Demo

NOTE = "simulated: pace and acceptance are the scenario's, not measured on any GPU"


@dataclass(frozen=True)
class Start:
    """What a unit does when it is started."""

    plan: Plan
    pace: Pace
    course: Callable[[tuple[Phase, ...]], tuple[Phase, ...]] | None = None
    """Makes another course of the load; None: it goes through, and the server answers."""
    while_held: bool = False
    """It takes the other course only while somebody else holds a GPU."""
    fate: Callable[[float], Ending] | None = None
    """How it ends by itself, told the length of its course; None: it does not."""

    def script(self, role: str, number: int, seed: int, held: frozenset[int]) -> Script:
        """Make the script of one start; `held`: the GPUs that others hold."""
        whole = phases(self.plan)
        fails = self.course if held or not self.while_held else None
        course = whole if fails is None else fails(whole)
        length = sum(phase.seconds for phase in course)
        return Written(
            name=role,
            command=" ".join(("/opt/vllm/bin/python3", *kimi.argv(role))),
            phases=course,
            pace=self.pace,
            facts=kimi.FACTS,
            serves=fails is None,
            fate=self.fate(length) if self.fate and fails else None,
            seed=seed + number,
            memory=kimi.MEMORY,
        )


@dataclass(frozen=True)
class Scenario:
    """One story of the simulated host."""

    name: str
    title: str
    """What happens, in one line for people."""
    baseline: Start
    ngram: Start
    opens: str = kimi.BASELINE
    """Which unit it is about."""
    serving: bool = False
    """That unit serves when the demo opens; if not, its start has just begun."""
    before: bool = True
    """The baseline had served and was stopped before."""
    speed: float = 60.0
    """As fast as it is best looked at."""
    cuts: Sequence[tuple[float, float]] = ()
    """Losses of the link: seconds after the opening, and for how long."""
    strangers: tuple[Stranger, ...] = ()
    """Processes on the GPUs that belong to no unit."""
    speculation: dict[str, object] | None = field(default=None)
    """The speculative config of the n-gram unit, where it is another than the usual one."""
    restart: str = "no"
    """Restart= of the units."""

    def site(self) -> Site:
        """The host."""
        starts = {kimi.BASELINE: self.baseline, kimi.NGRAM: self.ngram}
        scripts = {role: _script(start, role) for role, start in starts.items()}
        site = kimi.site(scripts, note=NOTE, speculation=self.speculation, restart=self.restart)
        # What is remembered of it is kept apart from other scenarios, and from a real host of such a name.
        return replace(site, hostname=Demo(self.name).host)


def _script(start: Start, role: str) -> Callable[[int, int, frozenset[int]], Script]:
    return lambda number, seed, held: start.script(role, number, seed, held)


def kinds(*texts: tuple[int, float, float, float]) -> tuple[Kind, ...]:
    """The five kinds of text, each with prompt tokens, the baseline's TPOT in ms, coverage and acceptance length."""
    return tuple(Kind(prompt, tpot, 62.0 + 0.16 * prompt, coverage, length) for prompt, tpot, coverage, length in texts)

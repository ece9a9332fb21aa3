"""Make the pictures of the README and of docs/tour.md from the product itself: ./dev pictures (needs rsvg-convert).

The demo is played to a chosen moment, keys are pressed as a user would, and what the screen shows then is the picture.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specconsole.clock import SystemClock
from specconsole.engine.health import Health
from specconsole.history.memory import Memory
from specconsole.host.simulated import ScaledClock, SimulatedHost, make, story
from specconsole.host.target import Demo
from specconsole.ui.app import SpecConsole
from specconsole.ui.feed.host import HostFeeds
from specconsole.ui.screens.confirm import ConfirmScreen
from specconsole.ui.screens.plan import PlanScreen
from specconsole.ui.widgets.units import UnitsPane

HERE = Path(__file__).resolve().parent
RECORDED, WRITTEN = 8.0, 30.0
"""How fast the time of the recorded starts passes here, and that of a written scenario."""
LOOK_S, PATIENCE_S = 0.1, 600.0

Moment = Callable[[SpecConsole], object]


@dataclass(frozen=True)
class Console:
    """The console on a demo."""

    app: SpecConsole
    pilot: Any

    async def when(self, moment: Moment, *keys: str) -> None:
        """Wait for a moment, then press keys."""
        for _ in range(int(PATIENCE_S / LOOK_S)):
            if moment(self.app):
                break
            await asyncio.sleep(LOOK_S)
        else:
            raise TimeoutError(f"It never came to {moment.__name__}.")
        for key in keys:
            await self.pilot.press(key)
            await asyncio.sleep(0.5)

    async def picture(self, name: str) -> None:
        """Save what the screen shows."""
        self.app.clear_notifications()
        await self.pilot.pause(3.0)  # a slow machine draws the parts of a page one after the other
        drawing = self.app.export_screenshot(title="specconsole")
        # Without this the blanks at the ends of runs are dropped.
        drawing = drawing.replace("<text ", '<text xml:space="preserve" ')
        argv = ["rsvg-convert", "--zoom", "0.8", "-o", str(HERE / f"{name}.png")]
        await asyncio.to_thread(subprocess.run, argv, input=drawing.encode(), check=True)


@asynccontextmanager
async def console(host: SimulatedHost, size: tuple[int, int]) -> AsyncGenerator[Console, None]:
    """Open the console on a simulated host; what it remembers goes with it."""
    await host.open()
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(Path(folder) / "history.db")
        app = SpecConsole(host, HostFeeds(host, host.clock, None, {}, memory), clock=host.clock)
        try:
            async with app.run_test(size=size) as pilot:
                yield Console(app, pilot)
        finally:
            await memory.close()
            await host.close()


def recorded() -> SimulatedHost:
    """A real start on an H200, played again."""
    clock = ScaledClock(SystemClock(), RECORDED)
    return SimulatedHost("root@gpu-1", clock=clock, begin=story.loading("moe-ngram"))


def loading(app: SpecConsole) -> object:
    """The weights are being read."""
    return app.attempt and app.attempt.weights and app.attempt.weights.done >= 9


def serving(app: SpecConsole) -> object:
    """Tokens flow."""
    window = app.engine.window if app.engine else None
    return app.engine and app.engine.health is Health.ANSWERING and window and window.generation_tok_s


def speculating(app: SpecConsole) -> object:
    """Tokens flow, and speculation has counters."""
    return serving(app) and app.engine and app.engine.window and app.engine.window.tokens_per_step


def asked(app: SpecConsole) -> object:
    """Others' requests run, so the console asks first."""
    return isinstance(app.screen, ConfirmScreen)


def measured(app: SpecConsole) -> object:
    """A benchmark has ended."""
    return app.bench and app.bench.run.why


def planned(app: SpecConsole) -> object:
    """The plan of a swap stands there."""
    return isinstance(app.screen, PlanScreen)


def watching(app: SpecConsole) -> object:
    """The swap follows the new unit's load."""
    step = app.swap.story.step if app.swap else None
    return loading(app) and step and step.name == "watch"


def swapped(app: SpecConsole) -> object:
    """The swap is over."""
    return app.swap and app.swap.over


def loads(app: SpecConsole) -> object:
    """A third of the weights is read."""
    return app.attempt and app.attempt.weights and app.attempt.weights.done >= 20


def at_once(_app: SpecConsole) -> object:
    """At once."""
    return True


async def measure(on: Console) -> None:
    """Measure the unit that runs, to the end; a key may come back after all of it, so that only the end is waited for."""
    before = on.app.bench

    def over(app: SpecConsole) -> object:
        """This run has ended."""
        return app.bench is not before and measured(app)

    await on.when(at_once, "b")
    await on.when(lambda app: asked(app) or over(app))
    if asked(on.app):
        await on.when(at_once, "y")
    await on.when(over)


async def readme() -> None:
    """A load, a unit that serves, and a benchmark, of recorded starts."""
    async with console(recorded(), (120, 40)) as on:
        await on.when(loading)
        await on.picture("loading")
    async with console(recorded(), (80, 24)) as on:
        await on.when(speculating)
        await on.picture("serving")
    async with console(recorded(), (120, 40)) as on:
        await on.when(speculating)
        await measure(on)
        await on.picture("bench")


async def tour() -> None:
    """One night: measure the baseline, swap, wait, measure again, compare."""
    async with console(make(Demo("ngram-pays", "", WRITTEN)), (120, 40)) as on:
        await on.when(serving)
        await on.picture("tour-serving")
        await measure(on)
        await on.when(at_once, "2", "slash", *"throughput", "enter")
        await on.picture("tour-log")
        await on.when(at_once, "escape", "1")
        while not isinstance(on.app.focused, UnitsPane):
            await on.when(at_once, "tab")
        await on.when(at_once, "j", "S")
        await on.when(planned)
        await on.picture("tour-plan")
        await on.when(at_once, "y")
        await on.when(watching)
        await on.picture("tour-swap")
        await on.when(loads, "1")
        await on.picture("tour-loading")
        await on.when(swapped)
        await on.when(speculating)
        await measure(on)
        await on.picture("tour-bench")
        await on.when(at_once, "4")
        await on.picture("tour-compare")
        await on.when(at_once, "5")
        await on.picture("tour-history")


async def main(parts: list[str]) -> None:
    """The parts that were asked for, or all."""
    for part in (readme, tour):
        if part.__name__ in (parts or ["readme", "tour"]):
            await part()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))

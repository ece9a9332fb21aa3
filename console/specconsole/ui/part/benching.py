"""The benchmark of the running unit as a part of the app: asked for by one key, one at a time, ended on request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING

from textual.reactive import var

from specconsole.engine.health import Health
from specconsole.errors import SpecConsoleError
from specconsole.text import duration, one_line
from specconsole.ui.part.feeding import Source, follow
from specconsole.ui.part.live import LiveApp
from specconsole.ui.rows.unit_word import name
from specconsole.ui.screens.confirm import ConfirmScreen
from specconsole.ui.screens.live import LiveScreen

if TYPE_CHECKING:
    from specconsole.bench.book import Progress
    from specconsole.service.unit import Unit


class BenchApp(LiveApp):
    """Runs benchmarks over the live data."""

    bench: var[Progress | None] = var(None)
    """How far the last benchmark is; None: none was started yet."""
    bench_error: var[str] = var("")
    """Why it could not be run, in a sentence."""

    measuring: var[bool] = var(False, bindings=True)
    """A run is under way."""

    _cancel: asyncio.Event | None = None
    """Ends the run that is under way; None: none is."""

    def action_bench(self) -> None:
        """Measure the running unit, or show the run that is under way."""
        if self._cancel is not None:
            self.action_show("bench")
        else:
            self.run_worker(self._ask_and_run(), group="bench", exclusive=True)

    def action_bench_stop(self) -> None:
        """End the run; what was measured is kept."""
        if self._cancel is not None:
            self._cancel.set()
            self.tell("Ending the run; what was measured is kept.")

    def action_show(self, mode: str) -> None:
        """Show one of the main screens, with nothing of ours left above it."""
        while len(self.screen_stack) > 1 and isinstance(self.screen, LiveScreen):
            self.pop_screen()
        if self.current_mode != mode:
            self.switch_mode(mode)

    async def action_back(self) -> None:
        """From a screen that was opened above another one to that one; from a main screen to the dashboard."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self.action_show("dashboard")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A run can be ended only while there is one."""
        return (action != "bench_stop" or self.measuring) and super().check_action(action, parameters)

    def obstacle(self) -> str:
        """Why nothing can be measured now, in a sentence; "" when it can."""
        if self.unit is None:
            return "No unit runs: there is nothing to measure."
        if self.engine is None or self.engine.health is not Health.ANSWERING:
            return f"{name(self.unit)} does not answer yet: there is nothing to measure."
        return ""

    async def _ask_and_run(self) -> None:
        unit, engine = self.unit, self.engine
        if (why := self.obstacle()) or unit is None or engine is None:
            self.tell(why, "warning")
            return
        others = (engine.running or 0) + (engine.waiting or 0)
        if others:
            seen = self.stamp(engine.at)
            try:
                takes = await self.sources.bench_takes(unit)
            except SpecConsoleError as error:
                self.tell(one_line(str(error)), "error")
                return
            if not await self.push_screen_wait(_consequence(unit, others, seen, *takes)):
                return
        self.action_show("bench")
        await self._follow_run(lambda cancel: self.sources.bench(unit, cancel))

    async def _follow_run(self, begin: Callable[[asyncio.Event], AsyncGenerator[Progress, None]]) -> None:
        self._cancel, self.bench, self.bench_error = asyncio.Event(), None, ""
        self.measuring = True
        cancel = self._cancel
        source = Source("bench", lambda: begin(cancel), self._take_bench, self._bench_failed, again=False)
        await follow(source, self.clock, self._faults, lambda said: self.tell(said, "error"))
        self._cancel, self.measuring = None, False  # cancelled only with the app, which has no screen left to tell

    async def _look_for_run(self, *, ended: bool) -> None:
        """Pick up a run that another console, or this one before it was closed, has left to the host.

        One that has `ended` is picked up only on connecting: later on, the console that began it is about to fetch it.
        """
        found = await self.sources.carried()
        if found is None or self._cancel is not None or not (found.running or ended):
            return
        if self.bench is not None and self.bench.run.id == found.id:
            return
        how = "goes on on this host" if found.running else "ended on this host while no console looked"
        self.tell(f"A benchmark {how}; key 3 shows it.")
        ident = found.id
        self.run_worker(
            self._follow_run(lambda cancel: self.sources.join(ident, cancel)), group="bench", exclusive=True
        )

    def _take_bench(self, progress: Progress) -> None:
        self.bench = progress

    def _bench_failed(self, why: str) -> None:
        self.bench_error = why


def _consequence(unit: Unit, others: int, seen: str, sends: int, takes_s: tuple[float, float] | None) -> ConfirmScreen:
    """What a benchmark does to others, and they to it; `seen`: the time of day at which they ran."""
    requests = "1 request of others was" if others == 1 else f"{others} requests of others were"
    span = "how long that takes is not known before a first one"
    if takes_s is not None:
        span = f"which takes {duration(takes_s[0])} to {duration(takes_s[1])} by earlier runs"
    said = (
        f"{requests} running on {one_line(name(unit))} at {seen}. A benchmark slows them down, and they make its figures worthless"
        f" for a comparison. It sends {sends:,} requests and some to warm up; {span}."
    )
    return ConfirmScreen(said, "Measure all the same?")

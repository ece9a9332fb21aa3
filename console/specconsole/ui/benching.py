"""The benchmark of the running unit as a part of the app: asked for by one key, one at a time, ended on request."""

from __future__ import annotations

import asyncio

from textual.reactive import var

from specconsole.bench.book import Progress
from specconsole.engine.health import Health
from specconsole.service.unit import Unit
from specconsole.text import one_line
from specconsole.ui.feeding import Source, follow
from specconsole.ui.live import LiveApp
from specconsole.ui.screens.confirm import ConfirmScreen
from specconsole.ui.screens.live import LiveScreen
from specconsole.ui.unit_word import name


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
        if others and not await self.push_screen_wait(_consequence(unit, others)):
            return
        self._cancel, self.bench, self.bench_error = asyncio.Event(), None, ""
        self.measuring = True
        self.action_show("bench")
        await self._run(unit, self._cancel)  # cancelled only with the app, which has no screen left to tell
        self._cancel, self.measuring = None, False

    async def _run(self, unit: Unit, cancel: asyncio.Event) -> None:
        source = Source(
            "bench", lambda: self.sources.bench(unit, cancel), self._take_bench, self._bench_failed, again=False
        )
        await follow(source, self.clock, self._faults, lambda said: self.tell(said, "error"))

    def _take_bench(self, progress: Progress) -> None:
        self.bench = progress

    def _bench_failed(self, why: str) -> None:
        self.bench_error = why


def _consequence(unit: Unit, others: int) -> ConfirmScreen:
    requests = "1 request of others is" if others == 1 else f"{others} requests of others are"
    said = (
        f"{requests} running on {one_line(name(unit))} now. A benchmark slows them down, and they make its figures worthless"
        " for a comparison."
    )
    return ConfirmScreen(said, "Measure all the same?")

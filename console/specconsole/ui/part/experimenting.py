"""Experiments as a part of the app: planned by one key, confirmed, followed; what another console began is found, runs and swaps too."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.reactive import var

from specconsole.errors import SpecConsoleError
from specconsole.host.base import Link, LinkKind
from specconsole.text import one_line
from specconsole.ui.part.feeding import Source, follow
from specconsole.ui.part.remembering import RememberApp
from specconsole.ui.screens.choose import ChooseScreen
from specconsole.ui.screens.confirm import ConfirmScreen

if TYPE_CHECKING:
    from specconsole.engine.snapshot import EngineSnapshot
    from specconsole.experiment.fetch import StepResult
    from specconsole.experiment.watch import Standing
    from specconsole.host.lying import Lying
    from specconsole.service.unit import Unit
    from specconsole.ui.feed.experiment import Reported


LOOK_S = 60.0
"""Requests that come where none ran may be a benchmark's; so often, in seconds of the viewer, they are a reason to look."""


class ExperimentApp(RememberApp):
    """Swaps to each arm of a plan in turn and measures it, always behind a forecast that was confirmed."""

    experiment: var[Standing | None] = var(None)
    """The experiment that runs, or the last one that was seen."""
    experiment_at: var[float] = var(0.0)
    """Seconds since the epoch, by the console's clock, at which that was known."""
    experiment_error: var[str] = var("")
    """Why it cannot be followed, in a sentence; "" while it can."""
    experimenting: var[bool] = var(False, bindings=True)
    """One is followed."""
    unmeasured: var[str] = var("", bindings=True)
    """The id of one of which something is left to measure, and that nobody goes on with; "": there is none."""
    reported: var[Reported | None] = var(None, bindings=True)
    """What came out of it."""

    _up = False
    """The link was up when it was told of last."""
    _looked_at = float("-inf")
    """Monotonic seconds at which it was looked for what others began."""

    def action_experiment(self) -> None:
        """Choose a plan and see what it takes, or show the experiment that runs."""
        if self.experimenting:
            self.action_show("experiment")
        else:
            self.run_worker(self._ask_experiment(), group="experiment", exclusive=True)

    def action_experiment_cancel(self) -> None:
        """Ask whether to end the experiment that runs."""
        if self.experimenting and self.experiment is not None:
            self.run_worker(self._cancel_experiment(self.experiment), group="experiment-order", exclusive=True)

    def action_experiment_resume(self) -> None:
        """Say what of an experiment is left to measure, and ask whether to go on with it."""
        if self.unmeasured and not self.experimenting:
            self.run_worker(self._resume(self.unmeasured), group="experiment", exclusive=True)

    def action_experiment_compare(self) -> None:
        """Lay the runs of the experiment side by side."""
        if self.reported is None or len(self.reported.runs) < 2:
            self.tell("The history has no two runs of this experiment.", "warning")
            return
        self.picked = self.reported.runs
        self.action_show("compare")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what there is something for."""
        there = {
            "experiment_cancel": self.experimenting,
            "experiment_resume": bool(self.unmeasured) and not self.experimenting,
            "experiment_compare": self.reported is not None,
        }
        return there.get(action, True) and super().check_action(action, parameters)

    async def _ask_experiment(self) -> None:
        from specconsole.ui.screens.experiment import ExperimentPlanScreen

        feed = self.sources.experiments
        try:
            plans = feed.plans()
            if not plans:
                self.tell("There is no plan; write one, as docs/experiments.md shows.", "warning")
                return
            entries = [(name, f"{name}: {said}") for name, said in plans]
            name = await self.push_screen_wait(ChooseScreen("Experiment: which plan?", entries))
            if name is None:
                return
            async with self.announced(f"Looking what {name} takes on this host…"):
                made = await feed.fit(name)
            if not await self.push_screen_wait(ExperimentPlanScreen(made, self.clock.now(), self.stamp)):
                return
            ident = await feed.begin(made)
        except SpecConsoleError as error:
            self.tell(str(error), "error")
            return
        self.action_show("experiment")
        await self._follow_experiment(ident)

    async def _follow_experiment(self, ident: str) -> None:
        self.experiment, self.experiment_error, self.reported = None, "", None
        self.unmeasured, self.experimenting = "", True
        source = Source(
            "experiment",
            lambda: self.sources.experiments.follow(ident),
            self._take_experiment,
            self._experiment_failed,
            again=False,
        )
        await follow(source, self.clock, self._faults, lambda said: self.tell(said, "error"))
        self.experimenting = False  # cancelled only with the app, which has no screen left to tell
        standing = self.experiment
        if standing is not None and (standing.interrupted or standing.left):
            self.unmeasured = ident
        if standing is not None and standing.interrupted:
            self.tell("The experiment was interrupted; key 8 shows it.", "error")
        elif standing is not None and standing.view.end is not None:
            await self._report(ident)

    def _take_experiment(self, standing: Standing) -> None:
        self.experiment_at, self.experiment = self.clock.now(), standing

    def _experiment_failed(self, why: str) -> None:
        self.experiment_error = why

    async def _report(self, ident: str) -> None:
        """Fetch what came out; a host that is open for reading only keeps it."""
        try:
            self.reported = await self.sources.experiments.report(ident, not self.read_only)
        except SpecConsoleError as error:
            self.experiment_error = str(error)
            return
        self.bell()
        self.tell(f"The experiment is over: {self.reported.answer[0]}" if self.reported.answer else "It is over.")
        self.remember_again()

    async def _cancel_experiment(self, standing: Standing) -> None:
        said = (
            f"The experiment {standing.plan.get('name')} runs on the host. Cancelling ends it: a swap under way comes to its"
            " end, then the baseline serves again, which takes as long as its load takes. What was measured is kept."
            " Leaving the console instead lets the experiment go on."
        )
        if not await self.push_screen_wait(ConfirmScreen(said, "End the experiment?")):
            return
        try:
            given = await self.sources.experiments.cancel(standing.id)
            self.tell("It ends: a swap under way comes to its end first." if given else "It is over already.")
        except SpecConsoleError as error:
            self.tell(str(error), "error")

    async def _resume(self, ident: str) -> None:
        left = self.experiment.left if self.experiment is not None else ()
        what = "The experiment goes on with the first step that was not measured"
        if left:
            what = f"The experiment goes on with what was not measured, {', then '.join(map(_left, left))}"
        said = f"{what}: units are stopped and started for hours. What was measured is kept."
        if not await self.push_screen_wait(ConfirmScreen(said, "Let it go on?")):
            return
        try:
            await self.sources.experiments.resume(ident)
        except SpecConsoleError as error:
            self.tell(str(error), "error")
            return
        self.action_show("experiment")
        await self._follow_experiment(ident)

    # -- what others began --

    def action_show(self, mode: str) -> None:
        """Show one of the main screens; for these three the host is asked anew what goes on there."""
        super().action_show(mode)
        if mode in ("bench", "swap", "experiment"):
            self._look_for_others()

    def _take_link(self, link: Link) -> None:
        super()._take_link(link)
        was_up, self._up = self._up, link.kind is LinkKind.UP
        if self._up and not was_up:
            self._look_for_others(ended=True)

    def _take_units(self, units: tuple[Unit, ...]) -> None:
        known, before = self.units_at is not None, _running(self.units)
        super()._take_units(units)
        if known and _running(units) != before:
            self._look_for_others()

    def _take_engine(self, engine: EngineSnapshot) -> None:
        idle = self.engine is not None and self.engine.running == 0
        super()._take_engine(engine)
        rested = self.clock.monotonic() - self._looked_at >= LOOK_S * self.clock.speed
        if idle and engine.running and rested:
            self._look_for_others()

    def _look_for_others(self, *, ended: bool = False) -> None:
        """Look for what another console began, unless something is followed already.

        On connecting (then also for a benchmark that has `ended`), when units come and go, when requests come, and by key.
        """
        if not self.swapping and not self.experimenting and not self.measuring:
            self._looked_at = self.clock.monotonic()
            # Not yet a coroutine: one whose worker is cancelled before it begins, as by a cut, would never be awaited.
            look = partial(self._look_around, ended=ended)
            self.run_worker(look, group="others", exclusive=True)  # type: ignore[arg-type]

    async def _look_around(self, *, ended: bool) -> None:
        try:
            if not await self._look_for_experiment():
                await self._look_for_swap()
                await self._look_for_run(ended=ended)
        except SpecConsoleError:
            return  # the link broke: it is looked again when it is back

    async def _look_for_experiment(self) -> bool:
        """Find one that another console began, or that ended, or was cut off, while nobody looked; whether one runs."""
        found = await self.sources.experiments.known()
        if not found or self.experimenting:
            return self.experimenting
        last = next((one for one in reversed(found) if one.running), found[-1])
        seen = self.experiment is not None and self.experiment.id == last.id
        if not seen or (last.running and self.unmeasured == last.id):
            self.tell(_how(last), "information" if last.outcome == "finished" else "warning")
            self.run_worker(self._follow_experiment(last.id), group="experiment", exclusive=True)
        return last.running


def _left(step: StepResult) -> str:
    """A step that is to be measured, and why it was not."""
    why = next((cell.why for cell in step.cells if cell.state == "failed" and cell.why), step.why)
    return f"step {step.number + 1} {one_line(step.arm, 24)}{f' ({one_line(why, 120)})' if why else ''}"


def _running(units: tuple[Unit, ...]) -> set[str]:
    return {unit.key for unit in units if unit.state.running}


def _how(one: Lying) -> str:
    if one.running:
        return f"Experiment {one.name} runs here; key 8 shows it."
    if one.outcome is None:
        return f"Experiment {one.name} was interrupted; key 8 shows it."
    return f"Experiment {one.name} has ended ({one.outcome}); key 8 shows it."

"""Swaps as a part of the app: planned by one key, confirmed, followed; one of another console is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.reactive import var

from specconsole.errors import SpecConsoleError
from specconsole.ui.part.examining import ExamineApp
from specconsole.ui.part.feeding import Source, follow
from specconsole.ui.rows.unit_word import name
from specconsole.ui.screens.confirm import ConfirmScreen

if TYPE_CHECKING:
    from specconsole.service.swap import Known, SwapView
    from specconsole.service.unit import Unit
    from specconsole.ui.feed.swap import Prepared

REPLANS = 3
"""So often a plan is made anew when the host is no more as it was planned."""


class SwapApp(ExamineApp):
    """Changes which unit of the host serves, always behind a plan that was confirmed."""

    swap: var[SwapView | None] = var(None)
    """The swap that runs, or the last one of this session."""
    swap_error: var[str] = var("")
    """Why it cannot be followed, in a sentence; "" while it can."""
    swap_over_at: var[float | None] = var(None)
    """Monotonic seconds at which its end was heard; None: it goes on, or ended before this session."""
    swapping: var[bool] = var(False, bindings=True)
    """A swap is under way."""

    _asked = -1
    """The number of the question that was shown last."""

    def action_change(self, action: str) -> None:
        """Swap to the selected unit, or stop or restart it, after its plan was confirmed."""
        unit = next((unit for unit in self.units if unit.key == self.selected), None)
        if self.swapping:
            self.action_show("swap")
        elif unit is None:
            self.tell("No unit is selected.", "warning")
        elif why := self._obstacle(unit, action):
            self.tell(why, "warning")
        else:
            self.run_worker(self._perform(unit, self._meant(unit, action)), group="swap", exclusive=True)

    def action_swap_cancel(self) -> None:
        """Ask whether to roll back the swap that runs."""
        if self.swapping and self.swap is not None:
            self.run_worker(self._cancel_swap(self.swap), group="swap-order", exclusive=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A swap can be cancelled only while there is one."""
        return (action != "swap_cancel" or self.swapping) and super().check_action(action, parameters)

    def _obstacle(self, unit: Unit, action: str) -> str:
        running = unit.state.running
        if unit.underived:
            return f"{name(unit)} is not derived yet; D derives it."
        if action == "swap" and running:
            return f"{name(unit)} runs already; select the unit that should take its place."
        if action in ("stop", "restart") and not running:
            return f"{name(unit)} does not run."
        return ""

    def _meant(self, unit: Unit, action: str) -> str:
        """Where nothing serves in its place, a swap to a unit is its start."""
        from specconsole.service.plan import is_rival

        replaces = any(is_rival(other, unit) and other.state.running for other in self.units if other.key != unit.key)
        return "start" if action == "swap" and not replaces else action

    async def _perform(self, unit: Unit, action: str) -> None:
        from specconsole.service.swap import is_stale
        from specconsole.ui.screens.plan import PlanScreen

        try:
            for _ in range(REPLANS):
                async with self.announced(f"Planning: {action} {name(unit)}…"):
                    prepared = await self.sources.swaps.plan(unit, action)
                if not await self.push_screen_wait(PlanScreen(prepared.plan)):
                    return
                if not await self._begun(prepared):
                    continue
                if self.swap is None or not is_stale(self.swap.story):
                    return
                self.tell("The host is no more as it was planned; here is the plan anew.", "warning")
            self.tell("The host changed again and again while it was planned; look who else is at work.", "warning")
        except SpecConsoleError as error:
            self.tell(str(error), "error")

    async def _begun(self, prepared: Prepared) -> bool:
        """Hand the plan over and follow it to its end; False: it was stale, and nothing was begun."""
        from specconsole.service.swap import SwapRefused

        try:
            ident = await self.sources.swaps.begin(prepared)
        except SwapRefused as refused:
            if refused.running is None and refused.detail.endswith("(stale)"):
                return False
            if refused.running is None:
                raise
            self.tell(str(refused), "warning")
            ident = refused.running
        self.action_show("swap")
        await self._follow_swap(ident)
        return True

    async def _follow_swap(self, ident: str) -> None:
        self.swap, self.swap_error, self.swapping, self._asked = None, "", True, -1
        source = Source(
            "swap", lambda: self.sources.swaps.follow(ident), self._take_swap, self._swap_failed, again=False
        )
        await follow(source, self.clock, self._faults, lambda said: self.tell(said, "error"))
        self.swapping = False  # cancelled only with the app, which has no screen left to tell

    def _take_swap(self, view: SwapView) -> None:
        from specconsole.service.swap import title

        self.swap = view
        self.swap_over_at = self.clock.monotonic() if view.over else None
        ask = view.story.ask
        if ask is not None and int(ask["n"]) != self._asked and not self.read_only:
            self._asked = int(ask["n"])
            self.run_worker(self._answer(view), group="swap-order", exclusive=True)
        if view.over and view.story.outcome is not None:
            good = "warning" if view.story.unproven else "information"
            severity = good if view.story.outcome == "committed" else "error"
            self.tell(f"{title(view.story)}: {view.story.why or view.story.outcome}", severity)

    def _swap_failed(self, why: str) -> None:
        self.swap_error = why

    async def _answer(self, view: SwapView) -> None:
        """Show the processes that a stopped unit left behind, and ask whether to end exactly these."""
        ask = view.story.ask or {}
        held = [_process(one) for one in ask.get("processes") or ()]
        said = "The stopped unit left processes behind, and they hold its GPUs:\n" + "\n".join(held)
        yes = await self.push_screen_wait(ConfirmScreen(said, "End exactly these processes?"))
        try:
            await self.sources.swaps.answer(view.story.id, str(ask.get("what")), "end" if yes else "leave")
        except SpecConsoleError as error:
            self.tell(str(error), "error")

    async def _cancel_swap(self, view: SwapView) -> None:
        from specconsole.service.swap import title

        said = (
            f"{title(view.story)} runs on the host. Cancelling rolls back: what was stopped is started again, which takes"
            " as long as its load takes. Leaving the console instead lets the swap go on."
        )
        if not await self.push_screen_wait(ConfirmScreen(said, "Roll back now?")):
            return
        try:
            given = await self.sources.swaps.cancel(view.story.id)
            self.tell("It rolls back now." if given else "It is over already.")
        except SpecConsoleError as error:
            self.tell(str(error), "error")

    async def _look_for_swap(self) -> None:
        """Find a swap that another console began, or one that nobody goes on with."""
        known = await self.sources.swaps.known()
        if self.swapping:
            return
        if known.running is not None:
            self.tell("A swap runs on this host; key 7 shows it.", "warning")
            self.run_worker(self._follow_swap(known.running), group="swap", exclusive=True)
        else:
            self._tell_interrupted(known)

    def _tell_interrupted(self, known: Known) -> None:
        from specconsole.service.swap import SwapView, title

        story = known.interrupted
        if story is not None and not (self.swap is not None and self.swap.over and self.swap.story.id == story.id):
            self.swap = SwapView(story=story, lives=False, over=True)
            step = story.step.name if story.step else "its beginning"
            self.tell(f"{title(story)} was interrupted at {step}, and nobody goes on with it; key 7 shows it.", "error")


def _process(one: dict[str, object]) -> str:
    memory = one.get("memory")
    held = f", {memory / 2**30:.1f} GiB" if isinstance(memory, int) else ""
    return f"pid {one.get('pid')}  {one.get('argv')}  of {one.get('unit') or 'no unit'}{held}"

"""The history as a part of the app: its lists, runs marked in them, the comparison of runs, and a record opened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from textual.reactive import var

from specconsole import paths
from specconsole.history.entry import Experiment, Run
from specconsole.host.base import hostname
from specconsole.ui.feed.history import Compared, Remembered
from specconsole.ui.part.deriving import DeriveApp
from specconsole.ui.part.feeding import Source, follow
from specconsole.ui.screens.choose import ChooseScreen

if TYPE_CHECKING:
    from specconsole.bench.book import Progress
    from specconsole.bench.run import BenchRun
    from specconsole.ui.rows.history import Entry
    from specconsole.ui.screens.live import LiveScreen

T = TypeVar("T")


class RememberApp(DeriveApp):
    """Shows what this machine remembers."""

    remembered: var[Remembered | None] = var(None)
    """The lists of the history; None before they were read."""
    remember_error: var[str] = var("")
    """Why they could not be read, in a sentence."""
    picked: var[tuple[int, ...]] = var((), bindings=True)
    """The runs that the user marked, by id, in that order; (): none, so the newest ones are compared."""
    compared: var[Compared | None] = var(None)
    """The comparison that was made last."""
    compare_error: var[str] = var("")
    """Why none could be made, in a sentence."""
    comparing: var[bool] = var(False)
    """One is being made now."""
    kept: var[tuple[int, BenchRun] | None] = var(None)
    """The run that was read whole last, with its id."""
    kept_error: var[str] = var("")
    """Why it could not be read, in a sentence."""

    def action_show(self, mode: str) -> None:
        """Show one of the main screens; the history is read anew for those that rest on it."""
        opens = mode in ("history", "compare") and self.current_mode != mode
        super().action_show(mode)
        if opens:
            self.remember_again()
            if mode == "compare":
                self.compare_again()

    async def _follow_run(self, begin: Callable[[asyncio.Event], AsyncGenerator[Progress, None]]) -> None:
        await super()._follow_run(begin)
        if self.remembered is not None:
            self.remember_again()  # the run is in it now

    @property
    def own_host(self) -> str:
        """The name under which this host is remembered."""
        return hostname(self.host)

    def remember_again(self) -> None:
        """Read the lists anew."""
        self._ask("remember", self.sources.past.lists, self._take_lists, self._not_read)

    def mark_all(self, numbers: Sequence[int]) -> None:
        """Mark runs, or take their marks away where all of them have one."""
        if set(numbers) <= set(self.picked):
            self.picked = tuple(one for one in self.picked if one not in numbers)
        else:
            self.picked = tuple(dict.fromkeys((*self.picked, *numbers)))

    def compare_with(self, entry: Entry) -> None:
        """Lay the marked runs side by side; fewer than two of them are completed from the entry under the cursor."""
        known = self.remembered or Remembered()
        if len(self.picked) < 2 and isinstance(entry, Experiment):
            self._compare_picked(entry.runs_among(known.runs))
        elif len(self.picked) < 2 and isinstance(entry, Run) and entry.id is not None and self.picked != (entry.id,):
            if self.picked:
                self._compare_picked((*self.picked, entry.id))
            else:
                self.run_worker(self._choose_beside(entry, entry.id, known), group="compare with", exclusive=True)
        else:
            self._compare_picked(self.picked)

    def _compare_picked(self, numbers: Sequence[int]) -> None:
        if len(numbers) < 2:
            self.tell("Mark two runs or more with Space; runs of several starts make a verdict possible.", "warning")
            return
        self.picked = tuple(numbers)
        self.action_show("compare")

    async def _choose_beside(self, run: Run, number: int, known: Remembered) -> None:
        from specconsole.bench.pick import beside
        from specconsole.ui.rows.history import Item

        found = [one for one in beside(run, known.runs) if one.id is not None]
        if not found:
            self.tell("No other run of this host was asked the same: mark runs with Space to compare them.", "warning")
            return
        entries = [(str(one.id), f"{self.stamp.day(one.started)}  {Item('runs', one).said}") for one in found]
        if len(found) > 1:
            entries.insert(0, ("", f"all {len(found)}, taken together by arm"))
        chosen = await self.push_screen_wait(ChooseScreen(f"Compare #{number} with", entries))
        if chosen is not None:
            others = [int(chosen)] if chosen else [one.id for one in found if one.id is not None]
            self._compare_picked((number, *others))

    def action_compare_newest(self) -> None:
        """Forget the marks: lay the newest runs of each arm side by side."""
        self.picked = ()
        self.compare_again()

    def compare_again(self) -> None:
        """Make the comparison anew."""
        self.comparing = True
        self._ask("compare", self._compare, self._take_compared, self._not_compared)

    def choose_runs(self) -> None:
        """Show the runs of the history, to mark some."""
        from specconsole.ui.screens.history import HistoryScreen

        self.action_show("history")
        if isinstance(self.screen, HistoryScreen):
            self.screen.kind = "runs"

    def open_kept(self, screen: LiveScreen) -> None:
        """Open an entry of the history above the list."""
        from specconsole.ui.screens.kept import KeptScreen

        self.push_screen(self._bound(screen))
        if isinstance(screen, KeptScreen) and screen.number is not None:
            self._read_run(screen.number)

    def _read_run(self, number: int) -> None:
        async def read() -> tuple[int, BenchRun]:
            return number, await self.sources.past.run(number)

        self._ask("kept run", read, self._take_kept, self._not_kept)

    def _take_kept(self, found: tuple[int, BenchRun]) -> None:
        self.kept = found

    def _not_kept(self, why: str) -> None:
        self.kept_error = why

    def save_history(self, name: str, *, merge: bool) -> None:
        """Write the history to a file, or take one in."""
        past = self.sources.past
        path = paths.typed(name)

        def take(said: str) -> None:
            self.tell(said)
            if merge:
                self.remember_again()

        self._ask(
            "history file",
            (lambda: past.merge(path)) if merge else (lambda: past.save(path)),
            take,
            lambda why: self.tell(why, "error") if why else None,
        )

    async def _compare(self) -> Compared | None:
        await self.painted()  # that it reads: what it imports and reads may hold the loop for a while
        from specconsole.bench.pick import newest

        lists = await self.sources.past.lists()
        known = {run.id: run for run in lists.runs}
        marked = [known[number] for number in self.picked if number in known]
        runs = _baselines_first(marked) or newest([run for run in lists.runs if run.host == self.own_host])
        return await self.sources.past.compare(runs) if runs else None

    def _ask(
        self, name: str, ask: Callable[[], Awaitable[T]], take: Callable[[T], None], fail: Callable[[str], None]
    ) -> None:
        async def once() -> AsyncGenerator[T, None]:
            yield await ask()

        fail("")
        source = Source(name, once, take, fail, again=False)
        work = follow(source, self.clock, self._faults, lambda said: self.tell(said, "error"))
        self.run_worker(work, group=name, exclusive=True)

    def _take_lists(self, lists: Remembered) -> None:
        self.remembered = lists

    def _not_read(self, why: str) -> None:
        self.remember_error = why

    def _take_compared(self, found: Compared | None) -> None:
        self.compared, self.comparing = found, False

    def _not_compared(self, why: str) -> None:
        self.compare_error = why
        if why:
            self.compared, self.comparing = None, False


def _baselines_first(runs: Sequence[Run]) -> tuple[Run, ...]:
    """In the order of choice, but what speculates stands second: A is what B is measured against."""
    return tuple(sorted(runs, key=lambda run: run.summary.get("arm") != "baseline"))

"""An experiment as it goes: its story, the figures of each step as they come, and when it will be over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from specconsole.bench.book import Book
from specconsole.bench.run import BenchRun
from specconsole.bench.stats import quantile
from specconsole.bench.table import rows
from specconsole.clock import Clock
from specconsole.errors import LinkLost, NotRunning
from specconsole.experiment import asked, carry
from specconsole.experiment.carry import View
from specconsole.experiment.fetch import CellResult, StepResult, book_of, result_of
from specconsole.experiment.outlook import Outlook, outlook
from specconsole.host.base import Host
from specconsole.host.said import readable
from specconsole.remote import outside
from specconsole.remote.experiment_folder import settled

Place = tuple[int, int]
"""The number of a step, and of a cell of it."""
LIVE_S = 10.0
"""So often the stamps of a run that goes on are read: it costs the host a short program."""


@dataclass(frozen=True)
class Figures:
    """What the run of a step's cell tells so far; None: not known."""

    done: int = 0
    """Requests that have ended."""
    total: int = 0
    tpot_p50_s: float | None = None
    """The median of the requests' times per token."""
    tau: float | None = None
    rate: float | None = None
    """Accepted / drafted tokens."""
    joules: float | None = None
    """A token."""
    why: str = ""
    """How the run ended; "" while it goes on."""


@dataclass(frozen=True)
class Standing:
    """How an experiment stands."""

    id: str
    plan: Mapping[str, Any] = field(default_factory=dict)
    view: View = field(default_factory=View)
    steps: tuple[StepResult, ...] = ()
    """What the story says of each, without runs."""
    figures: Mapping[Place, Figures] = field(default_factory=dict)
    """By the numbers of step and cell."""
    outlook: Outlook = field(default_factory=Outlook)

    @property
    def now(self) -> float | None:
        """The latest moment by the host's clock that is known."""
        told = [float(event["at"]) for event in self.view.events[-1:]]
        told += [float(self.view.now["at"])] if self.view.now.get("at") else []
        return max(told, default=None)

    @property
    def current(self) -> StepResult | None:
        """The step that it is at; None before the first and after the last."""
        if self.view.end is not None:
            return None
        return next((one for one in self.steps if one.state not in ("not begun", "done", "failed")), None)

    @property
    def names(self) -> tuple[str, ...]:
        """What tells the cells apart, in words; "" where there is one."""
        return asked.names(self.plan.get("about") or {})

    @property
    def left(self) -> tuple[StepResult, ...]:
        """Of one that came to an end the steps that going on would measure: not come to, or with a cell to be tried again."""
        if self.view.end is None:
            return ()
        done = settled([dict(event) for event in self.view.events])
        return tuple(step for step in self.steps if step.number not in done)

    @property
    def interrupted(self) -> bool:
        """It has no end, and nobody goes on with it."""
        return self.view.over and self.view.end is None


def standing(ident: str, plan: Mapping[str, Any], view: View, figures: Mapping[Place, Figures]) -> Standing:
    """What is known, put together."""
    steps = tuple(
        result_of(number, str(step["arm"]), view.events, len(step["runs"]))
        for number, step in enumerate(plan.get("steps") or ())
    )
    made = Standing(ident, plan, view, steps, dict(figures))
    if view.end is not None or made.now is None:
        return made
    return Standing(ident, plan, view, steps, dict(figures), outlook(plan, steps, made.now))


async def watch(host: Host, ident: str, clock: Clock) -> AsyncGenerator[Standing, None]:
    """Yield how it stands after each change, from its first event on, until it is over; a cut link makes a pause.

    Raises:
        NotRunning: no such experiment lies on the host.
    """
    plan = await _plan(host, ident)
    reader = _Reader(host, ident, plan, clock)
    async with aclosing(carry.follow(host, ident, clock)) as views:
        async for view in views:
            with readable(host.name):
                now = standing(ident, plan, view, reader.figures)
            yield now
            if await reader.read(now):
                yield replace(now, figures=dict(reader.figures))


async def _plan(host: Host, ident: str) -> Mapping[str, Any]:
    while True:
        await host.up()
        try:
            data = await carry.file_of(host, ident, "plan")
        except LinkLost:
            continue
        if not data:
            raise NotRunning(f"No experiment {ident} lies on {host.name} any more: another console has fetched it.")
        with readable(host.name):
            found: Mapping[str, Any] = outside.parse(data)
            standing(ident, found, View(), {})
        return found


class _Reader:
    """Reads the stamps of each cell once, and of the one that is measured now and then."""

    def __init__(self, host: Host, ident: str, plan: Mapping[str, Any], clock: Clock) -> None:
        self.figures: dict[Place, Figures] = {}
        self._host, self._ident, self._plan, self._clock = host, ident, plan, clock
        self._books: dict[Place, tuple[float | None, Book, int]] = {}
        """By cell: when it was begun, what was read, and up to which byte."""
        self._whole: set[tuple[Place, float | None]] = set()
        self._asked = float("-inf")

    async def read(self, now: Standing) -> bool:
        """Read what is due; whether there are new figures."""
        if not now.view.linked:
            return False
        new = False
        try:
            for step, cell in self._due(now.steps):
                new |= await self._take(step, cell)
        except LinkLost:
            pass  # `carry.follow` says so, and the next view reads on
        return new

    def _due(self, steps: Sequence[StepResult]) -> list[tuple[StepResult, CellResult]]:
        known = [(step, cell) for step in steps for cell in step.cells]
        ended = [(step, cell) for step, cell in known if cell.ended is not None]
        due = [(step, cell) for step, cell in ended if ((step.number, cell.number), cell.began) not in self._whole]
        live = [(step, cell) for step, cell in known if cell.state == "begin" and step.state == "soaked"]
        if live and self._clock.monotonic() - self._asked >= LIVE_S:
            self._asked = self._clock.monotonic()
            due += live
        return due

    async def _take(self, step: StepResult, cell: CellResult) -> bool:
        place = step.number, cell.number
        began, book, offset = self._books.get(place) or (cell.began, self._book(step, cell), 0)
        if began != cell.began:  # it was begun again
            book, offset = self._book(step, cell), 0
        data = await carry.file_of(self._host, self._ident, f"{step.number}-{cell.number}", offset)
        if cell.ended is not None:
            self._whole.add((place, cell.began))
        whole = data[: data.rfind(b"\n") + 1]
        if not whole:
            return False
        self._books[place] = (cell.began, book, offset + len(whole))
        before = self.figures.get(place)
        with readable(self._host.name):  # hundreds of requests take a second, in which the screen would not move
            self.figures[place] = await asyncio.to_thread(_taken, book, whole, before)
        return self.figures[place] != before

    def _book(self, step: StepResult, cell: CellResult) -> Book:
        return book_of(self._ident, self._plan, step, cell)


def _taken(book: Book, lines: bytes, before: Figures | None) -> Figures:
    for line in lines.splitlines():
        book.take(outside.parse(line))
    run = book.run
    if before is not None and (before.done, before.why) == (len(run.results), run.why):
        return before  # most lines only count tokens
    return figures_of(run)


def figures_of(run: BenchRun) -> Figures:
    """The figures of a run over all its prompts."""
    overall = rows(run)[-1]
    return Figures(
        len(run.results),
        run.spec.total,
        quantile(overall.timing.tpots_s, 0.5),
        overall.tau,
        overall.acceptance.rate,
        overall.joules,
        run.why,
    )

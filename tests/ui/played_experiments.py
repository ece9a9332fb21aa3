"""Experiments as a test of the screen plays them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from specconsole.errors import SpecConsoleError
from specconsole.experiment.prepare import Prepared
from specconsole.experiment.watch import Standing
from specconsole.host.lying import Lying
from specconsole.ui.feed.experiment import Reported


class PlayedExperiments:
    """`made`: what a plan takes; `lies`: what lies on the host; `outcome`: the report; `asked`: what was asked for."""

    def __init__(self, play: Callable[[str], AsyncGenerator[Any, None]]) -> None:
        self._play = play
        self.made: Prepared | SpecConsoleError | None = None
        self.lies: tuple[Lying, ...] = ()
        self.outcome: Reported | SpecConsoleError | None = None
        self.asked: list[tuple[object, ...]] = []

    def plans(self) -> Sequence[tuple[str, str]]:
        return [("does-it-pay", "Baseline, n-gram k=5, baseline"), ("night", "all of [/b] it")]

    async def fit(self, name: str) -> Prepared:
        self.asked.append(("fit", name))
        if isinstance(self.made, SpecConsoleError):
            raise self.made
        assert self.made is not None
        return self.made

    async def begin(self, made: Prepared) -> str:
        self.asked.append(("begin", made.plan.name))
        return "e1"

    async def resume(self, ident: str) -> None:
        self.asked.append(("resume", ident))

    async def follow(self, ident: str) -> AsyncGenerator[Standing, None]:
        self.asked.append(("follow", ident))
        async for standing in self._play("experiment"):
            yield standing
            if standing.view.over:
                return

    async def cancel(self, ident: str) -> bool:
        self.asked.append(("cancel", ident))
        return True

    async def known(self) -> tuple[Lying, ...]:
        return self.lies

    async def report(self, ident: str, forget: bool) -> Reported:
        self.asked.append(("report", ident, forget))
        if isinstance(self.outcome, SpecConsoleError):
            raise self.outcome
        assert self.outcome is not None
        return self.outcome

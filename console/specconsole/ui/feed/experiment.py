"""What the app asks of the domain for experiments on one host; everything is imported when it is first asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from specconsole.clock import Clock
from specconsole.errors import ConfigError
from specconsole.host.base import Host

if TYPE_CHECKING:
    from specconsole.bench.compare import Comparison
    from specconsole.experiment.prepare import Prepared
    from specconsole.experiment.watch import Standing
    from specconsole.history.memory import Memory
    from specconsole.host.lying import Lying
    from specconsole.profile import Profile


@dataclass(frozen=True)
class Reported:
    """What came out of an experiment."""

    id: str
    answer: tuple[str, ...]
    """The verdict of each arm, and whatever else has to be said, in sentences."""
    comparisons: tuple[Comparison, ...] = ()
    path: str = ""
    """The file of the written report; "" where none was written."""
    trouble: str = ""
    """Why none was written."""
    runs: tuple[int, ...] = ()
    """Its runs in the history, for a comparison."""


class Experiments(Protocol):
    """Plans, begins, follows and reports experiments; each raises the domain's errors."""

    def plans(self) -> Sequence[tuple[str, str]]:
        """The plans that there are, shipped and own: name and what it does."""
        ...

    async def fit(self, name: str) -> Prepared:
        """What a plan would do on the host as it is now."""
        ...

    async def begin(self, made: Prepared) -> str:
        """Hand it to the host; returns its id."""
        ...

    async def resume(self, ident: str) -> None:
        """Let one go on that was interrupted."""
        ...

    def follow(self, ident: str) -> AsyncGenerator[Standing, None]:
        """How it stands after each change, from its first event on, until it is over."""
        ...

    async def cancel(self, ident: str) -> bool:
        """Ask it to end; False: it is over."""
        ...

    async def known(self) -> tuple[Lying, ...]:
        """The experiments that lie on the host, oldest first."""
        ...

    async def report(self, ident: str, forget: bool) -> Reported:
        """Fetch it, remember its runs, write its report; `forget`: the host need not keep one that is whole."""
        ...


class HostExperiments:
    """The experiments of a real or a simulated host."""

    def __init__(
        self,
        host: Host,
        clock: Clock,
        profile: Profile | None,
        environ: Mapping[str, str],
        memory: Memory | None,
        reports: Path | None,
    ) -> None:
        """`reports`: the folder for written reports; None: none are written."""
        self._host, self._clock, self._profile, self._environ = host, clock, profile, environ
        self._memory, self._reports = memory, reports

    def plans(self) -> Sequence[tuple[str, str]]:
        """The plans that there are: of the host's units, shipped and own; one that is wrong says so."""
        from specconsole import resources
        from specconsole.experiment.own_units import WHAT
        from specconsole.experiment.plan import KIND, named, names

        def said(name: str) -> str:
            try:
                plan = named(name)
            except ConfigError as error:
                return f"✖ {error}"
            return plan.description or " → ".join(plan.order)

        files = resources.find(KIND)
        return [(name, said(name) if name in files else WHAT) for name in names()]

    async def fit(self, name: str) -> Prepared:
        """What a plan would do on the host as it is now; the units are read anew."""
        from specconsole.experiment import own_units, prepare
        from specconsole.service.discover import discover

        units = await discover(self._host, self._profile)
        asked = own_units.named(name, units)
        return await prepare.fit(self._host, asked, units, self._profile, self._memory)

    async def begin(self, made: Prepared) -> str:
        """Hand it to the host; returns its id."""
        from specconsole.experiment.hand_over import hand_over

        return await hand_over(self._host, made, self._profile, self._memory, self._environ)

    async def resume(self, ident: str) -> None:
        """Let one go on that was interrupted."""
        from specconsole.experiment.hand_over import resume

        await resume(self._host, ident, self._profile, self._environ)

    async def follow(self, ident: str) -> AsyncGenerator[Standing, None]:
        """How it stands after each change, from its first event on, until it is over."""
        from specconsole.experiment.watch import watch

        async with aclosing(watch(self._host, ident, self._clock)) as changes:
            async for standing in changes:
                yield standing

    async def cancel(self, ident: str) -> bool:
        """Ask it to end; False: it is over."""
        from specconsole.experiment import carry

        return await carry.cancel(self._host, ident)

    async def known(self) -> tuple[Lying, ...]:
        """The experiments that lie on the host, oldest first."""
        from specconsole.host.lying import lying

        return await lying(self._host)

    async def report(self, ident: str, forget: bool) -> Reported:
        """Fetch it, remember its runs, write its report; `forget`: the host need not keep one that is whole."""
        from specconsole.experiment import carry, fetch, kept, report

        found = await fetch.fetch(self._host, ident, self._memory)
        folder = self._reports / f"{Path(str(found.plan.get('name'))).name}-{ident}" if self._reports else None

        def judged() -> tuple[tuple[str, ...], tuple[Comparison, ...], str]:
            trouble = report.written(folder, found) if folder else "nothing is kept on this machine"
            return report.answer(found), report.compared(found).comparisons, trouble

        # Statistics over tens of thousands of stamps take a second in which the screen would not move.
        answer, comparisons, trouble = await asyncio.to_thread(judged)
        runs: tuple[int, ...] = ()
        if self._memory:
            await kept.remember(self._host, found, self._memory)
            runs = await kept.numbers(self._host, found, self._memory)
        if forget and found.whole and not trouble:
            await carry.forget(self._host, ident)
        path = "" if trouble or folder is None else str(folder / report.REPORT)
        return Reported(ident, answer, comparisons, path, trouble, runs)

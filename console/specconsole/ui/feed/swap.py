"""What the app asks of the domain for swaps of one host; everything is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from specconsole.clock import Clock
from specconsole.host.base import Host
from specconsole.service.unit import Unit

if TYPE_CHECKING:
    from specconsole.engine.key import ApiKey
    from specconsole.history.memory import Memory
    from specconsole.profile import Profile
    from specconsole.remote.swap_record import Story
    from specconsole.service.plan import Plan
    from specconsole.service.swap import Known, SwapView


@dataclass(frozen=True)
class Prepared:
    """A plan, and the key that proves its end; the key is in no plan."""

    plan: Plan
    key: ApiKey | None


class Swaps(Protocol):
    """Plans, begins, follows and answers swaps; each raises the domain's errors."""

    async def plan(self, unit: Unit, action: str) -> Prepared:
        """What swap, start, stop or restart of that unit would do now."""
        ...

    async def begin(self, prepared: Prepared) -> str:
        """Hand it to the host; returns its id."""
        ...

    def follow(self, ident: str) -> AsyncGenerator[SwapView, None]:
        """How it stands after each change, from the first step on, until it is over."""
        ...

    async def cancel(self, ident: str) -> bool:
        """Ask it to roll back; False: it is over."""
        ...

    async def answer(self, ident: str, what: str, said: str) -> bool:
        """Answer its question; False: it is over."""
        ...

    async def known(self) -> Known:
        """What the host's record tells."""
        ...


class HostSwaps:
    """The swaps of a real or a simulated host."""

    def __init__(
        self, host: Host, clock: Clock, profile: Profile | None, environ: Mapping[str, str], memory: Memory | None
    ) -> None:
        self._host, self._clock, self._profile, self._environ = host, clock, profile, environ
        self._memory = memory

    async def plan(self, unit: Unit, action: str) -> Prepared:
        """What swap, start, stop or restart of that unit would do now; the units are read anew."""
        from specconsole.host.errand import new_id
        from specconsole.service import choose, inspection, prepare
        from specconsole.service.discover import discover
        from specconsole.service.plan import of_profile
        from specconsole.service.secret import api_key

        units = await discover(self._host, self._profile)
        target = choose.named(units, unit.key)
        key = await api_key(self._host, target, self._profile, self._environ)
        plan = await prepare.plan(
            self._host,
            units,
            target,
            action,
            new_id(),
            choices=of_profile(self._profile),
            memory=self._memory,
            api_key=key,
            findings=() if action == "stop" else await inspection.of_target(self._host, units, target, self._memory),
        )
        return Prepared(plan, key)

    async def begin(self, prepared: Prepared) -> str:
        """Hand it to the host; returns its id."""
        from specconsole.service import swap

        return await swap.begin(self._host, prepared.plan, prepared.key)

    async def follow(self, ident: str) -> AsyncGenerator[SwapView, None]:
        """How it stands after each change, from the first step on, until it is over; then it is remembered."""
        from specconsole.service import swap

        async with aclosing(swap.follow(self._host, ident, self._clock)) as views:
            async for view in views:
                if view.over:
                    await self._remember(view.story)
                yield view

    async def cancel(self, ident: str) -> bool:
        """Ask it to roll back; False: it is over."""
        from specconsole.service import swap

        return await swap.cancel(self._host, ident)

    async def answer(self, ident: str, what: str, said: str) -> bool:
        """Answer its question; False: it is over."""
        from specconsole.service import swap

        return await swap.answer(self._host, ident, what, said)

    async def known(self) -> Known:
        """What the host's record tells; swaps that nobody saw from here are remembered too."""
        from specconsole.service import swap

        known = await swap.latest(self._host)
        await self._remember(*known.stories)
        return known

    async def _remember(self, *stories: Story) -> None:
        from specconsole.service.swap import remembered

        name = self._host.facts.hostname if self._host.facts else self._host.name
        if self._memory is not None:
            for story in stories:
                await self._memory.put_swap(remembered(name, story))

"""The loads that a verb sees happen while something else is its business: told as `watch` tells them, and remembered."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from specconsole.errors import NotRunning, SpecConsoleError
from specconsole.history.memory import Memory
from specconsole.host.base import Host, hostname
from specconsole.load.estimate import Estimate
from specconsole.profile import Profile
from specconsole.text import one_line
from specconsole.verb.watch import Story, patient

if TYPE_CHECKING:
    from specconsole.service.start import Standing

SETTLE_S = 15.0
"""So long, by the viewer's clock, a load that is over for who made it may take to be so for who only looks on."""

Tell = Callable[[str, "Standing", Estimate], None]
"""Is told what is new of a load: the event's name as `watch` has it, how the start stands, when it will be ready."""


class Witness:
    """Follows each start that it is pointed at, once, by itself."""

    def __init__(
        self,
        host: Host,
        profile: Profile | None,
        memory: Memory,
        *,
        tell: Tell = lambda *_: None,
        trouble: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._host, self._profile, self._memory = host, profile, memory
        self._tell, self._trouble = tell, trouble
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}

    def see(self, started: Sequence[tuple[str, str]]) -> None:
        """Follow those of these starts, pairs of unit key and invocation, that are not followed yet."""
        for key, invocation in started:
            if (key, invocation) not in self._tasks:
                self._tasks[key, invocation] = asyncio.create_task(self._tried(key, self._follow(key, invocation)))

    def see_swap(self, ident: str) -> None:
        """Follow the starts that a swap makes, which somebody else began."""
        if ("swap", ident) not in self._tasks:
            self._tasks["swap", ident] = asyncio.create_task(self._tried(f"swap {ident}", self._starts_of(ident)))

    async def __aenter__(self) -> Witness:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end(0)

    async def end(self, settle_s: float = SETTLE_S) -> None:
        """Give what goes on a moment to come to its end, and look on no more."""
        tasks = self._tasks.values()
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=settle_s)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def _tried(self, what: str, work: Awaitable[None]) -> None:
        try:
            await work
        except NotRunning:
            return  # it is over before it was looked at: who made it tells why
        except SpecConsoleError as error:
            self._trouble(f"The load of {one_line(what)} cannot be followed: {error}")

    async def _starts_of(self, ident: str) -> None:
        from specconsole.service import swap

        async with aclosing(swap.follow(self._host, ident, self._host.clock)) as views:
            async for view in views:
                self.see(view.story.started)

    async def _follow(self, key: str, invocation: str) -> None:
        from specconsole.service import choose, start, start_follow, start_kept
        from specconsole.service.discover import discover
        from specconsole.service.secret import api_key

        host, clock = self._host, self._host.clock
        units = await patient(host, clock, lambda: discover(host, self._profile))
        unit = choose.named_running(units, key, host.name)
        if unit.state.invocation != invocation:
            return  # of a start that is over: the one that runs now is another matter
        secret = None
        if not host.read_only:
            secret = await patient(host, clock, lambda: api_key(host, unit, self._profile, os.environ))
        story = Story(host, as_json=False, unit=unit, clock=clock, say=self._tell)
        story.past = await self._memory.loads(hostname(host), unit.key)
        standings = start_follow.follow(host, unit, clock=clock, profile=self._profile, api_key=secret, past=story.past)
        async with aclosing(standings) as changes:
            async for standing in changes:
                attempt = standing.attempt
                if attempt.invocation != invocation:
                    return
                if story.tell(standing) and (entry := start_kept.remembered(host, unit, attempt, standing.why)):
                    await self._memory.put_load(entry)
                if start.settled(attempt):
                    return

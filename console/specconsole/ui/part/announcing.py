"""Loads that end or hang while the console watches: told to the terminal, and to the operator's commands and address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.service.hook import Hooks

if TYPE_CHECKING:
    from specconsole.clock import Clock
    from specconsole.load.announce import Ended
    from specconsole.load.verdict import Verdict
    from specconsole.service.start import Follower


@dataclass
class Announcer:
    """Tells each end once, of starts that were seen to load."""

    host: str
    clock: Clock
    hooks: Hooks = field(default_factory=Hooks)
    environ: Mapping[str, str] = field(default_factory=dict)
    """The console's own: it says which terminal this is, and a command gets it."""
    _loading: dict[str, str] = field(default_factory=dict)
    """The invocation of each unit that was seen to load and has not ended."""
    _stuck: dict[str, str] = field(default_factory=dict)
    """The invocation of each unit that was told to hang."""

    def changed(self, attempt: LoadTimeline) -> bool:
        """Take in that a start came to another stage; True when it is an end to be told."""
        from specconsole.service.start import settled

        if not settled(attempt):
            if not attempt.late:
                self._loading[attempt.unit] = attempt.invocation
            return False
        return self._loading.get(attempt.unit) == attempt.invocation and bool(self._loading.pop(attempt.unit))

    async def tell(
        self, follower: Follower, attempt: LoadTimeline, write: Callable[[str], None], complain: Callable[[str], None]
    ) -> None:
        """Tell of an end: the terminal by `write`, which takes escape sequences, then the hooks; `complain` of those."""
        from specconsole.load.announce import ended
        from specconsole.service.start_follow import LAST_WORDS_S

        if attempt.stage is Stage.FAILED:
            await self.clock.sleep(LAST_WORDS_S * self.clock.speed)  # the lines that say why come after the end
        if end := ended(self.host, attempt, follower.insight.diagnosis):
            await self.say(end, write, complain)

    def hangs(self, attempt: LoadTimeline, verdict: Verdict | None) -> Ended | None:
        """Take in what is thought of a start; that it hangs, where that is to be told now: once a start."""
        from specconsole.load.announce import stuck

        found = stuck(self.host, attempt, verdict)
        if found is None or self._stuck.get(attempt.unit) == attempt.invocation:
            return None
        self._stuck[attempt.unit] = attempt.invocation
        return found

    async def say(self, end: Ended, write: Callable[[str], None], complain: Callable[[str], None]) -> None:
        """Tell the terminal, then the hooks."""
        from specconsole.load.announce import attention
        from specconsole.service.hook import fire

        write(attention(end, self.environ))
        for said in await fire(self.hooks, end, self.environ):
            complain(said)

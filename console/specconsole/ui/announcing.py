"""Loads that end while the console watches: told to the terminal, and to the operator's commands and address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from specconsole.clock import Clock
from specconsole.load.announce import Ended, attention, ended
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.service.hook import Hooks, fire
from specconsole.service.start import LAST_WORDS_S, Follower, settled


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

    def changed(self, attempt: LoadTimeline) -> bool:
        """Take in that a start came to another stage; True when it is an end to be told."""
        if not settled(attempt):
            if not attempt.late:
                self._loading[attempt.unit] = attempt.invocation
            return False
        return self._loading.get(attempt.unit) == attempt.invocation and bool(self._loading.pop(attempt.unit))

    async def tell(
        self, follower: Follower, attempt: LoadTimeline, write: Callable[[str], None], complain: Callable[[str], None]
    ) -> None:
        """Tell of an end: the terminal by `write`, which takes escape sequences, then the hooks; `complain` of those."""
        if attempt.stage is Stage.FAILED:
            await self.clock.sleep(LAST_WORDS_S)  # the lines that say why come after the end
        end: Ended | None = ended(self.host, attempt, follower.insight.diagnosis)
        if end is None:
            return
        write(attention(end, self.environ))
        for said in await fire(self.hooks, end, self.environ):
            complain(said)

"""A start that was written as phases, as a `Script`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property

from specconsole.host.simulated.page import Page, Values
from specconsole.host.simulated.scenario.body import Body
from specconsole.host.simulated.scenario.pace import Pace, WrittenDrafts
from specconsole.host.simulated.scenario.phase import STAMP, Phase
from specconsole.host.simulated.scenario.stop import after_serving, while_loading
from specconsole.host.simulated.scenario.traffic import Traffic
from specconsole.host.simulated.script import Ending, Facts, Request, Sample

_PERIOD_S = 60.0
"""The traffic of a server repeats after this."""
_QUIET_S = 8.0
"""From ready to its first request."""


@dataclass(frozen=True)
class Written:
    """One start."""

    name: str
    command: str
    """The main process's title."""
    phases: tuple[Phase, ...]
    pace: Pace
    facts: Facts
    serves: bool = True
    """After the last phase it answers."""
    fate: Ending | None = None
    """How it ends by itself."""
    seed: int = 0
    memory: int = 2**40
    """Bytes of the host's memory."""
    busy: bool = True
    """There is traffic once it answers."""
    spawned: float = field(default=0.0, init=False)

    @property
    def main_pid(self) -> int:
        """The API server."""
        return self._body.pid("api")

    @cached_property
    def _body(self) -> Body:
        return Body(self.phases, self.command, self.seed, self.memory)

    @cached_property
    def _traffic(self) -> Traffic:
        return Traffic(self.pace, self.facts, self.ready or 0.0, _QUIET_S, _PERIOD_S, self.seed, busy=self.busy)

    @property
    def ready(self) -> float | None:
        """When it answers."""
        return self._body.length if self.serves else None

    @property
    def again(self) -> float:
        """From here to `served` its traffic may be repeated."""
        return (self.ready or 0.0) + _QUIET_S

    @property
    def served(self) -> float:
        """Where the traffic begins again."""
        return self.again + _PERIOD_S

    def stopped(self, at: float) -> Ending:
        """How it ends after SIGTERM."""
        if self.ready is not None and at >= self.ready:
            return after_serving(self._body)
        return while_loading(self._body, at)

    @property
    def said(self) -> Sequence[tuple[float, bytes]]:
        """What it prints."""
        return self._said

    @cached_property
    def _said(self) -> Sequence[tuple[float, bytes]]:
        lines = [*self._body.lines]
        if self.ready is not None:
            lines += [(at, self._body.prefixed("api", text)) for at, text in self._traffic.lines]
        return sorted(lines, key=lambda item: item[0])

    def dated(self, line: bytes, moment: float) -> bytes:
        """A line with the time of its moment."""
        form = STAMP.encode()
        if form not in line:
            return line
        return line.replace(form, datetime.fromtimestamp(moment, timezone.utc).strftime(STAMP).encode())

    def sample(self, at: float) -> Sample:
        """The machine under it."""
        if self.fate is not None and at >= self.fate.exit_s:
            left = replace(self.fate, exit_s=0.0, gone_s=self.fate.gone_s - self.fate.exit_s)
            return self._body.stopping(self._body.loading(self.fate.exit_s), left, at - self.fate.exit_s)
        if self.ready is None or at < self.ready:
            return self._body.loading(at)
        running = sum(request.at <= at < request.end for request in self.requests)
        return self._body.serving(at, self._traffic.busy_s(at), running, speculates=self.pace.speculates)

    def stopping(self, at: float, since_s: float) -> Sample:
        """The machine so long after SIGTERM: memory comes back bit by bit while the processes go."""
        return self._body.stopping(self.sample(at), self.stopped(at), since_s)

    def alone(self, since_s: float, streams: int) -> Sample:
        """The machine under so many requests of the demo's user."""
        at = (self.ready or 0.0) + since_s
        return self._body.serving(at, 0.0, streams, speculates=self.pace.speculates)

    def cpu_s(self, at: float) -> float:
        """CPU seconds of all its processes by then."""
        busy_s = self._traffic.busy_s(at) if self.ready is not None and at > self.ready else 0.0
        return self._body.cpu_s(at, busy_s)

    @property
    def requests(self) -> Sequence[Request]:
        """Its traffic."""
        return self._traffic.requests if self.ready is not None else ()

    @property
    def page(self) -> Page:
        """Its page of metrics."""
        return self._traffic.page

    def values(self, at: float) -> Values:
        """The values of the page then."""
        return self._traffic.values(at)

    def pattern(self, text: str, number: int | None, streams: int, heat: float, nth: int) -> Request:
        """The pace of an answer."""
        return self.pace.pattern(text, number, streams, heat, nth, self.seed)

    def drafts(self, pattern: Request, carry: dict[str, float]) -> WrittenDrafts | None:  # noqa: ARG002
        """What becomes of the drafts: it stands in the pattern."""
        return WrittenDrafts(pattern) if self.pace.speculates else None

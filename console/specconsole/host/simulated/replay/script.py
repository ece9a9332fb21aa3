"""One start of a bundle, as a `Script`: only what the bundle knows; the rest is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specconsole.host.simulated.page import Page, Values
from specconsole.host.simulated.replay.starts import Start
from specconsole.host.simulated.script import Drafts, Ending, Facts, Request, Room, Sample


@dataclass(frozen=True)
class Replayed:
    """A start that happened elsewhere. Its lines stand in the journal by the story, its samples come as whole frames."""

    start: Start
    command: str
    models: Mapping[str, Any]
    version: str
    said: Sequence[tuple[float, bytes]] = ()
    requests: Sequence[Request] = ()
    spawned: float = 0.0

    @property
    def name(self) -> str:
        """The start's id."""
        return self.start.invocation

    @property
    def main_pid(self) -> int:
        """The process that systemd started; 0: not known."""
        return self.start.main_pid

    @property
    def facts(self) -> Facts:
        """What the unit's command says that it serves."""
        return Facts(self.version, self.models)

    @property
    def ready(self) -> float | None:
        """When it answered, by its log."""
        return None if self.start.ready is None else self.start.ready - self.start.began

    @property
    def again(self) -> float:
        """There is no traffic to repeat."""
        return 0.0

    @property
    def served(self) -> float:
        """Its story has one end."""
        return float("inf")

    @property
    def fate(self) -> Ending | None:
        """How it ended."""
        return self.start.fate

    def stopped(self, at: float) -> Ending:  # noqa: ARG002
        """Nobody may stop it; it would be gone at once."""
        return Ending(0.0, 0.0)

    def dated(self, line: bytes, moment: float) -> bytes:  # noqa: ARG002
        """A line as it is."""
        return line

    def sample(self, at: float) -> Sample:
        """Nothing: frames come whole."""
        return Sample(at, (), Room(0, 0, 0.0, 0))

    def stopping(self, at: float, since_s: float) -> Sample:
        """Likewise."""
        return self.sample(at + since_s)

    def alone(self, since_s: float, streams: int) -> Sample:  # noqa: ARG002
        """Likewise."""
        return self.sample(since_s)

    def cpu_s(self, at: float) -> float:  # noqa: ARG002
        """Not kept."""
        return 0.0

    @property
    def page(self) -> Page:
        """Pages come whole."""
        return Page("")

    def values(self, at: float) -> Values:  # noqa: ARG002
        """Likewise."""
        return ()

    def pattern(self, text: str, number: int | None, streams: int, heat: float, nth: int) -> Request:
        """No request is answered."""
        raise NotImplementedError

    def drafts(self, pattern: Request, carry: dict[str, float]) -> Drafts | None:  # noqa: ARG002
        """Likewise."""
        return None

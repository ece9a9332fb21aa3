"""Whether a command's speculation will work: what the host's vLLM refuses, and what it changes without a word; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from specconsole.service import arguments, launch
from specconsole.service.arguments import Arguments
from specconsole.service.checkpoint import Checkpoint
from specconsole.service.finding import Finding
from specconsole.service.launch import Files, Launch


@dataclass(frozen=True)
class Neighbour:
    """Another unit of the host that listens somewhere."""

    key: str
    port: int | None
    """None: not known, or a socket file."""
    running: bool
    stopped_by_start: bool
    """Starting the unit stops it (Conflicts=, either way)."""


@dataclass(frozen=True)
class Facts:
    """What is known of a definition: of a unit that is there, or of one that is to be written."""

    launch: Launch = field(repr=False)
    """Where vLLM starts in its effective command."""
    given: Arguments = field(repr=False)
    """vLLM's own arguments, those of a --config file included."""
    version: str | None = None
    """vLLM's, from the environment's dist-info or the image's tag; None: not known."""
    target: Checkpoint | None = None
    """The served model; None: not looked at, or not on this host."""
    drafter: Checkpoint | None = None
    """The speculative model; None: none is named, not looked at, or not on this host."""
    neighbours: tuple[Neighbour, ...] = ()

    @property
    def environment(self) -> Mapping[str, str]:
        """What vLLM sees."""
        return self.launch.environment


def facts(
    argv: Sequence[str],
    environment: Mapping[str, str],
    files: Files,
    *,
    complete: bool = True,
    version: str | None = None,
    target: Checkpoint | None = None,
    drafter: Checkpoint | None = None,
    neighbours: Sequence[Neighbour] = (),
) -> Facts | None:
    """Read an effective command (secrets and all); None: it does not start vLLM."""
    found = launch.find(argv, environment, files, complete=complete)
    if found is None:
        return None
    given = arguments.parse(found.arguments, Files().read if found.container else files.read)
    return Facts(found, given, version, target, drafter, tuple(neighbours))


def check(known: Facts) -> tuple[Finding, ...]:
    """Everything there is to say of its speculation, refusals first; () for a unit without speculation and trouble."""
    del known
    return ()

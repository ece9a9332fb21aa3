"""What can go wrong, as a tree; the front ends show title, detail and hint, never a traceback.

SpecConsoleError
├── UsageError            2   the command line or the input makes no sense
├── ConfigError           2   a profile, theme or settings file is wrong
├── HostError             1   something failed on a host
│   ├── LinkRefused       4   the host answered no: key, password, host key
│   ├── LinkLost          4   the link broke; a stream that was open ended early
│   ├── DeadlineExceeded  1   a command did not answer in its time
│   ├── CommandFailed     1   a command answered with an error
│   └── NotPermitted      1   the rights that we have do not allow it
├── CannotWrite           1   our own output is not taken: a full disk, a closed standard output
├── NotRunning            3   the unit or the engine is not there to be asked
└── Inconclusive          5   timed out, not comparable, or not enough evidence
"""

from __future__ import annotations

from typing import ClassVar


class SpecConsoleError(Exception):
    """A failure that a person can act on: what failed and where, and what to try next."""

    exit_code: ClassVar[int] = 1
    """The exit code of a command that ends with this error (design §10)."""

    def __init__(self, title: str, detail: str = "", hint: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return " ".join(part for part in (self.title, self.detail, self.hint) if part)


class UsageError(SpecConsoleError):
    """The command line or its input makes no sense."""

    exit_code = 2


class ConfigError(SpecConsoleError):
    """A profile, a theme or the settings file is wrong; the title names file and key."""

    exit_code = 2


class HostError(SpecConsoleError):
    """Something failed on, or on the way to, a host."""


class LinkRefused(HostError):
    """The host answered no, so trying again by itself would be wrong."""

    exit_code = 4


class LinkLost(HostError):
    """The link broke while something was using it; what was streamed can be resumed."""

    exit_code = 4


class DeadlineExceeded(HostError):
    """A command on the host did not end in its time and was ended."""


class CommandFailed(HostError):
    """A command on the host ended with an error."""


class NotPermitted(HostError):
    """The rights that this login has do not allow it."""


class CannotWrite(SpecConsoleError):
    """What we have to say cannot be written where it is to go."""


class NotRunning(SpecConsoleError):
    """The unit or engine asked for does not run."""

    exit_code = 3


class Inconclusive(SpecConsoleError):
    """Timed out, not comparable, or not enough evidence for an answer."""

    exit_code = 5

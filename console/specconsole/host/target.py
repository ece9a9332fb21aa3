"""Where a host is: what the user typed after the verb, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

from specconsole.errors import UsageError

LOCAL_NAMES = ("localhost", "local")
"""Typed without a user or a port, these mean this machine, without SSH."""

DEMO_NAME = "demo"
"""The simulated host."""
TOUR = "h200"
"""The scenario that is meant where none is said: recorded starts, one after the other."""
SLOWEST, FASTEST = 1.0, 600.0
"""How fast its time may pass."""

_FASTER = re.compile(rf"{DEMO_NAME}@\d{{1,4}}(\.\d+)?")
# A leading "-" would be taken for an option by a program that gets the name.
_WORD = re.compile(r"[^\s\x00-\x1f\x7f-][^\s\x00-\x1f\x7f]*")


@dataclass(frozen=True)
class Target:
    """A host to reach: an alias of the SSH configuration or an address, with what was said beside it."""

    text: str
    """What the user typed; the host's name on the screen."""
    host: str
    """An alias, a host name or an address; an IPv6 address without its brackets."""
    user: str | None = None
    port: int | None = None


def parse(text: str) -> Target:
    """Take apart `[user@]host[:port]`, also with `ssh://` before it and with IPv6 addresses, bare or in brackets.

    Raises:
        UsageError: it is not of that form, or the port is not between 1 and 65535.
    """
    typed = text.strip()
    user, at, place = typed.removeprefix("ssh://").removesuffix("/").rpartition("@")
    host, port = _host_and_port(place)
    if not _WORD.fullmatch(host) or (at and not _WORD.fullmatch(user)):
        raise UsageError(f"{typed!r} is no host.", hint="Give an alias of ~/.ssh/config, HOST or USER@HOST[:PORT].")
    if port is not None and not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise UsageError(f"{port!r} is no port.", hint="Ports are numbers from 1 to 65535.")
    return Target(typed, host, user or None, int(port) if port else None)


@dataclass(frozen=True)
class Demo:
    """A simulated host, as it was asked for."""

    scenario: str = ""
    """"": the one that shows the most in a moment."""
    unit: str = ""
    """The unit that serves when it opens; "": as the scenario has it."""
    speed: float | None = None
    """How fast its time passes; None: as the scenario has it."""

    @property
    def text(self) -> str:
        """As it is typed: demo:normal:ngram@60."""
        parts = ":".join(part for part in (DEMO_NAME, self.scenario, self.unit) if part)
        return parts if self.speed is None else f"{parts}@{self.speed:g}"

    @property
    def host(self) -> str:
        """The host that it shows, by its own name: demo:normal. The history has it by that, at any speed."""
        return f"{DEMO_NAME}:{self.scenario or TOUR}"


def demo(text: str) -> Demo | None:
    """Take apart `demo[:SCENARIO[:UNIT]][@SPEED]`; None: it means a machine.

    `demo:22` is a host of that name, `demo@gpu-1` somebody of that name there; a bare number is no host, but a speed.

    Raises:
        UsageError: the speed is no number.
    """
    name, colon, rest = text.strip().partition(":")
    if not colon and _FASTER.fullmatch(name):
        name, colon, rest = DEMO_NAME, ":", name.removeprefix(DEMO_NAME)
    if name != DEMO_NAME or (colon and (not rest or rest.isdecimal())):
        return None
    asked, at, speed = rest.partition("@")
    scenario, _, unit = asked.partition(":")
    try:
        return Demo(scenario, unit, float(speed) if at else None)
    except ValueError as error:
        raise UsageError(
            f"{speed!r} is no speed.", hint=f"Write {DEMO_NAME}:{scenario}@60 for 60 times as fast."
        ) from error


def _host_and_port(place: str) -> tuple[str, str | None]:
    if place.startswith("["):
        host, closed, rest = place[1:].partition("]")
        return host if closed else "", rest.removeprefix(":") if rest else None
    if place.count(":") != 1:
        return place, None
    host, _, port = place.partition(":")
    return host, port

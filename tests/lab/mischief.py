"""What befalls a host, a link and a console in a long night; each deed by chance, and by its seed always the same."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specconsole.ui.commands import COMMANDS
from tests.lab.host import LabHost

LEAVING = {"q", "ctrl+c"}
KEYS = sorted({key for one in COMMANDS for key in one.keys.split(",")} - LEAVING)
QUESTIONS = ("y", "enter", "escape", "y")
"""Pressed more often than chance would: what is asked is to be answered, too."""
TYPED = "eror 0:9[(*\\é界"


Deed = Callable[[], Awaitable[None]]


@dataclass
class Deeds:
    """Deeds, drawn by chance and done one after the other."""

    chance: random.Random
    pilot: Any
    """Of the console's screen."""
    story: list[str] = field(default_factory=list)
    """What was done so far, and what is done now."""
    over: bool = False
    """What is done now is the last."""

    def all(self) -> Sequence[tuple[int, str, Deed]]:
        """The deeds, with their weights and names."""
        raise NotImplementedError

    async def go_on(self) -> None:
        """Do one after the other until it is over, or the console is."""
        deeds = self.all()
        while not self.over and self.pilot.app.is_running:
            _, name, deed = self.chance.choices(deeds, [weight for weight, _, _ in deeds])[0]
            self.story.append(name)
            await deed()

    async def rest(self) -> None:
        """Time for a load to go on."""
        await asyncio.sleep(self.chance.uniform(1, 6))


class Hands(Deeds):
    """What somebody does at the console."""

    def all(self) -> Sequence[tuple[int, str, Deed]]:
        """Keys, the window, a pause."""
        return ((12, "keys", self.keys), (3, "resize storm", self.resize), (3, "nothing", self.rest))

    async def keys(self) -> None:
        """Keys by chance; what opens a line to type in gets typed in."""
        for _ in range(self.chance.randint(1, 25)):
            keys = self.chance.choice((KEYS, KEYS, QUESTIONS, TYPED))
            key = self.chance.choice(keys)
            self.story[-1] += f" {key}"
            self.pilot.app.simulate_key(key)
            await self.pilot.pause(0)
            if self.chance.random() < 0.2:
                await asyncio.sleep(self.chance.random())

    async def resize(self) -> None:
        """A window that is dragged."""
        for _ in range(self.chance.randint(5, 40)):
            size = (self.chance.randint(4, 220), self.chance.randint(3, 70))
            await self.pilot.resize_terminal(*size)
            await asyncio.sleep(self.chance.random() * 0.05)
        await self.pilot.resize_terminal(120, 40)


@dataclass
class Fate(Deeds):
    """What befalls the host, the link and both disks."""

    host: LabHost = field(kw_only=True)
    units: tuple[str, ...] = field(kw_only=True)
    ours: Path = field(kw_only=True)
    """A small disk of the console's own."""

    def all(self) -> Sequence[tuple[int, str, Deed]]:
        """Other hands, crashes, the link, floods, disks, the host itself."""
        return (
            (8, "systemctl", self.systemctl),
            (5, "crash", self.crash),
            (5, "sessions cut", self.cut),
            (4, "cable out", self.unplug),
            (5, "flood", self.flood),
            (2, "the host's disk full", self.fill_theirs),
            (3, "our disk full", self.fill_ours),
            (1, "reboot", self.reboot),
            (1, "power failure", self.power),
            (12, "nothing", self.rest),
        )

    async def run(self, command: str) -> str:
        """Run a command on the host past SSH; a host that is just down is no error."""
        with suppress(AssertionError, OSError):
            return (await asyncio.to_thread(self.host.run, command, check=False)).stdout
        return ""

    async def systemctl(self) -> None:
        """Somebody else's hand."""
        verb, unit = self.chance.choice(("start", "start", "start", "stop", "restart")), self.chance.choice(self.units)
        self.story[-1] += f" {verb} {unit}"
        await self.run(f"systemctl reset-failed; systemctl --no-block {verb} {unit}")

    async def crash(self) -> None:
        """A process of a unit is killed: the server, the engine or a worker."""
        unit, which = self.chance.choice(self.units), self.chance.choice(("main", "all"))
        self.story[-1] += f" {which} of {unit}"
        await self.run(f"systemctl kill --kill-whom={which} -s KILL {unit}")

    async def cut(self) -> None:
        """All sessions end at once."""
        await asyncio.to_thread(self.host.cut_ssh)

    async def unplug(self) -> None:
        """Silence for a while."""
        seconds = self.chance.choice((0.5, 2.0, 6.0, 20.0))
        self.story[-1] += f" for {seconds:g} s"
        self.host.plug(up=False)
        try:
            await asyncio.sleep(seconds)
        finally:
            self.host.plug(up=True)

    async def flood(self) -> None:
        """The unit that runs prints thousands of lines."""
        for _ in range(self.chance.randint(1, 5)):
            await self.run("for u in " + " ".join(self.units) + "; do systemctl kill --kill-whom=main -s USR1 $u; done")
            await asyncio.sleep(0.3)

    async def fill_theirs(self) -> None:
        """No room on the host."""
        await self.run("dd if=/dev/zero of=/var/filler bs=1M count=4096 2>/dev/null")
        await asyncio.sleep(self.chance.uniform(1, 10))
        await self.run("rm -f /var/filler")

    async def fill_ours(self) -> None:
        """No room where the console keeps its history and its log."""
        filler = self.ours / "filler"
        with suppress(OSError), filler.open("wb") as file:
            while True:
                os.write(file.fileno(), bytes(65536))
        await asyncio.sleep(self.chance.uniform(1, 10))
        filler.unlink()

    async def reboot(self) -> None:
        """It goes down in order and comes up."""
        await asyncio.to_thread(self.host.reboot)

    async def power(self) -> None:
        """The plug is pulled."""
        await asyncio.to_thread(self.host.power, False)
        await asyncio.sleep(self.chance.uniform(1, 12))
        await asyncio.to_thread(self.host.power, True)

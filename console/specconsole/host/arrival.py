"""From a machine that is reached to a line that works: look who we are there, and start the lease with the best rights."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress

from specconsole.clock import Clock
from specconsole.errors import LinkLost, LinkRefused
from specconsole.host import interpreter, survey
from specconsole.host.bare import BareLine
from specconsole.host.base import Completed, Endpoint, HostFacts, Process, Program, Rights
from specconsole.host.blob import WORDS, blob, interpreter_argv
from specconsole.host.channel import Channel
from specconsole.host.lease import Lease, NotStarted, send_programs
from specconsole.host.line import Echo, Line, Note
from specconsole.host.machine import Machine, NotForwarded
from specconsole.host.relay import Streams, over_lease
from specconsole.stream import within
from specconsole.text import one_line

SURVEY_DEADLINE_S = 10.0
NOISE_KEPT = 64 * 1024
REASON_S = 0.2


async def arrive(machine: Machine, clock: Clock, name: str, *, silence_s: float = 30.0) -> Line:
    """Make a line of a machine.

    Raises:
        LinkLost: the link broke meanwhile, or it does not say what it is.
        LinkRefused: its login shell runs no commands.
    """
    work, end = asyncio.create_task(_arrive(machine, clock, name, silence_s)), asyncio.create_task(machine.gone())
    try:
        await asyncio.wait((work, end), return_when=asyncio.FIRST_COMPLETED)
        if not (work.done() and not work.exception() and isinstance(work.result(), LeaseLine)):
            # A link that breaks makes each step fail in a way of its own; itself it knows better why.
            await asyncio.wait((end,), timeout=REASON_S)
        if not end.done():
            return await work
        if work.done() and not work.exception():
            await work.result().close()
        raise LinkLost(end.result(), hint="Look at the network in between, and try again.")
    finally:
        for task in (work, end):
            task.cancel()
        await asyncio.gather(work, end, return_exceptions=True)


async def _arrive(machine: Machine, clock: Clock, name: str, silence_s: float) -> Line:
    # What the host gets takes 50 ms to pack, half of it without the interpreter's lock: that goes on while it answers.
    packing = asyncio.create_task(asyncio.to_thread(blob))
    channel = await machine.start(["sh", "-c", survey.SCRIPT, "sh", *WORDS])
    try:
        (found, said), _ = await asyncio.gather(look(channel, name), _send(channel, silence_s, packing))
    except BaseException:
        await channel.close()
        raise
    notes = list(machine.notes)
    if found.uid != 0 and not found.sudo:
        notes.append(Note("rights", f"sudo -n says: {found.sudo_reason or 'no'}"))
    python = found.python
    begun = (channel, said) if found.whole and python else None
    if not begun:
        await channel.close()
        python = python or await _spare(machine, found, name, notes)
    lease, rights = await _lease(machine, found, python, begun, clock, name, silence_s, notes)
    facts = HostFacts(
        hostname=found.hostname,
        user=found.user,
        uid=found.uid,
        rights=rights,
        boot_id=found.boot_id,
        python=python[1] if lease and python else None,
        python_version=str(lease.hello["python"]) if lease else "",
        groups=found.groups,
    )
    if not lease:
        return BareLine(machine, facts, tuple(notes), clock, name)
    line = LeaseLine(machine, lease, facts, tuple(notes))
    line.ping()
    return line


async def _send(channel: Channel, silence_s: float, packing: asyncio.Task[bytes]) -> None:
    await packing
    send_programs(channel, silence_s)


async def look(channel: Channel, name: str) -> tuple[survey.Survey, bytes]:
    """Read what the machine is, and what came behind it; raises as `arrive`."""
    # What it has said in time may be enough: sudo that hangs is the last of it.
    output = await _answer(channel, lambda said: survey.parse(said).whole)
    found = survey.parse(output)
    if found.uid < 0:
        said = one_line(" ".join(found.noise) or channel.stderr.decode(errors="replace"), 200)
        if not said:
            raise LinkLost(f"{name} does not say what it is.")
        raise LinkRefused(f"The login shell on {name} runs no commands.", f"It said: {said}")
    _, end, behind = output.partition(b"\nend\n")
    return found, behind if end else output


async def _answer(channel: Channel, whole: Callable[[bytes], bool]) -> bytes:
    """What a script printed until its answer was whole or its time was over."""
    output = bytearray()

    async def gather() -> None:
        while not whole(bytes(output)):
            data = await channel.read()
            if not data or len(output) > NOISE_KEPT:
                return
            output.extend(data)

    with suppress(asyncio.TimeoutError):
        await within(SURVEY_DEADLINE_S, gather())
    return bytes(output)


async def _spare(machine: Machine, found: survey.Survey, name: str, notes: list[Note]) -> tuple[str, str] | None:
    """An interpreter for where the system's own is too old: ours on this machine, else that of a vLLM unit."""
    if machine.python:
        return machine.python
    have = ", ".join(f"{path} is {version}" for version, path in found.pythons) or "there is none"
    if not found.whole:
        have = f"it did not say within {SURVEY_DEADLINE_S:.0f} s"
    channel = await machine.start(["sh", "-c", interpreter.SCRIPT])
    try:
        channel.close_input()
        output = await _answer(channel, lambda said: said.endswith(b"end\n"))
    finally:
        await channel.close()
    pythons, unsafe = interpreter.parse(output)
    chosen = survey.Survey(pythons=pythons).python
    if chosen:
        notes.append(
            Note("python", f"The system's Python is too old ({have}): {chosen[1]} of a unit runs our programs.")
        )
        return chosen
    others = "".join(f" {path} of a unit could be changed by others than root, so it is not run." for path in unsafe)
    notes.append(Note("python", f"There is no Python of 3.8 or newer on {name} ({have}).{others}"))
    return None


async def _lease(
    machine: Machine,
    found: survey.Survey,
    python: tuple[str, str] | None,
    begun: tuple[Channel, bytes] | None,
    clock: Clock,
    name: str,
    silence_s: float,
    notes: list[Note],
) -> tuple[Lease | None, Rights]:
    """A lease with the best rights; `begun` is the look's own channel, which became the first that is tried, and what it said."""
    own = Rights.ROOT if found.uid == 0 else Rights.USER
    best = Rights.SUDO if found.sudo else own
    if not python:
        return None, best
    argv = interpreter_argv(python[1])
    ways = [(own, argv)] if not found.sudo else [(Rights.SUDO, ["sudo", "-n", *argv]), (own, argv)]
    for rights, words in ways:
        channel, said = begun or (await machine.start(words), b"")
        if not begun:
            send_programs(channel, silence_s)
        begun = None
        lease = Lease(channel, clock, name, said)
        try:
            await lease.begin()
        except NotStarted as error:
            await lease.close()
            how = "with sudo " if rights is Rights.SUDO else ""
            notes.append(Note("python", f"{python[1]} did not start our programs {how}on {name}: {error.title}"))
            continue
        return lease, rights
    return None, best


class LeaseLine:
    """Implements `host.line.Line` over a machine and a lease on it."""

    def __init__(self, machine: Machine, lease: Lease, facts: HostFacts, notes: tuple[Note, ...]) -> None:
        self._machine = machine
        self._lease = lease
        self.facts = facts
        self.notes = notes

    @property
    def echo(self) -> Echo | None:
        """The last echo."""
        return self._lease.echo

    @property
    def heard_at(self) -> float:
        """Monotonic seconds of the last sign of life."""
        return self._lease.heard_at

    def ping(self) -> None:
        """Ask for an echo."""
        self._lease.ping()

    @property
    def is_broken(self) -> bool:
        """Whether the lease has ended."""
        return self._lease.is_broken

    async def broken(self) -> str:
        """Wait for the end of the lease or of the link, and say why."""
        ends = [asyncio.create_task(self._machine.gone()), asyncio.create_task(self._lease.broken())]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            # A lost link ends the lease, too, and knows better why.
            await asyncio.wait(ends[:1], timeout=REASON_S)
            return next(end.result() for end in ends if end.done())
        finally:
            for end in ends:
                end.cancel()
            await asyncio.gather(*ends, return_exceptions=True)

    async def close(self) -> None:
        """End the lease, its children, and the link."""
        await self._lease.close()
        await self._machine.hang_up()

    async def run(self, argv: Sequence[str], stdin: bytes, deadline_s: float) -> Completed:
        """As `Host.run`."""
        return await self._lease.run(argv, stdin, deadline_s)

    def process(self, what: Sequence[str] | Program) -> AbstractAsyncContextManager[Process]:
        """As `Host.process`."""
        return self._lease.process(what)

    async def connect(self, endpoint: Endpoint) -> Streams:
        """As `Host.connect`."""
        try:
            return await self._machine.connect(endpoint)
        except NotForwarded:
            return await over_lease(self._lease, endpoint)

"""The simulated host: `host.base.Host` over scripts. Nothing of it touches this machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from shlex import quote

from specconsole.clock import Clock, SystemClock
from specconsole.errors import CommandFailed, DeadlineExceeded, LinkLost, LinkRefused
from specconsole.host.base import Completed, Endpoint, HostFacts, Link, LinkKind, Program, Rights
from specconsole.host.simulated import carried, command, drive, files, fixture, http, journalctl, story
from specconsole.host.simulated.clock import ScaledClock
from specconsole.host.simulated.engine import PORTS, Engine
from specconsole.host.simulated.machine import Machine
from specconsole.host.simulated.probe import Probe
from specconsole.host.simulated.process import Output, SimulatedProcess
from specconsole.host.simulated.programs import PROGRAMS, Programs
from specconsole.host.simulated.site import Site
from specconsole.host.simulated.story import Story
from specconsole.stream import Latest

NOT_HERE = {
    "drive_source": "A simulated host has no load generator that could be off: its stamps are the script's. Ask a real host.",
}
"""Programs that would have no meaning on it, each with the reason."""
_ROUND_TRIP_S = 0.0004
_RETRY_S = 1.0
_STANDS_S, _PATIENCE_S = 3.0, 30.0
"""So many of the viewer's seconds time passes on after log and samples were first given, and at most without that: whoever
comes at the end of what is played finds its last state."""
_FRAMES_PER_SECOND = 20.0
"""The probe gives at most so many frames a second of the viewer's time, however fast that passes on the host."""
_LEAST_SLEEP_S = 0.1
"""However fast the host's time passes, followers poll at most so often by the viewer's own."""


class SimulatedHost:
    """A host on which servers start, serve and stop as scripts say, by a clock that may run fast."""

    def __init__(
        self,
        name: str = "demo",
        *,
        clock: Clock | None = None,
        site: Site | None = None,
        begin: Story = story.serving,
        cuts: Sequence[tuple[float, float]] = (),
        ends: float | None = None,
        read_only: bool = False,
        typed: str = "",
    ) -> None:
        """Make the host.

        `cuts` are losses of the link, each so many seconds after opening, for so many seconds; what it plays ends at
        `ends` (seconds since the epoch): from then on its time stands still.
        """
        self._time: Clock = clock or SystemClock()
        self.clock: Clock = self._time.coarse(_LEAST_SLEEP_S) if isinstance(self._time, ScaledClock) else self._time
        """The host's time, and the viewer's."""
        self.site = site or fixture.site()
        self.machine = Machine(self._time, self.site)
        self._name = name
        self.typed = typed or quote(name)
        """The words of a command that show such a host again."""
        self._begin = begin
        self._cuts = cuts
        self._ends = ends
        self.over = False
        """What it plays has ended."""
        self._read_only = read_only
        self._link = Latest(Link(LinkKind.CONNECTING, self.clock.monotonic()))
        self._tasks: set[asyncio.Task[None]] = set()
        self._processes: set[SimulatedProcess] = set()
        self._opened = False
        self._given: set[str] = set()
        """Of log and samples, what a viewer has had something of."""
        self._had = asyncio.Event()
        self._programs = Programs(self.machine, self.clock, self._speed, self._speed * _LEAST_SLEEP_S, self._spawn)
        self._carrier = carried.Carrier(self.machine, self._speed, self._spawn)

    @property
    def name(self) -> str:
        """The demo as it is typed, with its speed: demo:normal@60."""
        return self._name

    @property
    def link(self) -> Link:
        """The link's state now."""
        return self._link.value

    def links(self) -> AsyncGenerator[Link, None]:
        """Yield the link's state now and after each change."""
        return self._link.watch()

    @property
    def _speed(self) -> float:
        return self._time.speed if isinstance(self._time, ScaledClock) else 1.0

    @property
    def recorded(self) -> bool:
        """Its units are those of the recordings."""
        return self.site is fixture.site(len(self.site.cards))

    @property
    def facts(self) -> HostFacts | None:
        """What is known of the host."""
        return self._facts if self._opened else None

    @property
    def read_only(self) -> bool:
        """True when nothing may be started or stopped: asked for."""
        return self._read_only

    @property
    def read_only_asked(self) -> bool:
        """True when it was asked for."""
        return self._read_only

    async def open(self) -> None:
        """Set the machine up and let it live."""
        if not self._opened:
            self._opened = True
            self._begin(self.machine)
            self._spawn(self.machine.live())
            self._spawn(self._lose_at_times())
        self._up()

    async def close(self) -> None:
        """End everything."""
        self._set(LinkKind.CLOSED)
        for process in list(self._processes):
            process.end()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def retry(self) -> None:
        """It comes back by itself."""

    async def up(self) -> HostFacts:
        """Wait until the link is up."""
        watch = self.links()
        try:
            async for link in watch:
                if link.kind is LinkKind.UP:
                    break
                if link.kind in (LinkKind.REFUSED, LinkKind.CLOSED):
                    raise LinkRefused(f"The link to {self.name} is closed.")
        finally:
            await watch.aclose()
        return self._facts

    @property
    def _facts(self) -> HostFacts:
        return HostFacts(
            hostname=self.site.hostname,
            user="root",
            uid=0,
            rights=Rights.ROOT,
            boot_id=self.site.boot_id,
            python="/usr/bin/python3",
            python_version="3.12.3",
            groups=("root",),
            clock_skew_s=0.0,
        )

    async def _lose_at_times(self) -> None:
        opened = self._time.monotonic()
        for at, seconds in self._cuts:
            await self._time.sleep(max(opened + at - self._time.monotonic(), 0.0))
            self.cut(seconds)
        if self._ends is not None:
            await self._time.sleep(max(self._ends - self._time.now(), 0.0))
            await self._be_seen()
            self.over = True
            self.hold(True)

    @property
    def held(self) -> bool:
        """Its time stands still."""
        return isinstance(self._time, ScaledClock) and self._time.held

    def hold(self, held: bool) -> None:
        """Let its time stand still, or pass again; once what it plays is over it does not."""
        if isinstance(self._time, ScaledClock):
            self._time.hold(held or self.over)

    async def _be_seen(self) -> None:
        """Stay until a viewer who came late has had log and samples, and a little longer; not for ever."""
        seen, patience = (asyncio.ensure_future(one) for one in (self._had.wait(), self._viewer_sleeps(_PATIENCE_S)))
        try:
            await asyncio.wait((seen, patience), return_when=asyncio.FIRST_COMPLETED)
            if seen.done():
                await self._viewer_sleeps(_STANDS_S)
        finally:
            for task in (seen, patience):
                task.cancel()

    async def _viewer_sleeps(self, seconds: float) -> None:
        await self._time.sleep(seconds * self._speed)

    def _gave(self, what: str) -> None:
        self._given.add(what)
        if self._given >= {"log", "samples"}:
            self._had.set()

    def cut(self, seconds: float) -> None:
        """Lose the link for so many seconds of the demo's time."""
        now = self.clock.monotonic()
        self._link.set(Link(LinkKind.LOST, now, attempt=1, next_try=now + _RETRY_S, reason="The link was cut."))
        self._lose()
        self._spawn(self._mend(seconds))

    def _lose(self) -> None:
        for process in list(self._processes):
            process.lose()
        for task in [task for task in self._tasks if task.get_name() == "connection"]:
            task.cancel()

    async def _mend(self, seconds: float) -> None:
        await self._time.sleep(seconds)
        self._up()

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", deadline_s: float = 10.0) -> Completed:  # noqa: ARG002
        """Run a command; one that is not known ends with status 127. Raises as `Host.run`.

        The deadline counts the viewer's seconds: by the host's, at 60 times the speed, a machine that is busy for a
        sixth of a second would make a healthy command late.
        """
        self._need_link()
        work = asyncio.ensure_future(command.run(self.machine, argv))
        limit = asyncio.ensure_future(self._viewer_sleeps(deadline_s))
        try:
            await asyncio.wait((work, limit), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise DeadlineExceeded(f"{argv[0]} did not end within {deadline_s:g} s.")
        finally:
            for task in (work, limit):
                task.cancel()
            await asyncio.gather(work, limit, return_exceptions=True)
        self._need_link()
        return work.result()

    @asynccontextmanager
    async def process(self, what: Sequence[str] | Program) -> AsyncGenerator[SimulatedProcess, None]:
        """Start something long-lived; raises LinkLost."""
        self._need_link()
        process = SimulatedProcess(lambda stdin: self._output(what, stdin))
        self._processes.add(process)
        try:
            yield process
        finally:
            self._processes.discard(process)
            await process.aclose()

    async def _output(self, what: Sequence[str] | Program, stdin: asyncio.Queue[bytes]) -> Output:
        if isinstance(what, Program):
            if what.name == "probe":
                async for line in self._frames(dict(what.arguments), stdin):
                    yield line
                    self._gave("samples")
                return
            if what.name in carried.PROGRAMS:
                async for item in self._carrier.output(what.name, what.arguments, stdin):
                    yield item
                return
            if what.name == "drive":
                async for item in drive.drive(self.machine, what.arguments, stdin, self._speed):
                    yield item
                return
            if what.name in PROGRAMS:
                async for item in self._programs.run(what, stdin):
                    yield item
                return
            said = NOT_HERE.get(what.name, f"{what.name}: not recorded")
            yield command.NOT_RECORDED, f"{said}\n".encode()
            return
        words = command.unwrapped(what)
        if words and words[0].rpartition("/")[2] == "journalctl":
            with suppress(ValueError):  # what is not known there gets its status below
                asked = journalctl.query(self.machine, words[1:])
                if asked.follow:
                    async for data in journalctl.follow(self.machine, asked):
                        yield data
                        self._gave("log")
                    return
        done = await command.run(self.machine, what)
        if done.stdout:
            yield done.stdout
        yield done.status, done.stderr

    async def _frames(self, arguments: dict[str, object], stdin: asyncio.Queue[bytes]) -> AsyncGenerator[bytes, None]:
        """The probe: a frame a tick; what comes on its input changes interval and units at once."""
        probe = Probe(self.machine, arguments, lambda: self._speed / _FRAMES_PER_SECOND)
        probe.begin()
        self.machine.advance()
        hearing = asyncio.ensure_future(_hear(probe, stdin))
        try:
            while (line := await probe.lines.get()) is not None:
                yield line
        finally:
            probe.end()
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)

    async def connect(self, endpoint: Endpoint) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Reach the server that listens there, over a pair of sockets of this process. Raises as `Host.connect`."""
        self._need_link()
        self.machine.advance()
        unit = None if endpoint.uds else files.answering(self.machine).get(endpoint.port)
        if unit is None:
            raise ConnectionRefusedError(111, f"Nothing listens at {endpoint}.")
        ours, theirs = socket.socketpair()
        engine = Engine(self.machine, unit, next(PORTS))
        self._spawn(_serve(theirs, engine), name="connection")
        return await asyncio.open_connection(sock=ours)

    async def send_file(self, path: str, data: bytes, mode: int = 0o600) -> None:  # noqa: ARG002
        """Refuse: there is no place for files."""
        self._need_link()
        raise CommandFailed(f"{path} was not written.", "The simulated host has no place for files.")

    def _up(self) -> None:
        self._link.set(Link(LinkKind.UP, self.clock.monotonic(), round_trip_s=_ROUND_TRIP_S))

    def _set(self, kind: LinkKind) -> None:
        self._link.set(Link(kind, self.clock.monotonic()))

    def _need_link(self) -> None:
        if self.link.kind is not LinkKind.UP:
            raise LinkLost(f"The link to {self.name} is {self.link.kind.value}.")

    def _spawn(self, work: object, name: str = "machine") -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work, name=name)  # type: ignore[arg-type]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _hear(probe: Probe, stdin: asyncio.Queue[bytes]) -> None:
    while True:
        probe.hear(await stdin.get())


async def _serve(sock: socket.socket, engine: Engine) -> None:
    reader, writer = await asyncio.open_connection(sock=sock)
    try:
        await http.serve(reader, writer, engine.answer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

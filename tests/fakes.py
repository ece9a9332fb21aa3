"""A scripted host and a clock that moves by hand, for the tests of everything above `host/`.

`FakeHost` implements `host.base.Host`: commands are answered from a table of patterns, processes play scripts, the link
is cut and mended by calls, and `connect` reaches real asyncio servers of the test. What was asked is kept in `calls`.
"""

from __future__ import annotations

import asyncio
import fnmatch
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from specconsole.errors import CommandFailed, LinkLost, LinkRefused
from specconsole.host.base import Completed, Endpoint, Exit, HostFacts, Link, LinkKind, Program, Rights
from specconsole.stream import Latest

Reply = bytes | str | Completed | BaseException
Answer = Reply | Callable[[tuple[str, ...], bytes], Reply] | Sequence[Reply]
"""One reply for ever, a function of argv and stdin, or replies in turn of which the last one stays."""
Step = bytes | BaseException | Exit | asyncio.Event | Callable[["FakeProcess"], Awaitable[None]]
"""A chunk of output, an error of the read, the end, an event to wait for first, or a coroutine function to run."""
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

FACTS = HostFacts(
    hostname="gpu-1",
    user="root",
    uid=0,
    rights=Rights.ROOT,
    boot_id="b" * 32,
    python="/usr/bin/python3",
    python_version="3.11.2",
    groups=("root",),
    clock_skew_s=0.0,
)


class FakeClock:
    """Time that stands still until `advance`; with `auto` every sleep returns at once and moves it."""

    def __init__(self, start: float = 1_700_000_000.0, *, auto: bool = False) -> None:
        self.time = start
        self.auto = auto
        self.speed = 1.0
        self.slept: list[float] = []
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time - 1_600_000_000.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.auto:
            self.time += max(seconds, 0)
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (self.time + seconds, waiter)
        self._sleepers.append(entry)
        try:
            await waiter
        finally:
            if entry in self._sleepers:
                self._sleepers.remove(entry)

    @property
    def sleeping(self) -> int:
        """How many wait for this clock."""
        return len(self._sleepers)

    async def advance(self, seconds: float) -> None:
        """Move on, waking who is due in order, and let what they wake run until it waits again."""
        await settle()
        end = self.time + seconds
        while due := [entry for entry in self._sleepers if entry[0] <= end and not entry[1].done()]:
            entry = min(due, key=lambda item: item[0])
            self.time = max(self.time, entry[0])
            self._sleepers.remove(entry)
            entry[1].set_result(None)
            await settle()
        self.time = end
        await settle()


async def until(holds: Callable[[], object], task: asyncio.Future[Any]) -> None:
    """Let the loop turn until something holds; it fails at once where the task that is to bring it about is over."""
    while not holds():
        assert not task.done(), f"it is over, and nothing came of it: {task!r}"
        await asyncio.sleep(0)


async def settle(turns: int = 20) -> None:
    """Give every ready task a few turns of the loop; it cannot wait for sockets."""
    for _ in range(turns):
        await asyncio.sleep(0)


class FakeProcess:
    """A process that plays its steps as they are read; `written` is what was sent to it."""

    def __init__(self, what: tuple[str, ...] | Program, steps: Sequence[Step]) -> None:
        self.what = what
        self.steps = list(steps)
        self.written = bytearray()
        self.input_closed = False
        self.left = False
        """The block was left: the process is ended."""
        self._exit = Exit(0)
        self._ended = asyncio.Event()

    async def read(self) -> AsyncGenerator[bytes, None]:
        for step in self.steps:
            if isinstance(step, bytes):
                await asyncio.sleep(0)
                yield step
            elif isinstance(step, BaseException):
                self._end(Exit(None))
                raise step
            elif isinstance(step, Exit):
                self._exit = step
                break
            elif isinstance(step, asyncio.Event):
                await step.wait()
            else:
                await step(self)
        self._end(self._exit)

    def _end(self, how: Exit) -> None:
        self._exit = how
        self._ended.set()

    async def write(self, data: bytes) -> None:
        self.written += data

    async def close_input(self) -> None:
        self.input_closed = True

    async def wait(self) -> Exit:
        await self._ended.wait()
        return self._exit

    @property
    def messages(self) -> list[Any]:
        """What was written, as JSON lines."""
        return [json.loads(line) for line in bytes(self.written).splitlines()]


@dataclass
class FakeHost:
    """A host that answers from tables; patterns are shell globs over the command's words joined by one blank."""

    name: str = "root@gpu-1"
    typed: str = "root@gpu-1"
    read_only: bool = False
    facts: HostFacts | None = FACTS
    clock: FakeClock = field(default_factory=FakeClock)
    calls: list[tuple[str, ...]] = field(default_factory=list)
    """Every argv that was run, in order."""
    files: dict[str, bytes] = field(default_factory=dict)
    """What `send_file` wrote."""
    processes: list[FakeProcess] = field(default_factory=list)
    """Every process that was started, in order."""
    retries: int = 0

    def __post_init__(self) -> None:
        self._answers: list[tuple[str, Answer]] = []
        self._scripts: list[tuple[str, list[Sequence[Step]]]] = []
        self._servers: dict[str, Callable[[], Awaitable[Streams]]] = {}
        self._streams: list[asyncio.StreamWriter] = []
        self._link = Latest(Link(LinkKind.UP, self.clock.monotonic(), round_trip_s=0.012))

    # -- what a test says --

    def answer(self, pattern: str, reply: Answer) -> None:
        """Answer commands that match; of several patterns that match, the newest wins."""
        self._answers.insert(0, (pattern, list(reply) if isinstance(reply, (list, tuple)) else reply))

    def script(self, pattern: str, *runs: Sequence[Step]) -> None:
        """Let processes that match play these runs in turn, the last one for ever; a Program matches by its name."""
        self._scripts.insert(0, (pattern, list(runs)))

    def listen(self, endpoint: Endpoint, *, port: int | None = None, path: str | None = None) -> None:
        """Lead `connect` to a server of the test: a local port, or a unix socket's path."""

        async def dial() -> Streams:
            if path is not None:
                return await asyncio.open_unix_connection(path)
            return await asyncio.open_connection("127.0.0.1", port)

        self._servers[str(endpoint)] = dial

    def refuse(self, endpoint: Endpoint) -> None:
        """Let nothing listen there any more."""
        self._servers.pop(str(endpoint), None)

    def set_link(self, kind: LinkKind, **values: Any) -> None:
        """Change the link's state; streams that were open do not outlive it."""
        if kind not in (LinkKind.UP, LinkKind.STALE):
            while self._streams:
                self._streams.pop().transport.abort()
        self._link.set(Link(kind, self.clock.monotonic(), **values))

    def cut(self) -> None:
        """Lose the link: commands and connects raise LinkLost until `mend`."""
        self.set_link(LinkKind.LOST, reason="no answer for 5 s", attempt=1)

    def mend(self, **facts: Any) -> None:
        """Bring the link up again, as the same boot unless `boot_id` is given."""
        if self.facts is not None:
            self.facts = replace(self.facts, **facts)
        self.set_link(LinkKind.UP, round_trip_s=0.012)

    def called(self, pattern: str) -> int:
        """How many commands so far match."""
        return sum(fnmatch.fnmatchcase(" ".join(argv), pattern) for argv in self.calls)

    # -- host.base.Host --

    @property
    def read_only_asked(self) -> bool:
        return self.read_only

    @property
    def link(self) -> Link:
        return self._link.value

    def links(self) -> AsyncGenerator[Link, None]:
        return self._link.watch()

    async def open(self) -> None:
        self.mend()

    async def close(self) -> None:
        self.set_link(LinkKind.CLOSED)

    def retry(self) -> None:
        self.retries += 1

    async def up(self) -> HostFacts:
        watch = self.links()
        try:
            async for link in watch:
                if link.kind is LinkKind.UP:
                    break
                if link.kind in (LinkKind.REFUSED, LinkKind.CLOSED):
                    raise LinkRefused(link.reason or "The link is closed.")
        finally:
            await watch.aclose()
        assert self.facts is not None
        return self.facts

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", deadline_s: float = 10.0) -> Completed:
        words = tuple(argv)
        self._need_link()
        self.calls.append(words)
        await asyncio.sleep(0)
        done = self.answered(words, stdin)
        if done is None:
            raise CommandFailed(f"{words[0]}: no such program (the test gave no answer for {' '.join(words)!r})")
        return done

    def answered(self, words: tuple[str, ...], stdin: bytes = b"") -> Completed | None:
        """What a command says; None: the test gave no answer for it."""
        for pattern, answer in self._answers:
            if fnmatch.fnmatchcase(" ".join(words), pattern):
                return _completed(words, _pick(answer, words, stdin))
        return None

    @asynccontextmanager
    async def process(self, what: Sequence[str] | Program) -> AsyncGenerator[FakeProcess, None]:
        self._need_link()
        started = what if isinstance(what, Program) else tuple(what)
        line = started.name if isinstance(started, Program) else " ".join(started)
        for pattern, runs in self._scripts:
            if fnmatch.fnmatchcase(line, pattern):
                process = FakeProcess(started, runs.pop(0) if len(runs) > 1 else runs[0])
                break
        else:
            raise CommandFailed(f"no such program (the test gave no script for {line!r})")
        self.processes.append(process)
        try:
            yield process
        finally:
            process.left = True

    async def connect(self, endpoint: Endpoint) -> Streams:
        self._need_link()
        dial = self._servers.get(str(endpoint))
        if dial is None:
            raise ConnectionRefusedError(111, f"nothing listens at {endpoint}")
        reader, writer = await dial()
        self._streams.append(writer)
        return reader, writer

    async def send_file(self, path: str, data: bytes, mode: int = 0o600) -> None:
        self._need_link()
        self.files[path] = data

    def _need_link(self) -> None:
        if self.link.kind not in (LinkKind.UP, LinkKind.STALE):
            raise LinkLost(f"The link to {self.name} is {self.link.kind.value}.")


def _pick(answer: Answer, argv: tuple[str, ...], stdin: bytes) -> Reply:
    if callable(answer):
        return answer(argv, stdin)
    if isinstance(answer, list):
        picked: Reply = answer.pop(0) if len(answer) > 1 else answer[0]
        return picked
    assert isinstance(answer, (bytes, str, Completed, BaseException))
    return answer


def _completed(argv: tuple[str, ...], reply: Reply) -> Completed:
    if isinstance(reply, BaseException):
        raise reply
    if isinstance(reply, Completed):
        return replace(reply, argv=argv)
    return Completed(argv, 0, reply.encode() if isinstance(reply, str) else reply, b"")


def failed(status: int, stderr: str, stdout: str = "") -> Completed:
    """A command that ended with an error."""
    return Completed((), status, stdout.encode(), stderr.encode())

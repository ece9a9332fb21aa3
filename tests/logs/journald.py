"""A host whose journalctl is played from a list of entries: cursors, following, vacuuming, cut links."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specconsole.errors import LinkLost
from specconsole.host.base import Exit, Program
from tests.fakes import FakeHost, FakeProcess

UNIT = "vllm.service"
BOOT = "b" * 32
DATA = Path(__file__).parent / "data"


def capture(name: str) -> bytes:
    """The exact bytes that a recorded vLLM printed."""
    return gzip.decompress((DATA / f"{name}.log.gz").read_bytes())


def as_journald_keeps(output: bytes) -> list[bytes]:
    """Lines as journald makes them of a stream: cut at newlines only, trailing blanks off, empty ones dropped."""
    return [line for line in (line.rstrip(b" \t\r") for line in output.split(b"\n")) if line]


def message(line: bytes) -> str | list[int]:
    """A line as journalctl writes it in JSON: with control characters or bytes that are no UTF-8 as numbers."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return list(line)
    return list(line) if any(c < " " and c not in "\t\n" for c in text) else text


@dataclass
class Journal:
    """The entries of one host, oldest first."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    boot: str = BOOT
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    number: int = 0

    def add(self, text: bytes | str | list[int] | None, **fields: Any) -> dict[str, Any]:
        """Append an entry of the unit; fields replace the usual ones, `...` leaves one out."""
        self.number += 1
        entry: dict[str, Any] = {
            "__CURSOR": f"s=1;i={self.number:x};b={self.boot};m=1;t={self.number:x};x=1",
            "__REALTIME_TIMESTAMP": str(1_795_968_736_000_000 + self.number * 1000),
            "_BOOT_ID": self.boot,
            "MESSAGE": message(text) if isinstance(text, bytes) else text,
            "PRIORITY": "6",
            "_PID": "100",
            "_UID": "0",
            "_SYSTEMD_UNIT": UNIT,
            "_SYSTEMD_INVOCATION_ID": "i1",
            **fields,
        }
        self.entries.append({key: value for key, value in entry.items() if value is not ...})
        self.changed.set()
        self.changed = asyncio.Event()
        return self.entries[-1]

    def add_lines(self, output: bytes, **fields: Any) -> int:
        """Append what a unit printed; returns how many entries that made."""
        lines = as_journald_keeps(output)
        for line in lines:
            self.add(line, **fields)
        return len(lines)

    def systemd(self, text: str, **fields: Any) -> dict[str, Any]:
        """Append what PID 1 says of the unit."""
        about = {
            "_PID": "1",
            "_SYSTEMD_UNIT": "init.scope",
            "_SYSTEMD_INVOCATION_ID": ...,
            "UNIT": UNIT,
            "INVOCATION_ID": "i1",
        }
        return self.add(text, **{**about, **fields})

    def vacuum(self, keep: int) -> None:
        """Forget all but the newest entries."""
        del self.entries[: len(self.entries) - keep]


@dataclass
class JournalHost(FakeHost):
    """Plays `journalctl` from a journal; each process may be cut after a number of bytes."""

    journal: Journal = field(default_factory=Journal)
    cuts: list[int] = field(default_factory=list)
    """After how many bytes the link breaks, process by process; used up, it holds."""
    timed_out: bool = False
    """Instead of the link breaking, `timeout` ends the process there."""
    chunk: int = 1 << 16
    ends: list[Exit] = field(default_factory=list)
    """How a process ends at once, process by process, before any is followed."""
    on_cut: Callable[[], None] | None = None
    asked: list[tuple[str, ...]] = field(default_factory=list)
    """The commands."""
    plays: str = "no journalctl"
    """Commands with this word are left to the scripts of the test."""

    @asynccontextmanager
    async def process(self, what: Sequence[str] | Program) -> AsyncGenerator[FakeProcess, None]:
        if isinstance(what, Program) or what[0] != "journalctl" or self.plays in what:
            async with super().process(what) as process:
                yield process
            return
        self._need_link()
        self.asked.append(tuple(what))
        process = _Journalctl(self, tuple(what))
        self.processes.append(process)
        try:
            yield process
        finally:
            process.left = True


class _Journalctl(FakeProcess):
    def __init__(self, host: JournalHost, argv: tuple[str, ...]) -> None:
        super().__init__(argv, [])
        self.host = host
        self.argv = argv
        self.ending = host.ends.pop(0) if host.ends else None
        self.budget = host.cuts.pop(0) if host.cuts else None

    async def read(self) -> AsyncGenerator[bytes, None]:
        if self.ending:
            self._end(self.ending)
            return
        async for data in self._output():
            for begin in range(0, len(data), self.host.chunk):
                piece = data[begin : begin + self.host.chunk]
                if self.budget is not None:
                    piece, self.budget = piece[: self.budget], self.budget - len(piece)
                if piece:
                    yield piece
                if self.budget is not None and self.budget <= 0:
                    if self.host.on_cut:
                        self.host.on_cut()
                    if not self.host.timed_out:
                        raise LinkLost("cut")
                    self._end(Exit(124))
                    return
                await asyncio.sleep(0)
        self._end(Exit(0))

    async def _output(self) -> AsyncGenerator[bytes, None]:
        journal, follows = self.host.journal, "-f" in self.argv
        position = self._begin(follows)
        while True:
            changed = journal.changed
            new = [entry for entry in journal.entries if int(entry["__REALTIME_TIMESTAMP"]) >= position]
            if new:
                position = int(new[-1]["__REALTIME_TIMESTAMP"]) + 1
                yield b"".join(json.dumps(entry).encode() + b"\n" for entry in new)
            if not follows:
                return
            await changed.wait()

    def _begin(self, follows: bool) -> int:
        """The first time stamp to show; as journalctl 252 does, ten entries where it follows and nobody said otherwise."""
        entries = self.host.journal.entries
        options = dict(word.split("=", 1) for word in self.argv if word.startswith("--") and "=" in word)
        first = 0
        if "--cursor" in options:
            wanted = int(options["--cursor"].split("t=")[1].split(";")[0], 16)
            first = 1_795_968_736_000_000 + wanted * 1000
        elif "--since" in options:
            first = int(float(options["--since"].lstrip("@")) * 1_000_000)
        tail = (
            int(self.argv[self.argv.index("-n") + 1])
            if "-n" in self.argv
            else 10
            if follows and "--no-tail" not in self.argv
            else None
        )
        shown = [int(entry["__REALTIME_TIMESTAMP"]) for entry in entries]
        end = shown[-1] + 1 if shown else 0
        shown = [stamp for stamp in shown if stamp >= first]
        return first if tail is None else shown[-tail] if 0 < tail <= len(shown) else first if tail else end

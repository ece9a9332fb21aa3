"""A unit's log file followed: over link cuts at a byte offset, over rotation by inode, over truncation with a gap."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from specconsole.errors import CommandFailed, LinkLost, NotPermitted
from specconsole.host.base import Exit, Host, Program
from specconsole.host.said import readable
from specconsole.logs.entry import Entry
from specconsole.logs.peel import peel
from specconsole.logs.record import Kind, Level
from specconsole.logs.source import Source
from specconsole.remote import outside
from specconsole.stream import whole_lines

CHECKED = 256
"""How many bytes before the offset are compared on resume; another file, or the same one cut and written anew, differs."""
LONGEST = 1 << 20
"""A line without an end is cut here."""
_GAPS = {
    "rotated": "The file was rotated away while the link was down: lines may be missing here.",
    "truncated": "The file was cut to nothing and goes on from its beginning: lines just before may be missing.",
}

File = tuple[int, int]
"""Device and inode."""


@dataclass
class Read:
    """How far one file was read, to the end of its last whole line."""

    at: int
    recent: bytes = b""
    rest: bytes = b""
    """The beginning of a line that has not ended yet."""
    shown: int = 0
    """How much of `rest` was shown as a bar that still runs."""

    def place(self, file: File) -> list[int]:
        """What the host needs to go on here."""
        return [*file, self.at, len(self.recent), zlib.crc32(self.recent)]


@dataclass
class Progress:
    """What was read of the files behind one name; makes entries of the host's pieces."""

    source: Source
    now: Callable[[], float]
    files: dict[File, Read] = field(default_factory=dict)
    said: str = ""
    """The last complaint, which is passed on once."""
    done: bool = False
    """The end was reached of a log that is not to be followed."""

    def take(self, piece: dict[str, Any]) -> list[Entry]:
        """Read one piece (`remote/tail.py` says what it holds); raises NotPermitted and CommandFailed."""
        if "gap" in piece:
            return [self.entry(_GAPS[piece["gap"]])._replace(kind=Kind.GAP, level=Level.WARNING)]
        if "error" in piece:
            return self._complaint(str(piece["error"]))
        device, inode = piece["file"]
        data = str(piece["data"]).encode("latin-1")
        return self.add((int(device), int(inode)), int(piece["at"]), data)

    def add(self, file: File, end: int, data: bytes) -> list[Entry]:
        """Take bytes of a file that end at an offset."""
        begin = end - len(data)
        known = self.files.get(file)
        if known is None or begin != known.at + len(known.rest):  # a new file, or one that was cut
            known = self.files[file] = Read(begin)
        *lines, rest = (known.rest + data).split(b"\n")
        if lines:
            whole = b"\n".join(lines) + b"\n"
            known.at += len(whole)
            known.recent = (known.recent + whole)[-CHECKED:]
            known.shown = 0
            self.said = ""
            self._forget_older(file)
        known.rest = rest
        entries = [self.entry(line) for line in lines if line.strip(b"\0\r ")]
        return entries + self._running_bar(known)

    def places(self) -> list[list[int]]:
        """Where to go on, oldest file first; beginnings of lines are read again."""
        for known in self.files.values():
            known.rest, known.shown = b"", 0
        return [known.place(file) for file, known in self.files.items()]

    def _forget_older(self, file: File) -> None:
        """Once the newest file gets lines its writer has let go of the older ones."""
        if next(reversed(self.files)) == file:
            self.files = {file: self.files[file]}

    def _running_bar(self, known: Read) -> list[Entry]:
        """A bar that only returns its carriage ends its line when it is done; a file, unlike the journal, shows it before."""
        if len(known.rest) > LONGEST:
            line, known.rest = known.rest, b""
            known.at += len(line)
            known.recent = line[-CHECKED:]
            return [self.entry(line)]
        end = known.rest.rfind(b"\r")
        if end <= known.shown:
            return []
        piece = known.rest[:end]
        parts = peel(piece)
        if not parts or any(part.kind is not Kind.BAR for part in parts):
            return []
        known.shown = end
        return [self.entry(piece)]

    def _complaint(self, error: str) -> list[Entry]:
        if error == "denied":
            raise NotPermitted(
                f"{self.source.log_file} of {self.source.key} may not be read by this login.", hint="Connect as root."
            )
        if error == self.said:
            return []
        self.said = error
        if error == "missing":
            return [self.entry(f"{self.source.log_file} is not there yet.")._replace(kind=Kind.SYSTEMD)]
        raise CommandFailed(f"{self.source.log_file} of {self.source.key} cannot be read.", error)

    def entry(self, message: bytes | str) -> Entry:
        """Make an entry of a line (bytes), or of something to say (str), at the time of its arrival."""
        line = message.strip(b"\0") if isinstance(message, bytes) else message
        return Entry(self.now(), self.source.key, line, source="file" if isinstance(message, str) else "", arrived=True)


async def entries(
    host: Host,
    source: Source,
    *,
    lines: int | None,
    now: Callable[[], float],
    pause: Callable[[float], Awaitable[None]],
    live: bool,
) -> AsyncGenerator[list[Entry], None]:
    """Yield a file's lines, `lines` from its end first (None: all), as they come; without `live` up to its end.

    Raises:
        NotPermitted, CommandFailed: the file may not, or cannot, be read.
        LinkRefused: the host does not let us in any more.
    """
    progress = Progress(source, now)
    while not progress.done:
        try:
            facts = await host.up()
            follow = _with_python if facts.python else _without_python
            async with aclosing(follow(host, progress, lines, live=live)) as parts:
                async for part in parts:
                    if part:
                        yield part
        except LinkLost:
            pass
        if progress.files:
            lines = None
        await pause(0.2 if progress.files else 1.0)


async def _with_python(
    host: Host, progress: Progress, lines: int | None, *, live: bool
) -> AsyncGenerator[list[Entry], None]:
    arguments = {"path": progress.source.log_file, "places": progress.places(), "lines": lines, "once": not live}
    async with (
        host.process(Program("tail", arguments)) as process,
        aclosing(process.read()) as chunks,
        aclosing(whole_lines(chunks)) as parts,
    ):
        async for part in parts:
            with readable(host.name):
                taken = [entry for line in part for entry in progress.take(outside.parse(line))]
            yield taken
        _check(progress, await process.wait(), live=live)


async def _without_python(
    host: Host, progress: Progress, lines: int | None, *, live: bool
) -> AsyncGenerator[list[Entry], None]:
    """The same with the host's own tools, for as long as it lets one run; rotation is seen when that ends."""
    path = str(progress.source.log_file)
    status = await host.run(["stat", "-L", "-c", "%d %i %s", "--", path])
    if status.status:
        yield progress.take({"error": "denied" if b"ermission" in status.stderr else "missing"})
        progress.done = not live
        return
    device, inode, size = (int(word) for word in status.text.split())
    file = (device, inode)
    for old in [old for old in progress.files if old != file]:
        yield await _rest_of(host, progress, path, old)
    known = progress.files.get(file)
    if known is None:
        begin = 0 if progress.files or lines is None else size - await _length(host, path, size, lines)
        known = progress.files[file] = Read(begin)
    elif size < known.at:
        yield progress.take({"gap": "truncated"})
        known = progress.files[file] = Read(0)
    known.rest = b""
    at = known.at
    command = ["tail", "-c", f"+{at + 1}", *(["-f"] if live else []), "--", path]
    async with host.process(command) as process, aclosing(process.read()) as chunks:
        async for chunk in chunks:
            at += len(chunk)
            yield progress.add(file, at, chunk)
        _check(progress, await process.wait(), live=live)


async def _rest_of(host: Host, progress: Progress, path: str, file: File) -> list[Entry]:
    """What a file got after it was last read and before, or since, it was renamed."""
    known = progress.files.pop(file)
    folder = path.rpartition("/")[0] or "/"
    found = await host.run(["find", folder, "-maxdepth", "1", "-inum", str(file[1])])
    name = found.text.partition("\n")[0]
    if not name:
        return progress.take({"gap": "rotated"})
    rest = await host.run(["tail", "-c", f"+{known.at + 1}", "--", name], deadline_s=60)
    entries = [progress.entry(line) for line in rest.stdout.split(b"\n") if line.strip(b"\0\r ")]
    return entries + (progress.take({"gap": "rotated"}) if rest.truncated else [])


async def _length(host: Host, path: str, size: int, lines: int) -> int:
    """How many bytes the last lines of the first `size` bytes have; the file may grow meanwhile."""
    script = 'head -c "$1" -- "$2" | tail -n "$3" | wc -c'
    counted = await host.run(["sh", "-c", script, "sh", str(size), path, str(lines)], deadline_s=60)
    return int(counted.text.strip() or 0)


def _check(progress: Progress, end: Exit, *, live: bool) -> None:
    """Raise when the follower failed; its regular ends (the lease's signals, a timeout) are renewed."""
    progress.done = not live and end.status == 0
    if end.status in (0, None, 124, 137, 143, -9, -15):
        return
    said = end.stderr.decode(errors="replace").strip().splitlines()
    if any("ermission denied" in line for line in said):
        progress.take({"error": "denied"})
    raise CommandFailed(
        f"{progress.source.log_file} of {progress.source.key} cannot be read.", said[-1] if said else ""
    )

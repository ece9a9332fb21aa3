"""The simulated host as the programs of swaps and experiments see and move it: `remote/` runs on it as it is, none of it twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any

from specconsole.clock import Clock
from specconsole.host.simulated import command, files, probe, shm
from specconsole.host.simulated.engine import Engine
from specconsole.host.simulated.http import Gone, Request
from specconsole.host.simulated.machine import Machine, Stranger
from specconsole.host.simulated.strand import Strand
from specconsole.host.simulated.unit import SimulatedUnit
from specconsole.remote.drive_http import Target
from specconsole.remote.swap_judge import Entry
from specconsole.remote.swap_process import VLLM, Process
from specconsole.remote.swap_unit import Ref
from specconsole.remote.swap_world import World

Called = tuple[int, str, str]
"""Status, output, errors."""

_END_S = 0.4
"""What it takes until processes that were told to end are gone."""
_PORT = 40_001
_LATE = 0.02
"""By this share of its time a look may come late that has found nothing new."""


class SimulatedWorld(World):
    """The machine under one program."""

    def __init__(
        self,
        machine: Machine,
        strand: Strand,
        clock: Clock,
        out: Callable[[bytes], None],
        begin: Callable[[Sequence[str]], Awaitable[Called]],
        stdin: asyncio.Queue[bytes] | None = None,
        patience_s: float = 0.0,
    ) -> None:
        """Give a program its world.

        Args:
            machine: what it runs on.
            strand: what it waits with.
            clock: by which it waits.
            out: takes what it prints.
            begin: is what systemd-run calls.
            stdin: what it is told.
            patience_s: how much later than it asked for it may be woken, if nothing has happened for long.
        """
        self._machine = machine
        self._strand = strand
        self._clock = clock
        self._out = out
        self._begin = begin
        self._stdin = stdin
        self._patience_s = patience_s
        self._kept = machine.clock.monotonic()

    # -- time --

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._machine.clock.now()

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        return self._machine.clock.monotonic()

    def uptime(self) -> float:
        """Seconds since the boot."""
        return self._machine.uptime

    def boot_at(self) -> float:
        """Seconds since the epoch at which it booted."""
        return self._machine.booted

    def boot_id(self) -> str:
        """This boot's id."""
        return self._machine.site.boot_id

    def sleep(self, seconds: float) -> None:
        """Wait; who has looked in vain for an hour looks less often, or a fast demo would look a thousand times a second."""
        idle = self.monotonic() - self._kept
        self._strand.wait(self._clock.sleep(max(seconds, min(idle * _LATE, self._patience_s))))
        self._advance()

    def _advance(self) -> None:
        """Let the machine come to its present, which may wake who follows its log or its samples."""
        self._strand.on_loop(self._machine.advance)

    # -- input and output --

    def hear(self) -> str:
        """The first line of standard input."""
        return self._strand.wait(_line(self._stdin)) if self._stdin else ""

    def hear_until(self, last: bytes) -> list[bytes]:
        """The lines of standard input up to one that begins so."""
        return self._strand.wait(_lines(self._stdin, last)) if self._stdin else []

    def tell(self, **values: Any) -> None:
        """Print one JSON line."""
        self.pass_on(json.dumps(values, separators=(",", ":")).encode() + b"\n")

    def pass_on(self, data: bytes) -> None:
        """Print bytes as they are."""
        self._strand.on_loop(lambda: self._out(data))

    def say(self, text: str) -> None:
        """Print a line for people."""
        self.pass_on(" ".join(text.split()).encode() + b"\n")

    def program(self) -> tuple[str, bytes]:
        """The host's interpreter; nothing was sent to it."""
        return "/usr/bin/python3", b""

    # -- files --

    def keep(self, path: str, data: bytes) -> None:
        """Append whole lines."""
        self._kept = self.monotonic()
        self._machine.disk.append(path, data)

    def add(self, path: str, data: bytes) -> None:
        """Append a line to a file of a folder that is there."""
        if not self._machine.disk.within(path.rpartition("/")[0]):
            raise FileNotFoundError(2, "No such file or directory", path)
        self._machine.disk.append(path, data)

    def put(self, path: str, data: bytes) -> None:
        """Make a file anew."""
        self._machine.disk.files[path] = data

    def lay(self, folder: str, files: Iterable[tuple[str, bytes]]) -> None:
        """Make a folder with these files in it."""
        for name, data in files:
            self.put(f"{folder}/{name}", data)

    def copy(self, source: str, target: str) -> None:
        """Copy a file."""
        self.put(target, self.read(source))

    def names(self, folder: str) -> list[str]:
        """What lies in a folder."""
        return self._machine.disk.names(folder)

    def clear(self, folder: str) -> None:
        """Take a folder away."""
        self._machine.disk.clear(folder)

    def sweep(self, folder: str, stale_s: float) -> None:
        """Take away nothing: no program dies here and leaves its folder."""

    def read(self, path: str, offset: int = 0, limit: int = -1) -> bytes:
        """What is in a file, from an offset on."""
        return self._machine.disk.read(path, offset, limit)

    def size(self, path: str | None) -> int:
        """How many bytes a file has; -1 where there is none."""
        return len(self._machine.disk.files[path]) if path in self._machine.disk.files else -1

    def runs(self, path: str) -> bool:
        """Whether a program is there."""
        return path in {unit.file.argv[0] for unit in self._machine.units.values()}

    def free(self, folder: str) -> int | None:  # noqa: ARG002  there is one disk
        """Bytes that are free on the disk."""
        return int(self._machine.site.mounts["/"].split()[3]) * 1024

    # -- rights and commands --

    def is_root(self) -> bool:
        """It is."""
        return True

    def call(self, argv: Sequence[str], deadline_s: float, ref: Ref | None) -> Called:  # noqa: ARG002
        """Run a command."""
        if argv[0] == "systemd-run":
            return self._strand.wait(self._begin(argv))
        done = self._strand.wait(command.run(self._machine, argv))
        return done.status, done.text, done.stderr.decode()

    # -- GPUs --

    def read_gpus(self) -> list[dict[str, Any]]:
        """A row a GPU, with the processes on it."""
        self._advance()
        return probe.cards(self._machine, self.now())

    @property
    def gpus_why(self) -> str | None:
        """They are always seen."""
        return None

    # -- processes --

    def processes(self, cgroup: str, boxed: bool) -> list[Process]:  # noqa: ARG002  no unit runs a container
        """A unit's processes."""
        self._advance()
        units = [unit for unit in self._machine.units.values() if cgroup and unit.cgroup == cgroup]
        return [one for unit in units for one in _tree(self._machine, unit, self.now())]

    def _all(self) -> Iterator[Process]:
        self._advance()
        for unit in self._machine.units.values():
            yield from _tree(self._machine, unit, self.now())
        yield from map(_stranger, self._machine.strangers)

    def look(self, pid: int) -> Process | None:
        """A process as it is now."""
        return next((one for one in self._all() if one.pid == pid), None)

    def still(self, known: Iterable[Process]) -> list[Process]:
        """Those of them that live on."""
        wanted = {one.identity for one in known}
        return [one for one in self._all() if one.identity in wanted]

    def strays(self) -> list[Process]:
        """Engines and workers without a parent."""
        return [one for one in self._all() if one.parent == 1 and VLLM.match(one.argv)]

    def end(self, wanted: Sequence[Process]) -> list[Process]:
        """End exactly these: what belongs to no unit goes."""
        pids = {one.pid for one in wanted}
        self._strand.wait(self._clock.sleep(_END_S))
        self._machine.strangers = [one for one in self._machine.strangers if one.pid not in pids]
        return self.still(wanted)

    def unit_of(self, pid: int) -> str | None:
        """The unit of a process."""
        found = self.look(pid)
        return found.unit or None if found else None

    def api_key(self, which: Iterable[Process]) -> str:  # noqa: ARG002
        """No server asks for one."""
        return ""

    def listeners(self, endpoint: dict[str, Any], *, binds: bool = False) -> set[int]:  # noqa: ARG002
        """The pids that listen there: all servers take all addresses."""
        self._advance()
        unit = None if endpoint.get("uds") else files.answering(self._machine).get(int(endpoint.get("port") or 0))
        return {unit.main_pid} if unit else set()

    # -- /dev/shm --

    def shm_space(self) -> tuple[int, int]:
        """Bytes of /dev/shm, and how many are free."""
        total = self._machine.site.shm_total
        return total, total - self._machine.sample().room.shm_used - sum(one.size for one in self._machine.left)

    def shm_of(self, which: Sequence[int]) -> dict[tuple[int, int], Entry]:
        """The entries that these processes write to."""
        unit = self._machine.serving
        if unit is None or not {one.pid for one in _tree(self._machine, unit, self.now())} & set(which):
            return {}
        return {(one.device, one.inode): one for one in shm.entries(unit, self._machine.sample())}

    def shm_clean(
        self, before: dict[tuple[int, int], Entry], since_ns: int, uids: frozenset[int]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Remove what is proven to be the stopped unit's."""
        return shm.clean(self._machine, before, since_ns, uids)

    # -- servers --

    def get(self, target: Target, path: str, silence_s: float) -> tuple[int, bytes]:  # noqa: ARG002
        """GET from a server."""
        return self._answered(target, Request("GET", path, {}, b""))

    def post(self, target: Target, path: str, body: bytes, silence_s: float) -> tuple[int, bytes]:  # noqa: ARG002
        """POST to a server."""
        return self._answered(target, Request("POST", path, {}, body))

    def _answered(self, target: Target, request: Request) -> tuple[int, bytes]:
        self._advance()
        unit = None if target.uds else files.answering(self._machine).get(target.port)
        if unit is None:
            raise ConnectionRefusedError(111, "Connection refused")
        found = self._strand.wait(_ask(Engine(self._machine, unit, _PORT).answer(request)))
        if found is None:
            raise ConnectionResetError(104, "Connection reset by peer")
        return found


async def _line(stdin: asyncio.Queue[bytes]) -> str:
    data = b""
    while b"\n" not in data:
        data += await stdin.get()
    return data.partition(b"\n")[0].decode()


async def _lines(stdin: asyncio.Queue[bytes], last: bytes) -> list[bytes]:
    data = b""
    while True:
        *whole, _ = data.split(b"\n")
        end = next((place for place, line in enumerate(whole) if line.startswith(last)), None)
        if end is not None:
            return [line + b"\n" for line in whole[: end + 1]]
        data += await stdin.get()


async def _ask(answer: Awaitable[Any]) -> tuple[int, bytes] | None:
    try:
        given = await answer
    except Gone:
        return None
    return given.status, given.body


def _tree(machine: Machine, unit: SimulatedUnit, at: float) -> list[Process]:
    """The processes of a unit; a start is told by the ticks since boot."""
    if not unit.running or unit.playback is None:
        return []
    began = unit.playback.started - machine.booted
    rows = unit.playback.sample(at).tree
    return [
        Process(row.pid, round((began + row.began_s) * 100), row.state, row.ppid, row.command, unit.name)
        for row in rows
    ]


def _stranger(one: Stranger) -> Process:
    return Process(one.pid, 0, "S", 1, one.name, "")

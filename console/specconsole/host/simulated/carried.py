"""Runs that the simulated host carries: as on a real one they go on while no console looks, and wait until fetched."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from specconsole.host.simulated.drive import drive
from specconsole.host.simulated.machine import Machine
from specconsole.host.simulated.process import Output
from specconsole.remote.drive_begin import OTHERS, WORDS
from specconsole.remote.drive_folder import folder_of
from specconsole.remote.transient import unit as unit_of

PROGRAMS = ("drive_begin", "drive_follow", "drive_order", "drive_look")
_CANCEL = b'{"cancel": true}\n'
_UNIT = f"{unit_of('drive')}.service"
_END = b'{"event":"end"'


@dataclass
class _Run:
    """One run: what it has told so far, and its input."""

    brief: Mapping[str, Any]
    about: Mapping[str, Any]
    stdin: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    stamps: bytearray = field(default_factory=bytearray)
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    """Set and made anew at each line."""
    over: bool = False
    last: float | None = None

    @property
    def why(self) -> str | None:
        """How it ended; None: it has not."""
        line = bytes(self.stamps).rstrip(b"\n").rpartition(b"\n")[2]
        return str(json.loads(line)["why"]) if line.startswith(_END) else None

    def tell(self, data: bytes = b"") -> None:
        """Keep a line, and wake who follows."""
        self.stamps += data
        self.moved.set()
        self.moved = asyncio.Event()


class Carrier:
    """The runs of one simulated host."""

    def __init__(self, machine: Machine, speed: float, spawn: Callable[[Coroutine[Any, Any, None], str], None]) -> None:
        self._machine, self._speed, self._spawn = machine, speed, spawn
        self._runs: dict[str, _Run] = {}

    async def output(self, name: str, arguments: Mapping[str, Any], stdin: asyncio.Queue[bytes]) -> Output:
        """Answer one of `PROGRAMS` as `remote/` does."""
        if name == "drive_follow":
            async for data in self._follow(str(arguments["id"]), int(arguments.get("offset") or 0)):
                yield data
        else:
            answers = {"drive_begin": self._begin, "drive_order": self._order, "drive_look": self._look}
            yield json.dumps(await answers[name](arguments, stdin)).encode() + b"\n"
        yield 0, b""

    async def _begin(self, arguments: Mapping[str, Any], stdin: asyncio.Queue[bytes]) -> dict[str, Any]:
        data = b""
        while b'{"go"' not in data or not data.endswith(b"\n"):
            data += await stdin.get()
        for kind in OTHERS:
            said = self._machine.transients.get(f"{unit_of(kind)}.service")
            if said is not None:
                return {"refused": f"{WORDS[kind]} runs", "running": said.rpartition(" ")[2], "kind": kind}
        about: Mapping[str, Any] = {}
        rest = []
        for line in data.splitlines(keepends=True):
            if line.startswith(b'{"about"'):
                about = json.loads(line)["about"]
            else:
                rest.append(line)
        run = _Run({**arguments["brief"], "began": self._machine.clock.now()}, about)
        run.stdin.put_nowait(b"".join(rest))
        self._runs[str(arguments["id"])] = run
        self._machine.transients[_UNIT] = f"specconsole: drive {arguments['id']}"
        self._spawn(self._carry(run, arguments["run"]), "carried run")
        return {"began": arguments["id"]}

    async def _carry(self, run: _Run, arguments: Mapping[str, Any]) -> None:
        async for item in drive(self._machine, arguments, run.stdin, self._speed):
            if isinstance(item, bytes):
                run.last = self._machine.clock.now()
                run.tell(item)
        del self._machine.transients[_UNIT]
        run.over = True
        run.tell()

    async def _follow(self, ident: str, offset: int) -> Output:
        run = self._runs.get(ident)
        while run is not None:
            moved, over = run.moved, run.over
            if len(run.stamps) > offset:
                yield bytes(run.stamps[offset:])
                offset = len(run.stamps)
            elif over:
                break
            else:
                await moved.wait()
        yield json.dumps({"over": "" if run is not None else "gone"}).encode() + b"\n"

    async def _order(self, arguments: Mapping[str, Any], stdin: asyncio.Queue[bytes]) -> dict[str, Any]:  # noqa: ARG002
        run = self._runs.get(str(arguments["id"]))
        if run is None:
            return {"given": False}
        if arguments["order"] == "fetched" and run.why is not None:
            self._runs.pop(str(arguments["id"]))
            return {"given": True}
        run.stdin.put_nowait(_CANCEL)
        return {"given": run.why is None}

    async def _look(self, arguments: Mapping[str, Any], stdin: asyncio.Queue[bytes]) -> dict[str, Any]:  # noqa: ARG002
        if arguments.get("about"):
            run = self._runs.get(str(arguments["about"]))
            return {"about": dict(run.about) if run else {}}
        runs = [
            {"id": ident, "brief": dict(run.brief), "why": run.why, "bytes": len(run.stamps), "last": run.last}
            for ident, run in self._runs.items()
        ]
        return {"runs": runs, "running": next((ident for ident, run in self._runs.items() if not run.over), None)}


async def unit(machine: Machine, ident: str, speed: float, tick_s: float) -> None:
    """A run that an experiment has laid into a folder, as `remote/drive_unit`: its lines go into the folder's stamps.

    `tick_s`: how often to look for orders, at least.
    """
    folder, disk = folder_of(ident), machine.disk
    stdin: asyncio.Queue[bytes] = asyncio.Queue()
    stdin.put_nowait(disk.read(f"{folder}/key") + disk.read(f"{folder}/input"))
    listening = asyncio.ensure_future(_hear(machine, f"{folder}/orders", stdin, tick_s))
    try:
        async for item in drive(machine, json.loads(disk.read(f"{folder}/arguments")), stdin, speed):
            if isinstance(item, bytes):
                disk.append(f"{folder}/stamps", item)
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _hear(machine: Machine, orders: str, stdin: asyncio.Queue[bytes], tick_s: float) -> None:
    while orders not in machine.disk.files:
        await machine.clock.sleep(max(tick_s, 0.2))
    stdin.put_nowait(_CANCEL)

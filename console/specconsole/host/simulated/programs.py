"""The programs of swaps and experiments on the simulated host: the real ones of `remote/`, each on a strand, in the demo's time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from specconsole.clock import Clock
from specconsole.host.base import Program
from specconsole.host.simulated import carried
from specconsole.host.simulated.machine import Machine
from specconsole.host.simulated.options import parse
from specconsole.host.simulated.process import Output
from specconsole.host.simulated.strand import Strand
from specconsole.host.simulated.world import Called, SimulatedWorld
from specconsole.remote import (
    experiment,
    experiment_begin,
    experiment_follow,
    experiment_post,
    swap,
    swap_begin,
    swap_follow,
    swap_look,
    swap_order,
    swap_post,
)
from specconsole.remote.swap_world import World

Entry = Callable[[dict[str, Any], World], int]

PROGRAMS: Mapping[str, Entry] = {
    "experiment_begin": experiment_begin.begin,
    "experiment_follow": experiment_follow.tell,
    "swap_begin": swap_begin.begin,
    "swap_follow": swap_follow.follow,
    "swap_look": swap_look.look,
    "swap_order": swap_order.order,
}
"""What the console starts."""
_SERVICES: Mapping[str, tuple[Entry, Entry]] = {
    "swap": (swap.swap, swap_post.settle),
    "experiment": (experiment.run, experiment_post.settle),
}
"""What systemd-run starts, each with its ExecStopPost."""
_DRIVE = "drive_unit"
"""The load generator is one that is made for scripts: `simulated/drive.py`."""


class Programs:
    """Starts them."""

    def __init__(
        self,
        machine: Machine,
        looks: Clock,
        speed: float,
        patience_s: float,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        """`looks`: the clock of those that only look; `patience_s`: how late the others may be woken when nothing happens."""
        self._machine = machine
        self._looks = looks
        self._speed = speed
        self._patience_s = patience_s
        self._spawn = spawn

    async def run(self, program: Program, stdin: asyncio.Queue[bytes]) -> Output:
        """Run one to its end; what it prints is the output."""
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        strand = Strand()
        world = SimulatedWorld(self._machine, strand, self._looks, lines.put_nowait, self.begin, stdin)
        entry, arguments = PROGRAMS[program.name], dict(program.arguments)
        task = asyncio.ensure_future(strand.run(lambda: entry(arguments, world)))
        task.add_done_callback(lambda _: lines.put_nowait(None))
        try:
            while (line := await lines.get()) is not None:
                yield line
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        yield task.result() or 0, b""

    async def begin(self, argv: Sequence[str]) -> Called:
        """systemd-run: start a transient unit; its name is the lock."""
        options = parse(argv[1:], ())
        unit = f"{options.values('--unit')[-1]}.service"
        entry, ident = argv[-2:]
        if unit in self._machine.transients:
            why = f"Failed to start transient service unit: Unit {unit} was already loaded or has a fragment file."
            return 1, "", why
        if entry not in _SERVICES and entry != _DRIVE:
            return 1, "", f"{entry}: not recorded"
        self._machine.transients[unit] = options.values("--description")[-1]
        self._spawn(self._live(unit, entry, ident))
        return 0, "", ""

    async def _live(self, unit: str, entry: str, ident: str) -> None:
        """A transient unit from its start to its end, which it does not outlive."""
        try:
            if entry == _DRIVE:
                await carried.unit(self._machine, ident, self._speed, self._patience_s)
            for part in _SERVICES.get(entry, ()):
                strand = Strand()
                world = SimulatedWorld(
                    self._machine,
                    strand,
                    self._machine.clock,
                    self._journal(unit),
                    self.begin,
                    patience_s=self._patience_s,
                )
                await strand.run(lambda part=part, world=world: part({"id": ident}, world))  # type: ignore[misc]
        finally:
            del self._machine.transients[unit]

    def _journal(self, unit: str) -> Callable[[bytes], None]:
        return lambda line: self._machine.note(unit, line.rstrip(b"\n"))

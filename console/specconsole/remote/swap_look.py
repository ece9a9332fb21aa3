"""What a plan of a swap must know of the host and systemctl does not tell: one look, one JSON line; Python 3.8."""

from __future__ import annotations

from typing import Any, Dict, List

from specconsole.remote.swap_begin import KIND
from specconsole.remote.swap_process import Process
from specconsole.remote.swap_record import HOME, floors
from specconsole.remote.swap_unit import Ref, SystemctlFailed, Systemd
from specconsole.remote.swap_world import World
from specconsole.remote.transient import running


def main(arguments: Dict[str, Any]) -> int:
    """Print the GPUs with their holders, engines without a parent, free space, and whether a swap runs.

    `units`: those that are to be stopped, as a plan has them; `own` are their processes.
    """
    return look(arguments, World())


def look(arguments: Dict[str, Any], world: World) -> int:
    """As `main`, in a world."""
    rows = world.read_gpus()
    world.tell(
        boot=world.boot_id(),
        gpus=rows,
        why=world.gpus_why,
        own=sorted(one.pid for unit in arguments.get("units") or [] for one in processes(unit, world)),
        strays=[one.line() for one in world.strays()],
        floors=floors(ground=world),
        shm_free=world.shm_space()[1],
        record_free=world.free(HOME),
        running=running(KIND, world.call),
    )
    return 0


def processes(unit: Dict[str, Any], world: World) -> List[Process]:
    """A unit's processes; [] where systemd does not answer."""
    try:
        return world.processes(Systemd(world.call).show(Ref.of(unit)).cgroup, bool(unit.get("container")))
    except SystemctlFailed:
        return []

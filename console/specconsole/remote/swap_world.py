"""The host as a swap sees and moves it: units, processes, GPUs, shared memory, the servers' answers; Python 3.8."""

from __future__ import annotations

import os
from typing import Any, Dict, FrozenSet, Iterable, List, Optional, Sequence, Set, Tuple

from specconsole.remote import drive_http, probe_unit, swap_process, swap_shm, swap_unit
from specconsole.remote.drive_http import Target
from specconsole.remote.probe_gpu import Gpus, Row
from specconsole.remote.swap_container import whole
from specconsole.remote.swap_ground import Ground
from specconsole.remote.swap_judge import Entry
from specconsole.remote.swap_process import Process
from specconsole.remote.swap_shm import Key
from specconsole.remote.swap_unit import Ref

DRIVER_S = 10.0
"""How long one reading of the GPUs waits for the driver."""


class World(Ground):
    """This host, with all that the steps ask of it and do to it; nothing here decides anything."""

    def __init__(self, gpus: Optional[Gpus] = None) -> None:
        self._gpus = gpus or Gpus()

    def is_root(self) -> bool:
        """Whether we may change units."""
        return os.geteuid() == 0

    def call(self, argv: Sequence[str], deadline_s: float, ref: Optional[Ref]) -> Tuple[int, str, str]:
        """Run a program, as the owner of a user's manager where `ref` is of one: status, output, errors."""
        return swap_unit.call(argv, deadline_s, ref)

    # -- GPUs --

    def read_gpus(self) -> List[Row]:
        """A row a GPU with the processes on it, which never waits for a driver for ever; [] without a driver."""
        rows, _ = self._gpus.read(frozenset({"processes"}), self.monotonic() + DRIVER_S)
        return rows

    @property
    def gpus_why(self) -> Optional[str]:
        """Why there is no evidence of GPUs."""
        return self._gpus.why

    # -- processes --

    def processes(self, cgroup: str, boxed: bool) -> List[Process]:
        """A unit's processes: of its cgroup, and of its container where it runs one."""
        return whole(cgroup, boxed)

    def look(self, pid: int) -> Optional[Process]:
        """A process as it is now; None: it is gone."""
        return swap_process.look(pid)

    def still(self, known: Iterable[Process]) -> List[Process]:
        """Those of them that live on."""
        return swap_process.still(known)

    def strays(self) -> List[Process]:
        """Engines and workers without a parent; also a unit's main process looks so."""
        return swap_process.strays()

    def end(self, wanted: Sequence[Process]) -> List[Process]:
        """End exactly these; returns those that live on."""
        return swap_process.end(wanted)

    def unit_of(self, pid: int) -> Optional[str]:
        """The unit whose cgroup a process is in."""
        return probe_unit.unit_of(pid)

    def api_key(self, which: Iterable[Process]) -> str:
        """The key that a server was started with; "" where it has none."""
        return swap_process.api_key(which)

    def listeners(self, endpoint: Dict[str, Any], *, binds: bool = False) -> Optional[Set[int]]:
        """The pids that listen where a unit's server does, or `binds`: that bar its port; None: some cannot be seen."""
        return swap_process.listeners(endpoint, binds=binds)

    # -- /dev/shm --

    def shm_space(self) -> Tuple[Optional[int], Optional[int]]:
        """Bytes of /dev/shm, and how many of them are free."""
        return swap_shm.space()

    def shm_of(self, which: Sequence[int]) -> Dict[Key, Entry]:
        """The entries that these processes write to."""
        return swap_shm.take_down(which)

    def shm_clean(
        self, before: Dict[Key, Entry], since_ns: int, uids: FrozenSet[int]
    ) -> Tuple[List[Dict[str, Any]], List[Dict[str, Any]]]:
        """Remove what is proven to be the stopped unit's; what was removed, and what was left with the reason."""
        return swap_shm.clean(before, since_ns, uids)

    def free(self, folder: str) -> Optional[int]:
        """Bytes that are free where a folder is, or would be made."""
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        return swap_shm.space(folder)[1]

    # -- servers --

    def get(self, target: Target, path: str, silence_s: float) -> Tuple[int, bytes]:
        """GET from a server: status and body. Raises OSError, ValueError."""
        return drive_http.get(target, path, silence_s)

    def post(self, target: Target, path: str, body: bytes, silence_s: float) -> Tuple[int, bytes]:
        """POST to a server: status and body. Raises OSError, ValueError."""
        return drive_http.post(target, path, body, silence_s)

"""GPUs by the nvidia-smi of this host, where NVML cannot be loaded; Python 3.8, standard library."""

from __future__ import annotations

import os
import subprocess
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from specconsole.remote import probe_smi, probe_unit

Row = Dict[str, Any]
TIMEOUT_S = 20.0
"""With persistence mode off each call takes 4 to 9 s; one in state D never ends, whatever it is sent."""


class NoGpus(Exception):
    """There is no GPU evidence; the text says why."""


def run(argv: Sequence[str]) -> str:
    """Run a command and return what it printed; its status is no guide, since errors come on stdout with status 0 too.

    Raises:
        NoGpus: there is no such program, or it did not end.
    """
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            env=dict(os.environ, LC_ALL="C"),
        )
    except OSError as error:
        raise NoGpus("%s: %s" % (argv[0], (error.strerror or str(error)).lower())) from error
    except subprocess.TimeoutExpired as error:
        raise NoGpus("%s did not end within %.0f s" % (argv[0], TIMEOUT_S)) from error
    return done.stdout.decode("utf-8", "replace")


class Smi:
    """nvidia-smi, and which fields it knows."""

    def __init__(self, run: Callable[[Sequence[str]], str] = run, driver: str = "/proc/driver/nvidia") -> None:
        self.run = run
        self.driver = driver
        self.fields: Tuple[str, ...] = probe_smi.FIELDS

    def read(self) -> Tuple[List[Row], Optional[str]]:
        """One row a GPU, with its processes, and the driver's version; blocks as long as nvidia-smi. Raises NoGpus."""
        said = self._ask()
        found = probe_smi.rows(said, self.fields)
        if found and all(row["index"] < 0 for row in found):
            found = self._one_by_one() or found
        if not found:
            raise NoGpus(probe_smi.failure(said) or "nvidia-smi gave no GPU: %s" % (said.strip()[:200] or "no output"))
        self._add_processes(found)
        return found, probe_smi.driver(said, self.fields)

    def _ask(self, *more: str) -> str:
        said = self.run(probe_smi.query(self.fields, *more))
        unknown = probe_smi.unknown_field(said)
        while unknown in self.fields and unknown != "index":
            self.fields = probe_smi.without(self.fields, unknown)
            said = self.run(probe_smi.query(self.fields, *more))
            unknown = probe_smi.unknown_field(said)
        return said

    def _one_by_one(self) -> List[Row]:
        """Ask every GPU for itself: one that is lost replaces the whole output by a sentence."""
        try:
            buses = sorted(os.listdir(self.driver + "/gpus"))
        except OSError:
            return []
        found: List[Row] = []
        for index, bus in enumerate(buses):  # NVML counts by PCI address, too
            said = self._ask("-i", bus)
            rows = probe_smi.rows(said, self.fields)
            found.append(dict(rows[0], index=index) if rows else dict(probe_smi.lost_row(bus, said), index=index))
        return found

    def _add_processes(self, found: List[Row]) -> None:
        holders = probe_smi.holders(self.run(probe_smi.query_apps()))
        for row in found:
            if "error" not in row:
                row["processes"] = [_with_unit(holder) for holder in holders.get(row["uuid"], [])]


def _with_unit(holder: Row) -> Row:
    title = probe_unit.title_of(holder["pid"], width=80)
    return dict(holder, name=title or holder["name"], unit=probe_unit.unit_of(holder["pid"]))

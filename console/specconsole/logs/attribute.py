"""Who printed a bare line: the names that a pid gave itself earlier, and the rank that it said it has."""

from __future__ import annotations

import re

from specconsole.logs.entry import Entry
from specconsole.logs.peel import Peeled

# Said once by each worker (0.8.0 and later; fields between the two were added by version). A worker prints its global
# rank before that, which is the tensor-parallel one where there is no pipeline.
_ASSIGNED = re.compile(r"is assigned as DP rank \d+,.*?\bTP rank (\d+)")
_WORLD = re.compile(r"world_size=\d+ rank=(\d+) ")


class Names:
    """What the processes of the followed units are called; each line may teach, and each is completed from it.

    journald tells the real writer of each line. From 0.31.0 on only vLLM's own records carry a prefix, and C code never
    did, so tracebacks, bars, warnings and NCCL's lines are attributed by pid. A process may change its name (Worker,
    then Worker_TP0): the newest holds. In a container the line's own pid is not the host's; then nothing is learnt
    for the host's pid, which is the same for all.
    """

    def __init__(self) -> None:
        self._names: dict[tuple[str, int], str] = {}
        self._ranks: dict[tuple[str, int], int] = {}
        self._starts: dict[str, list[str]] = {}

    def invocation(self, entry: Entry) -> str:
        """Return the start that printed it; journald cannot tell for a process that is already gone, so it is the newest."""
        newest = self._starts.setdefault(entry.unit, [])
        if entry.invocation and entry.invocation not in newest:
            newest.append(entry.invocation)
            self._forget(entry.unit)
        return entry.invocation or (newest[-1] if newest else "")

    def complete(self, entry: Entry, line: Peeled) -> Peeled:
        """Learn from a line and fill in what it does not say."""
        pid = line.pid if line.pid is not None else entry.pid
        if pid is None:
            return line
        key = (entry.unit, pid)
        if line.process:
            self._names[key] = line.process
        if line.rank is not None:
            self._ranks[key] = line.rank
        elif "rank" in line.text and (said := _ASSIGNED.search(line.text) or _WORLD.search(line.text)):
            self._ranks[key] = int(said[1])
        process = line.process or self._names.get(key)
        rank = self._ranks.get(key) if line.rank is None else line.rank
        if (process, rank, pid) == (line.process, line.rank, line.pid):
            return line
        # `_replace` would take five times as long, for every line whose header does not name its process.
        return Peeled(line.text, line.level, line.kind, process, rank, pid, line.source, line.stamp)

    def _forget(self, unit: str) -> None:
        for known in (self._names, self._ranks):
            for key in [key for key in known if key[0] == unit]:
                del known[key]

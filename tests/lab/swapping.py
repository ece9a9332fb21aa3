"""What the tests of swaps on real hosts share: the two units, how they come up, and a swap by the command."""

from __future__ import annotations

from tests.lab.cards import cards
from tests.lab.faults import BASELINE, NGRAM
from tests.lab.host import LabHost
from tests.lab.test_lab_itself import get, wait
from tests.lab.test_verbs import Desk
from tests.lab.units import SYSTEM, deployment


def deployed(**changes: str) -> dict[str, str]:
    """The two units; `baseline` and `ngram` are lines that replace [Service]'s own end of the unit's file."""
    files = {**cards(2, power=288_000), **deployment(0.3, tensor_parallel=2)}
    for name, line in changes.items():
        path = f"{SYSTEM}/{BASELINE if name == 'baseline' else NGRAM}"
        files[path] = files[path].replace("TimeoutStopSec=2\n", f"TimeoutStopSec=2\n{line}\n")
    return files


def up(host: LabHost) -> LabHost:
    """Start the baseline and wait until it answers."""
    host.run(f"systemctl start {BASELINE}")
    host.run(f"for i in $(seq 200); do {get('/health')} 2>/dev/null && exit; sleep 0.1; done; exit 1")
    return host


def swapped(desk: Desk, *words: str, status: int = 0) -> str:
    """Swap to n-gram by the command, and return all that it said."""
    done = desk("swap", "gpu-1", NGRAM, "--yes", "--drain", "1", *words, status=status)
    return done.stdout + done.stderr


def cleared(host: LabHost) -> None:
    """Wait until nothing of ours lies in /run: what comes after a swap's end takes its folder away."""
    wait(host, 'test -z "$(ls -A /run/specconsole)"')

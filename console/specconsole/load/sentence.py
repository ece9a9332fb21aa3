"""The sentence of a verdict: that of its signature, made to say no more than the readings beside it show; pure."""

from __future__ import annotations

from collections.abc import Sequence

from specconsole.gpu.fault import GHOST_UTIL
from specconsole.gpu.sample import Gpu
from specconsole.load.condition import Evidence
from specconsole.load.ledger import movements
from specconsole.load.phase import Phase
from specconsole.load.power import BUSY_UTIL, power_share
from specconsole.load.signature import BY_NAME
from specconsole.text import bytes_binary, duration, one_line


def sentence_of(name: str, evidence: Evidence) -> str:
    """Say what the signature `name` means in the case at hand."""
    said = BY_NAME[name].sentence
    if name == "reading":
        said = _reading(evidence)
    if name == "held_memory" and evidence.host and evidence.host.holders:
        most = max(evidence.host.holders, key=lambda holder: holder.memory or 0)
        who = one_line(most.name, 40) or "an unknown process"
        return f"{said}: {who} (pid {most.pid}) holds {bytes_binary(most.memory)} on GPU {most.gpu}"
    if name == "peers" and evidence.now is not None and evidence.signs.peers_since is not None:
        return f"{said}, for {duration(evidence.now - evidence.signs.peers_since)}"
    if name in ("counting", "reading") and evidence.pace and not evidence.pace.complete:
        slow = evidence.pace.slow(evidence.usual_s)
        return f"{said}, slowly: {evidence.pace.words}" if slow else said
    if name == "idle" and evidence.requests is None:
        return "it answers; whether requests run is not known"
    if name in ("ghost", "spinning"):
        return _spinning(name, evidence)
    if name == "thinking":
        said = f"{said}{_beside(evidence)}, as in compiling, tracing and repacking"
    if name in ("thinking", "compilers", "fresh") and evidence.phase is Phase.CAPTURE:
        return f"{said}; graph capture is silent in the journal until it ends"
    return said


def _reading(evidence: Evidence) -> str:
    """What is read, and from where: calls that read count what the page cache and other processes give, too."""
    host = evidence.host
    what = "weights are" if evidence.phase in (Phase.WEIGHTS, Phase.DRAFTER) else "files are"
    moves = set(movements(host)) if host else set()
    if host is None or host.read is None or moves & {"read", "faults"}:
        return f"{what} being read"
    return f"{what if what == 'weights are' else 'data is'} being read, but not from storage"


def _spinning(name: str, evidence: Evidence) -> str:
    gpus = evidence.host.gpus if evidence.host else ()
    how = "at idle power" if all(power_share(gpu) is not None for gpu in gpus) else "and move nothing"
    then = ": a collective spins and nothing comes" if name == "ghost" else ", as for a moment in any collective"
    return f"the GPUs seem busy {how}{then}"


def _beside(evidence: Evidence) -> str:
    """What the GPUs do while the CPU is busy; "" where they do not tell."""
    gpus: Sequence[Gpu] = evidence.host.gpus if evidence.host else ()
    utils = [gpu.util for gpu in gpus if gpu.util is not None]
    if not utils or len(utils) < len(gpus):
        return ""
    if max(utils) < BUSY_UTIL:
        return " and the GPUs idle"
    if max(utils) >= GHOST_UTIL:
        return "; whether the GPUs work or wait is not told"
    return "; the GPUs do little"

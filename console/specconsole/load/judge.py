"""What the evidence says of a load: the rows of `signature` tried in order, the first that holds decides; pure."""

from __future__ import annotations

from collections.abc import Iterator

from specconsole.load import reading
from specconsole.load.condition import CONDITIONS, STATS_S, STUCK_S, WATCH_S, Evidence, idle_s, older
from specconsole.load.phase import Phase
from specconsole.load.sentence import sentence_of
from specconsole.load.signature import BY_NAME, CAUSES, SIGNATURES
from specconsole.load.verdict import GATHERING, NO_SAMPLE, Judgement, Verdict
from specconsole.text import one_line

OBSERVED_S = 60.0
"""For so long we must have seen for ourselves that nothing moves before a hang is called one."""
COLLECTIVE_S = 240.0
"""Seconds of silence after which a first collective hangs where the GPUs do not confirm it."""


def judge(evidence: Evidence) -> Verdict:
    """Say what a load is doing, on what evidence, and what to do or where to look next."""
    if evidence.diagnosis is not None:
        said = evidence.diagnosis
        return Verdict(
            Judgement.FAILED, said.title, (), (), "failed", said.name, next(iter(said.advice), ""), at=evidence.now
        )
    row = next(row for row in SIGNATURES if row.name not in CONDITIONS or CONDITIONS[row.name](evidence))
    missing = tuple(_missing(evidence))
    judgement = _judgement(row.name, evidence)
    if judgement is Judgement.STUCK and evidence.host and evidence.host.not_permitted:
        judgement = Judgement.WATCH  # what may not be read could show that it works
    alarming = judgement in (Judgement.WATCH, Judgement.STUCK, Judgement.NEEDS_PROBE, Judgement.WAITING_FOR_PEER)
    cause = _cause(row.name, evidence)
    return Verdict(
        judgement,
        sentence_of(row.name, evidence),
        tuple(_evidence(evidence)),
        missing,
        row.name,
        cause,
        _advice(row.name, evidence, cause) if alarming or judgement is Judgement.WORKING_SLOW else "",
        row.probe if judgement in (Judgement.NEEDS_PROBE, Judgement.WATCH) else "",
        evidence.stalled_s,
        evidence.now,
    )


def _evidence(evidence: Evidence) -> Iterator[str]:
    if evidence.host:
        yield from reading.of_gpus(evidence.host.gpus, evidence.host.gpu_memory)
        yield from reading.of_host(evidence.host)
    yield from reading.of_log(evidence.signs, evidence.now)
    if evidence.serving and evidence.requests is not None:
        yield f"{evidence.requests} request{'' if evidence.requests == 1 else 's'} running"
    if evidence.stepping is not None:
        yield "stacks differ between two looks" if evidence.stepping else "the same innermost frame twice"
    if evidence.pace:
        yield evidence.pace.words


def _missing(evidence: Evidence) -> Iterator[str]:
    if evidence.host is None:
        yield NO_SAMPLE
        return
    yield from (f"{what}: not permitted" for what in evidence.host.not_permitted)
    if evidence.host.gpu_why:
        yield f"GPUs: {one_line(evidence.host.gpu_why, 80)}"
    elif any(gpu.util is None for gpu in evidence.host.gpus):
        yield "no utilisation from the GPUs"
    if evidence.gathering:
        yield GATHERING


_FIXED = {
    "desync": Judgement.STUCK,
    "wedge": Judgement.STUCK,
    "idle": Judgement.IDLE,
    "peers": Judgement.WAITING_FOR_PEER,
    "held_memory": Judgement.WATCH,
    "mmap": Judgement.WORKING_SLOW,
    "traced": Judgement.WORKING_SLOW,
    "overdue": Judgement.WATCH,
    "long_thinking": Judgement.NEEDS_PROBE,
    "gathering": Judgement.NEEDS_PROBE,
    "heartbeats": Judgement.NEEDS_PROBE,
    "silent": Judgement.NEEDS_PROBE,
}
_HANGS = ("network", "ghost", "same_frame", "blocked", "download", "flat")


def _judgement(name: str, evidence: Evidence) -> Judgement:
    if name == "wedge" and not evidence.signs.notices and STATS_S < idle_s(evidence) < STUCK_S:
        return Judgement.WATCH
    if name in _FIXED:
        return _FIXED[name]
    if name == "same_frame" and evidence.host is None and _silent_s(evidence) < _collective_s(evidence):
        return Judgement.WATCH
    if name in _HANGS or name == "collective":
        # A failed completion is final: NCCL does not try again.
        least_s = WATCH_S if name == "network" else STUCK_S if name in _HANGS else _collective_s(evidence)
        # Before we came it may have moved unseen, in silence.
        seen = evidence.observed_s is None or evidence.observed_s >= OBSERVED_S
        return Judgement.STUCK if older(evidence, least_s) and seen else Judgement.WATCH
    slow = evidence.pace is not None and not evidence.pace.complete and evidence.pace.slow(evidence.usual_s)
    return Judgement.WORKING_SLOW if slow else Judgement.WORKING


def _silent_s(evidence: Evidence) -> float:
    """For how long nothing came after the collectives' set-up, which is the common hang; 0.0 elsewhere, and where no time is told."""
    return evidence.stalled_s or 0.0 if evidence.signs.after_nccl else 0.0


def _collective_s(evidence: Evidence) -> float:
    """Where nothing but the log is known, the common hang is presumed sooner than where the GPUs look idle."""
    return STUCK_S if evidence.host is None or not evidence.host.gpus else COLLECTIVE_S


def _cause(name: str, evidence: Evidence) -> str:
    if name in ("ghost", "same_frame", "collective"):
        if evidence.signs.network_error:
            return "nccl_ib_error"
        if evidence.machine.acs_redirects:
            return "pcie_acs_enabled"
        if evidence.signs.nccl_complete:
            return "p2p_first_collective"
        early = evidence.signs.after_nccl or evidence.phase in (Phase.CONFIG, Phase.INIT)
        return "nccl_p2p_hang" if early else "collective_hang"
    return next((cause for cause, signature in CAUSES if signature == name), "")


_ADVICE = {
    "pcie_acs_enabled": "Switch ACS off above the GPUs (setpci, pci=noacs or the BIOS), or start it with NCCL_P2P_DISABLE=1",
    "nccl_ib_error": BY_NAME["network"].advice,
}


def _advice(name: str, evidence: Evidence, cause: str) -> str:
    fabric = evidence.machine.fabric
    nvlink = (evidence.machine.topology or "").startswith("NV") or fabric is not None
    if name in ("ghost", "collective") and nvlink and not evidence.machine.acs_redirects:
        return f"Fabric state {fabric or 'not known'}: restart the fabric manager (nvidia-fabricmanager), or reboot the node"
    return _ADVICE.get(cause, BY_NAME[name].advice)

"""Why a start failed: the first exception of the deepest process, what systemd and the kernel say, and what to do; pure.

All of it can come from a live host or from files. What is not known is left out; a failure that no row knows is told by
its own exception line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from specconsole.gpu.fault import XID, XID_OF_APPLICATIONS
from specconsole.load.clue import Clue, Clues
from specconsole.load.diagnosis import Diagnosis, Number
from specconsole.load.evidence import Holder
from specconsole.load.failure import Failure, Rank, said
from specconsole.load.failures import OF_PROCESSES, OF_REQUESTS, OOM
from specconsole.load.failures_host import EXIT_STATUS, RESULTS
from specconsole.load.phase import Phase
from specconsole.load.shortage import worked_out
from specconsole.logs.record import Level
from specconsole.text import bytes_binary, one_line

SERVED_S = 300.0
"""Of a server that had served, only what it said so shortly before its end tells why; what went before it survived."""


@dataclass(frozen=True)
class Ending:
    """How a start ended, by systemd; everything may be unknown."""

    at: float | None = None
    result: str = ""
    """systemd's Result: success, exit-code, signal, oom-kill, timeout …"""
    exit_code: str | None = None
    """exited, killed or dumped."""
    exit_status: int | None = None
    stop_asked: bool = False
    """PID 1 was asked to stop it."""
    served: bool = False
    """It had answered before."""
    restarts: int | None = None


@dataclass(frozen=True)
class Xid:
    """An Xid that the driver reported while the load ran."""

    gpu: int
    code: int


@dataclass(frozen=True)
class Around:
    """What is known beside the log."""

    holders: Sequence[Holder] = ()
    """Who else holds GPU memory now."""
    orphans: Sequence[Holder] = ()
    """Processes of the start itself that still hold GPU memory after its end."""
    xids: Sequence[Xid] = ()
    stale_segments: int | None = None
    """Segments in /dev/shm that nobody maps."""
    port: int | None = None
    toolkit: str | None = None
    """The CUDA toolkit's version, by nvcc."""
    gpu_arch: str | None = None
    """sm_120."""
    speculative: bool | None = None
    """The unit drafts."""
    drafter: bool | None = None
    """The drafter has weights of its own; None: not known."""
    baseline: str = ""
    """The unit to fall back to."""
    worked_before: bool = False
    """The same unit has been ready before."""


def diagnose(
    clues: Clues, ending: Ending | None = None, around: Around | None = None, phase: Phase | None = None
) -> Diagnosis | None:
    """Name the failure; None where nothing failed: it was stopped on request, or nothing says that it failed."""
    ending, around = ending or Ending(), around or Around()
    if ending.stop_asked:
        return None
    found = _timely(clues.found, ending)
    system = next((clue for clue in found if clue.system and clue.rank is Rank.CAUSE), None)
    root = _fault(around) or system or _root(found)
    if (
        root is None
        or root.rank is Rank.CONSEQUENCE
        or (root.failure is None and not root.exception and ending.result == "oom-kill")
    ):
        told = _by_systemd(ending, found)
        root = told if told is not None else root
    root = root or next((clue for clue in found if clue.failure), None)
    if root is not None and root.failure is None and root.rank is Rank.CONSEQUENCE:
        root = _unsaid(root, found)
    if root is None:
        return None
    return _tell(_placed(root, ending, phase), found, clues, ending, around, phase)


def _placed(root: Clue, ending: Ending, phase: Phase | None) -> Clue:
    """Say of full GPU memory what helps where it happened: weights that do not fit leave nothing for a KV cache to give."""
    if root.failure is None or root.failure.name != "oom" or root.failure.phase:
        return root
    where = "serving" if ending.served else "weights" if phase is Phase.DOWNLOAD else phase.value if phase else ""
    advice = tuple(text for text in root.failure.advice if "holder" in text or "suggested" in text)
    failure = replace(root.failure, phase=where, advice=(*advice, *OOM[where]) if where in OOM else root.failure.advice)
    return replace(root, failure=failure)


_DEATH = re.compile(
    r"(?P<what>[Ww]orker|[Ee]ngine core) (?:proc(?:ess)? )?(?P<who>\S+)(?: pid \d+)? died(?: unexpectedly|, exit)|(?P<gone>engine core) exited unexpectedly"
)


def _unsaid(root: Clue, found: Sequence[Clue]) -> Clue:
    """A process that ended without a word, where nothing but others' words of it are left."""
    told = next((match for clue in found if (match := _DEATH.search(clue.line))), None)
    if told is None:
        return root
    worker = (told["what"] or "").lower() == "worker"
    name, title = ("worker_died", "A worker died") if worker else ("engine_died", "The engine died")
    failure = Failure(
        name,
        title,
        "",
        (f"{one_line(told['who'] or 'The engine', 60)} ended, and no line of its own says why.",),
        ("Look at dmesg for a kill or an Xid, and at coredumpctl.", "Read what was printed before it, not after."),
    )
    return replace(root, rank=Rank.CAUSE, failure=failure)


def _timely(found: Sequence[Clue], ending: Ending) -> Sequence[Clue]:
    if not ending.served:
        return found
    found = [clue for clue in found if not of_request(clue)]
    return found if ending.at is None else [clue for clue in found if clue.at >= ending.at - SERVED_S]


def of_request(clue: Clue) -> bool:
    """Tell what goes wrong with one request, which a server that serves survives, from what ends it."""
    if clue.fatal or clue.system or (clue.process and _depth(clue) > 1):
        return False
    if clue.rank is Rank.CONSEQUENCE:
        return OF_PROCESSES.search(clue.line) is None
    return clue.failure is None or clue.failure.name in OF_REQUESTS


def _depth(clue: Clue) -> int:
    """How deep in the tree of processes a line was printed; the API server only hears of what failed below it."""
    name = clue.process or ""
    if "Worker" in name:
        return 3
    if name.startswith(("EngineCore", "DPEngineCore")) or not name:
        return 2
    return 1


def _root(found: Sequence[Clue]) -> Clue | None:
    """The cause among the clues: the first known one of the deepest process; no consequence where there is another.

    An exception that ended a deeper process goes before it though no row knows it: what was known followed from that.
    A warning counts only where no error tells, or where the error only wraps it.
    """
    telling = [clue for clue in found if clue.rank is not Rank.CONSEQUENCE and not clue.system]
    hard = [clue for clue in telling if clue.exception or clue.level >= Level.ERROR]
    soft = [clue for clue in telling if clue not in hard and clue.rank is Rank.CAUSE]
    cause = _deepest(clue for clue in hard if clue.rank is Rank.CAUSE)
    ended = _deepest(clue for clue in hard if clue.fatal and clue.exception)
    if cause and not (ended and _depth(ended) > _depth(cause)):
        return cause
    last = ended or _deepest(clue for clue in hard if clue.exception) or _deepest(hard)
    if soft and (last is None or last.failure is not None):
        return soft[0]
    return last or _deepest(telling) or next((clue for clue in found if not clue.system), None)


def _deepest(clues: Iterable[Clue]) -> Clue | None:
    """The first clue of the deepest process among them."""
    return max(clues, key=_depth, default=None)


def _fault(around: Around) -> Clue | None:
    """A GPU that failed under the load is the cause of all that its processes say."""
    grave = next((xid for xid in around.xids if xid.code not in XID_OF_APPLICATIONS), None)
    if grave is None:
        return None
    line = f"Xid {grave.code} on GPU {grave.gpu}: {XID.get(grave.code, 'see the list of Xid errors of NVIDIA')}"
    failure = Failure(
        "gpu_fault",
        "The GPU had a fault",
        "",
        (line + ".",),
        ("Reset the GPU or reboot the node before the next start; if it comes back, have the card looked at.",),
    )
    numbers: dict[str, Number] = {"xid": grave.code, "gpu": grave.gpu}
    return Clue(line, 0.0, "kernel", Level.CRITICAL, Rank.CAUSE, failure, numbers, system=True)


def _by_systemd(ending: Ending, found: Sequence[Clue]) -> Clue | None:
    """What systemd's result tells where the log says nothing better."""
    status = ending.exit_status
    if ending.result == "exit-code" and status in EXIT_STATUS:
        what = f"systemd says {status}: {EXIT_STATUS[status]}."
        row = (
            "bad_unit",
            "systemd could not run the command",
            what,
            "Correct the unit's file, then systemctl daemon-reload.",
        )
    elif ending.result == "success" and any(
        "EngineDeadError" in clue.line or "engine core" in clue.line.lower() for clue in found
    ):
        row = (
            "engine_died",
            "The engine died",
            "The API server then ended cleanly, with 0, so that systemd calls it a success.",
            "Look at dmesg for a kill or an Xid; set Restart=always, since on-failure does nothing here.",
        )
    elif ending.result in RESULTS:
        row = RESULTS[ending.result]
    else:
        return None
    name, title, sentence, advice = row
    if ending.result in ("signal", "core-dump") and status is not None:
        sentence += f" Signal {status}."
    failure = Failure(name, title, "", (sentence,), (advice,))
    return Clue("", ending.at or 0.0, "systemd", Level.ERROR, Rank.CAUSE, failure, {}, system=True)


_DRAFTERS_OWN = (
    "oom",
    "drafter_vocabulary",
    "eagle3_unsupported",
    "mtp_weights_missing",
    "host_oom",
    "gpu_fault",
    "start_timeout",
    "terminated",
)


def _tell(
    root: Clue, found: Sequence[Clue], clues: Clues, ending: Ending, around: Around, phase: Phase | None
) -> Diagnosis:
    failure = root.failure
    if (
        phase is Phase.DRAFTER
        and around.drafter is not False
        and (failure is None or (failure.name not in _DRAFTERS_OWN and not root.system))
    ):
        failure = _drafter(failure)
    name = failure.name if failure else "unknown_error"
    numbers = _numbers(name, root, found, clues, around)
    title = failure.title if failure else "It failed for a reason that is not known here"
    sentence = next((text for template in failure.sentence if (text := said(template, numbers))), "") if failure else ""
    where = next(
        (
            clue.failure.phase
            for clue in (root, *found)
            if clue.failure and clue.failure.name == name and clue.failure.phase
        ),
        "",
    )
    option = said(failure.option, numbers) if failure and failure.option else None
    return Diagnosis(
        name,
        title,
        sentence or one_line(root.line, 300) or title,
        root.line,
        root.process,
        root.at or None,
        where or (phase.value if phase else ""),
        numbers,
        tuple(_advice(failure, numbers)),
        option or "",
        tuple(_notes(name, numbers, ending, around)),
        tuple(dict.fromkeys(one_line(clue.line, 200) for clue in found if clue.rank is Rank.CONSEQUENCE))[:5],
    )


def _drafter(failure: Failure | None) -> Failure:
    why = failure.sentence if failure else ()
    advice = failure.advice if failure else ()
    return Failure(
        "drafter_load_failed",
        "The drafter could not be loaded",
        "",
        (*why, "The target model was loaded; the drafter was not."),
        (
            "Start the baseline unit meanwhile.",
            *advice,
            "Compare hidden_size, vocabulary and architecture in both configs.",
        ),
        facts={"affects": "speculative_only"},
    )


def _numbers(name: str, root: Clue, found: Sequence[Clue], clues: Clues, around: Around) -> dict[str, Number]:
    """The root's numbers, completed by lines of the same failure, by lines before it, and by the host."""
    numbers: dict[str, Number] = {}
    for clue in reversed([clue for clue in found if clue.failure and clue.failure.name == name]):
        numbers.update(clue.numbers)
    numbers.update(clues.support.get(name, {}))
    numbers.update(root.numbers)
    if name == "drafter_load_failed":
        numbers["affects"] = "speculative_only"
    for key in ("port", "toolkit", "gpu_arch", "stale_segments"):
        if (value := getattr(around, key)) is not None and (key != "port" or numbers.get("scope") == "http"):
            numbers.setdefault(key, value)
    if numbers.get("scope") == "distributed_init":
        numbers.pop("port", None)
    return numbers | worked_out(name, numbers)


def _advice(failure: Failure | None, numbers: Mapping[str, Number]) -> Iterator[str]:
    if failure is None:
        yield "Read the traceback that ends in this line: its innermost frame says where."
        return
    given = [text for template in failure.advice if (text := said(template, numbers))]
    for place, text in enumerate(given):
        # What it is an alternative to may need a number that the log did not tell.
        first = not place and text.startswith("Or ")
        yield text[3].upper() + text[4:] if first else text


def _notes(name: str, numbers: Mapping[str, Number], ending: Ending, around: Around) -> Iterator[str]:
    if name in ("gpu_memory_held", "oom", "no_kv_memory", "leftover_process"):
        for holder in around.holders[:4]:
            yield f"GPU {holder.gpu}: {_who(holder)} holds {bytes_binary(holder.memory)}"
    for holder in around.orphans[:4]:
        yield f"GPU {holder.gpu}: {_who(holder)} outlived the start and still holds {bytes_binary(holder.memory)}"
    if numbers.get("affects") == "speculative_only" or (name == "drafter_load_failed"):
        yield f"Only the speculative unit is affected{f'; {one_line(around.baseline, 80)} would start' if around.baseline else ''}"
    if ending.result == "success" and not ending.stop_asked:
        yield "systemd calls it a success (exit 0): Restart=on-failure does nothing"
    if ending.restarts and ending.restarts >= 2:
        yield f"systemd has started it anew {ending.restarts} times: it fails each time until the cause is mended"
    if around.worked_before and name in ("oom", "kv_cache_too_small", "no_kv_memory", "unknown_error"):
        yield "It has been ready before: look what changed (version, arguments, who else uses the GPUs)"
    for xid in around.xids:
        if xid.code in XID_OF_APPLICATIONS:
            yield f"GPU {xid.gpu} reported Xid {xid.code}, {XID[xid.code]}"


def _who(holder: Holder) -> str:
    """A holder by name; one that the host does not show may be in a container, or dead: nobody should end it blindly."""
    name = one_line(holder.name, 60)
    return f"{name} (pid {holder.pid})" if name else f"pid {holder.pid}, which is not visible here,"

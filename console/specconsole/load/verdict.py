"""What the evidence says of a load at one moment: a word, the evidence it rests on, and what to do next; frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

NO_SAMPLE = "no sample of the host"
GATHERING = "rates need two samples, which are being taken"


class Judgement(Enum):
    """What a load is doing, as far as the evidence tells."""

    WORKING = "working"
    WORKING_SLOW = "working_slow"
    """It gets on, much slower than it should; the cause is named where it is known."""
    WATCH = "watch"
    """The signs of a hang, for less time than a healthy load may show them."""
    WAITING_FOR_PEER = "waiting_for_peer"
    """It waits for another node or process, which has to be looked at there."""
    NEEDS_PROBE = "needs_probe"
    """The evidence does not decide; `Verdict.probe` would."""
    STUCK = "stuck"
    IDLE = "idle"
    """Ready and healthy, with nothing to do."""
    FAILED = "failed"


@dataclass(frozen=True)
class Verdict:
    """What is to be thought of a load now, and why."""

    judgement: Judgement
    sentence: str
    """The signature in a few words, without the judgement itself: "the GPUs seem busy at idle power: a collective spins"."""
    evidence: tuple[str, ...] = ()
    """What it rests on, one reading each: "8/8 GPUs 100 % busy at 88 W", "no bytes read from storage"."""
    missing: tuple[str, ...] = ()
    """What could not be read and would have counted: "bytes read: not permitted"; it softens the judgement."""
    signature: str = ""
    """The row of the table of signatures that decided: ghost, held_memory, peers, blocked, compilers, mmap …"""
    cause: str = ""
    """The likely cause by its name (nccl_p2p_hang, mmap_network_fs …); "" where there is none to name."""
    advice: str = ""
    """What to try, where there is something to do."""
    probe: str = ""
    """The cheapest look that would tell more, when unsure."""
    stalled_s: float | None = None
    """Seconds since something was last seen to get on; None: not known."""
    at: float | None = None
    """When it was judged, in seconds since the epoch by the host's clock; None: the evidence has no time."""

    @property
    def gathering(self) -> bool:
        """Samples are being taken, and are not far enough apart yet to be compared."""
        return GATHERING in self.missing or NO_SAMPLE in self.missing

    @property
    def alarming(self) -> bool:
        """Somebody should look: a hang is likely or certain, or the load has failed."""
        return self.judgement in (Judgement.WATCH, Judgement.STUCK, Judgement.WAITING_FOR_PEER, Judgement.FAILED)

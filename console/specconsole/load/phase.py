"""The phases of a start, in order, and which of them a unit's arguments let expect; data and pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Phase(Enum):
    """One phase of a start; declared in the order in which they come, which never goes backwards."""

    CONFIG = "config"
    """From the first process to the engine's configuration: two imports of 10 to 30 s each, mostly silent."""
    INIT = "init"
    """Device and distributed init: the workers find each other."""
    DOWNLOAD = "download"
    """Files are fetched from a hub, in silence; only where the model is no path of this host."""
    WEIGHTS = "weights"
    """Parameters are allocated, then the checkpoint is read: the one phase that counts."""
    POST = "post"
    """Weights are repacked and converted, in silence."""
    DRAFTER = "drafter"
    """The drafter's own weights."""
    COMPILE = "compile"
    """Dynamo and Inductor, or a load from their cache."""
    PROFILE = "profile"
    """A dummy run that measures memory; a drafter's own graph is compiled in it."""
    KV_CACHE = "kv_cache"
    """The KV cache is allocated."""
    WARMUP = "warmup"
    """Kernels are compiled or tuned before graphs are captured."""
    CAPTURE = "capture"
    """CUDA graphs; its bars reach the journal only when they are finished."""
    WARMUP_AFTER = "warmup_after"
    """What runs between the last graph and "init engine took"; 20 s, unannounced, on a recorded start."""
    API = "api"
    """From the engine's readiness to the first answer over HTTP."""
    ANSWERING = "answering"
    """Health and the model list answer; a token is being generated."""
    READY = "ready"
    """One token was generated."""

    @property
    def order(self) -> int:
        """Its place among all, from 0."""
        return _ORDER[self]

    @property
    def title(self) -> str:
        """What a person reads."""
        return _TITLES.get(self, self.value)


_ORDER = {phase: place for place, phase in enumerate(Phase)}
_TITLES = {
    Phase.POST: "post-process",
    Phase.KV_CACHE: "kv cache",
    Phase.WARMUP: "warm-up",
    Phase.WARMUP_AFTER: "warm-up after capture",
}

OPTIONAL = frozenset({Phase.DOWNLOAD, Phase.DRAFTER, Phase.COMPILE, Phase.WARMUP, Phase.CAPTURE})
"""Phases that some starts do not have."""
WITHOUT_DRAFTER = ("ngram", "ngram_gpu", "suffix", "custom_class", "extract_hidden_states")
"""Methods that draft without weights of their own; the V1 runner says "Loading drafter model..." for them too."""


@dataclass(frozen=True)
class Expectation:
    """What a unit's command, read beforehand, says of its start; None and False where it does not tell."""

    model: str | None = None
    """A path, or the name of a repository."""
    method: str | None = None
    """The speculative method; None: no speculation, or not known (see `speculation_known`)."""
    k: int | None = None
    drafter: str | None = None
    """The drafter's path or repository."""
    speculation_known: bool = True
    """False: the command could not be read in full, so that speculation may be on or off."""
    eager: bool = False
    workers: int | None = None
    """Processes that each load a part: tensor times pipeline parallel size, times data parallel size."""
    engines: int | None = None
    """The data parallel size."""
    version: str | None = None


def plan(expected: Expectation) -> tuple[Phase, ...]:
    """Name the phases that a start will have, in order, as far as its arguments tell.

    Eager mode neither compiles nor captures; a path needs no download; n-gram and suffix have no drafter's weights. A
    phase that comes all the same is shown when it comes.
    """
    absent = {Phase.WARMUP}
    if expected.eager:
        absent = {Phase.COMPILE, Phase.CAPTURE, Phase.WARMUP_AFTER}
    if expected.model is None or expected.model.startswith(("/", ".", "~")):
        absent.add(Phase.DOWNLOAD)
    if expected.method is None or expected.method in WITHOUT_DRAFTER:
        absent.add(Phase.DRAFTER)
    return tuple(phase for phase in Phase if phase not in absent)

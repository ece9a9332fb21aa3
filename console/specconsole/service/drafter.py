"""Drafters that are on a host already, and whether they fit a unit's model: by size, vocabulary and kind, before any load."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from specconsole.host.base import Host
from specconsole.service import drafter_rule, label, premise
from specconsole.service.checkpoint import Checkpoint
from specconsole.service.finding import OURS, Finding, refused
from specconsole.service.method import Facts
from specconsole.service.method_table import MTP_FAMILIES

TOKENS = 3
"""A usual number of drafts for a drafter whose config says none; a start to measure from, no advice."""


@dataclass(frozen=True)
class Offer:
    """One way to draft with what is there."""

    drafter: Checkpoint
    """The model itself, where its own layers draft."""
    method: str
    place: str
    """The drafter as vLLM would be told of it; "" for the model's own layers."""
    findings: tuple[Finding, ...] = ()
    checked: bool = False
    """Hidden size and vocabulary of both are known and were compared."""

    @property
    def fits(self) -> bool | None:
        """False: something speaks against it; None: not all of it could be compared."""
        if refused(self.findings):
            return False
        return True if self.checked and not self.findings else None

    @property
    def config(self) -> str:
        """A --speculative-config to begin with."""
        tokens = self.drafter.n_predict or (1 if self.method == "mtp" else TOKENS)
        named = {"model": self.place} if self.place else {}
        return json.dumps({"method": self.method, **named, "num_speculative_tokens": tokens})


@dataclass(frozen=True)
class Offers:
    """What a search brought."""

    target: Checkpoint | None
    """The served model; None: not known, so nothing could be compared."""
    offers: tuple[Offer, ...] = ()
    """Those that fit first."""
    searched: tuple[str, ...] = ()
    cut: str = ""
    """Why the search is not complete; "" when it is."""


async def offers(host: Host, known: Facts) -> Offers:
    """Search beside the model and in its caches for drafters; reads only, bounded in folders, depth and time.

    Raises LinkLost.
    """
    model, _ = premise.names(known)
    place = premise.on_host(model, known.launch) if model else None
    caches = premise.hubs(known.launch, known.given.text("download-dir"))
    beside = [place, place.rstrip("/").rpartition("/")[0]] if place and place.startswith("/") else []
    search = list(dict.fromkeys([*beside, *caches]))
    seen = await premise.look(host, [model] if model else [], known.launch, None, search)
    target = seen.named.get(model or "") or known.target
    found = [_offer(one, target, known) for one in seen.found if target is None or one.path != target.path]
    own = list(_own(target)) if target else []
    order = {True: 0, None: 1, False: 2}
    ranked = sorted([*own, *found], key=lambda offer: (order[offer.fits], offer.drafter.path))
    return Offers(target, tuple(ranked), tuple(search), seen.cut)


def _offer(drafter: Checkpoint, target: Checkpoint | None, known: Facts) -> Offer:
    place = _inside(drafter.path, known)
    if target is None or not target.known:
        return Offer(drafter, drafter.kind, place)
    findings = (*drafter_rule.fits(drafter, target, known.version, drafter.kind), *_trained_for(drafter, target))
    sizes = (
        drafter.target_hidden_size or drafter.hidden_size,
        target.hidden_size,
        drafter.vocab_size,
        target.vocab_size,
    )
    return Offer(drafter, drafter.kind, place, findings, all(sizes))


def _inside(path: str, known: Facts) -> str:
    """The path as vLLM sees it: in a container by its mount."""
    container = known.launch.container
    for outside, inside in container.volumes if container else ():
        if path == outside or path.startswith(f"{outside}/"):
            return inside + path[len(outside) :]
    return path


def _own(target: Checkpoint) -> Iterator[Offer]:
    """The model's own layers, where it has them and their weights."""
    if target.n_predict and target.model_type in MTP_FAMILIES and target.mtp_weights is not False:
        yield Offer(target, "mtp", "", (), target.mtp_weights is True)


def _trained_for(drafter: Checkpoint, target: Checkpoint) -> Iterator[Finding]:
    """A drafter that names another model than this one; quantised copies go by longer names."""
    if not drafter.target:
        return
    named, ours = (_plain(name) for name in (drafter.target, target.called))
    if named not in ours and ours not in named:
        sentence = f"The drafter's config says that it was trained for {label.identity(drafter.target)}."
        yield Finding(
            "drafter-target", "warn", sentence, f"{drafter.target} in {drafter.called}, {target.called} is served", OURS
        )


def _plain(name: str) -> str:
    return "".join(char for char in name.rstrip("/").rpartition("/")[2].lower() if char.isalnum())

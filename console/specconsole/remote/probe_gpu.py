"""All GPUs of this host, through NVML or else nvidia-smi; Python 3.8.

Each GPU has a thread of its own, and so has whatever else may hang: a driver that does not answer costs a tick no more
than its patience, and one GPU that does not answer hides no other.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Tuple

from specconsole.remote.probe_card import Card
from specconsole.remote.probe_errand import Errand, run_all
from specconsole.remote.probe_fallback import NoGpus, Smi
from specconsole.remote.probe_xid import KernelLog

Row = Dict[str, Any]
Costs = Dict[str, float]

AGAIN_S = 30.0
"""After how long NVML is tried again where it could not be loaded, or where no GPU has answered for `DEAD_S`."""
DEAD_S = 10.0
SILENT = "driver has not answered"
"""How the `error` of a GPU begins that may yet answer."""
SMI_PATIENCE_S = 5.0
SMI_AGAIN_S = 10.0
"""After how long nvidia-smi is asked again when it failed."""


def load_pynvml() -> Any:
    """Import pynvml; raises NoGpus."""
    try:
        import pynvml
    except (ImportError, SyntaxError) as error:
        raise NoGpus("pynvml cannot be loaded: %s" % error) from error
    return pynvml


class Gpus:
    """Reads every GPU at each tick and never waits longer than it is told to."""

    def __init__(
        self, load: Callable[[], Any] = load_pynvml, smi: Optional[Smi] = None, log: Optional[KernelLog] = None
    ) -> None:
        self.load = load
        self.source = "none"
        self.why: Optional[str] = None
        """Why there is no evidence, or why it is the fallback."""
        self.driver: Optional[str] = None
        self._log = log or KernelLog()
        self._nvml: Any = None
        self._cards: List[Card] = []
        self._errands: List[Errand] = []
        self._seen: List[float] = []
        self._last: Dict[int, Row] = {}
        self._answered = 0.0
        self._opening = Errand(self._open, "nvml")
        self._smi = Errand((smi or Smi()).read, "nvidia-smi")
        self._smi_seen = float("-inf")

    def read(self, groups: FrozenSet[str], until: float) -> Tuple[List[Row], Costs]:
        """Read what answers before a moment (monotonic seconds): a row a GPU, and what each group cost."""
        rows, costs = self._read(groups, until)
        self._log.read()
        self._log.add_to(rows)
        return rows, costs

    def _read(self, groups: FrozenSet[str], until: float) -> Tuple[List[Row], Costs]:
        self._renew()
        if not self._opening.wait(until):
            silent = time.monotonic() - (self._opening.since or time.monotonic())
            self.source, self.why = "none", "NVML has not answered for %s" % _seconds(silent)
            return [], {}
        if self._opening.error is not None:
            return self._fallback(str(self._opening.error), until)
        self.source, self.why = "nvml", None if self._cards else "the driver sees no GPU"
        run_all(self._errands, until, groups)
        return self._collect()

    def _renew(self) -> None:
        """Open NVML at first, after a failure, and when it answers for no GPU: a driver loaded anew needs a new start."""
        now, opening = time.monotonic(), self._opening
        if opening.since is not None or any(errand.since is not None for errand in self._errands):
            return
        failed = opening.error is not None or not self._cards
        dead = bool(self._cards) and now - self._answered >= DEAD_S
        if (failed or dead) and now - opening.finished >= AGAIN_S:
            opening.start()

    def _open(self) -> None:
        """Load NVML and count the GPUs; blocks as long as the driver does. Raises NoGpus."""
        nvml = self.load()
        try:
            before, self._nvml = self._nvml, None
            if before is not None:
                before.nvmlShutdown()
            nvml.nvmlInit()
            self._nvml = nvml
            count = nvml.nvmlDeviceGetCount()
        except nvml.NVMLError as error:
            raise NoGpus("NVML: %s" % error) from error
        self.driver = _text_or_none(nvml, "nvmlSystemGetDriverVersion")
        cards = [Card(nvml, index) for index in range(count)]
        for errand in self._errands:
            errand.stop()
        self._last, self._answered = {}, time.monotonic()
        self._seen = [float("-inf")] * count
        self._errands = [Errand(card.read, "gpu%d" % card.index) for card in cards]
        self._cards = cards

    def _collect(self) -> Tuple[List[Row], Costs]:
        rows: List[Row] = []
        costs: Costs = {}
        for place, (card, errand) in enumerate(zip(self._cards, self._errands)):  # noqa: B905  3.8
            if errand.finished <= self._seen[place]:
                rows.append(self._silent(card, errand))
                continue
            self._seen[place] = errand.finished
            if errand.error is not None:
                rows.append(dict(card.who, error="the probe failed on it: %s" % errand.error))
                continue
            row, spent = errand.result
            rows.append(row)
            for group, seconds in spent.items():
                costs[group] = max(costs.get(group, 0.0), seconds)
            if "error" not in row:
                self._last[card.index] = row
                self._answered = time.monotonic()
        return rows, costs

    def _silent(self, card: Card, errand: Errand) -> Row:
        """A card that has not answered since the last tick: who it is, and apart from that what it said before."""
        silent = time.monotonic() - (errand.since or time.monotonic())
        row = dict(card.who, error="%s for %s" % (SILENT, _seconds(silent)))
        if card.index in self._last:
            row["last"] = self._last[card.index]
        return row

    def _fallback(self, reason: str, until: float) -> Tuple[List[Row], Costs]:
        started, smi = time.monotonic(), self._smi
        if smi.error is None or started - smi.finished >= SMI_AGAIN_S:
            run_all([smi], max(until, started + SMI_PATIENCE_S))
        elif smi.since is None:
            return [], {}
        if smi.finished <= self._smi_seen:
            silent = time.monotonic() - (smi.since or time.monotonic())
            self.source, self.why = "none", "%s; nvidia-smi has not answered for %s" % (reason, _seconds(silent))
            return [], {}
        self._smi_seen = smi.finished
        if smi.error is not None:
            self.source, self.why = "none", "%s; %s" % (reason, smi.error)
            return [], {}
        self.source, self.why = "nvidia-smi", reason
        rows, self.driver = smi.result
        return rows, {"cheap": time.monotonic() - started}


def _text_or_none(nvml: Any, call: str) -> Optional[str]:
    try:
        said = getattr(nvml, call)()
    except nvml.NVMLError:
        return None
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _seconds(span: float) -> str:
    return "%.1f s" % span if span < 10 else "%.0f s" % span

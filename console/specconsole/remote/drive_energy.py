"""The energy that a unit's GPUs take while requests run; Python 3.8, pynvml given by the caller.

NVML's counter of energy is read, and where a card has none its power is sampled and summed up. Measured on an H200 (driver
580.159.04, counter looked at 2,000 times a second): it moves every 100 ms, and a look at it takes 3.5 ms (13 at most) where
looks are 200 ms apart. Over 8 s of load it gave 4,554 J and the instantaneous power (field 186), summed up every 50 ms, 4,530 J.
The power of nvmlDeviceGetPowerUsage is the mean of a second since Ampere: it missed 5 % of 8 s, 40 % of 1 s after a rest, and
gave that to the rest. So the instantaneous one is taken where there is one.

A look is taken between two windows, right before the next begins. The energy of a window goes from look to look, so the sum
of all windows is exact to one move of the counter; what is computed between two requests belongs to the earlier one.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Dict, List, Optional

from specconsole.remote import probe_unit
from specconsole.remote.probe_errand import Errand, run_all
from specconsole.remote.probe_fallback import NoGpus
from specconsole.remote.probe_gpu import load_pynvml

COUNTER, INSTANT, AVERAGED = "counter", "instant power", "averaged power"
"""Where the joules come from."""
POWER_INSTANT = 186
"""NVML's field of the power now, in mW; drivers before 530 have none."""
EVERY_S = 0.05
OPEN_S = 10.0
LOOK_S = 2.0
"""A driver that does not answer holds a run up no longer than this, once."""
SETTLE_S = 0.3
"""By when the counter has moved after the last request."""

Row = Dict[str, Any]


class Card:
    """One GPU: which source it has, and how many joules it took so far."""

    def __init__(self, nvml: Any, index: int, handle: Any) -> None:
        self.nvml = nvml
        self.index = index
        self.handle = handle
        self.source = self._source()
        self._joules = 0.0
        self._last: Optional[List[float]] = None

    def _source(self) -> str:
        for source, ask in ((COUNTER, self._counter), (INSTANT, self._instant), (AVERAGED, self._averaged)):
            try:
                ask()
            except (self.nvml.NVMLError, AttributeError, ValueError):
                continue
            return source
        return ""

    def _counter(self) -> float:
        return float(self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle)) / 1e3

    def _instant(self) -> float:
        """Watts now. Raises ValueError where this card does not say."""
        field = self.nvml.nvmlDeviceGetFieldValues(self.handle, [POWER_INSTANT])[0]
        watts = float(field.value.uiVal) / 1e3
        if field.nvmlReturn != 0 or watts <= 0:
            raise ValueError("no such field")
        return watts

    def _averaged(self) -> float:
        return float(self.nvml.nvmlDeviceGetPowerUsage(self.handle)) / 1e3

    def look(self) -> float:
        """Joules so far, from an origin of its own. Raises NVMLError or ValueError."""
        if self.source == COUNTER:
            return self._counter()
        now, watts = time.perf_counter(), self._instant() if self.source == INSTANT else self._averaged()
        if self._last is not None:
            self._joules += (now - self._last[0]) * (watts + self._last[1]) / 2
        self._last = [now, watts]
        return self._joules


class Meter:
    """Reads the GPUs that processes of one unit hold."""

    def __init__(self, unit: str, load: Callable[[], Any] = load_pynvml) -> None:
        self.unit = unit
        self.cards: List[Card] = []
        self.errands: List[Errand] = []
        self._load = load
        self._over = threading.Event()
        self._sampler: Optional[threading.Thread] = None

    def open(self) -> Row:
        """Find the unit's GPUs; says which, what their joules come from, or why there is nothing to read."""
        errand = Errand(self._open, "nvml")
        errand.start()
        if not errand.wait(time.monotonic() + OPEN_S):
            return {"source": None, "why": "NVML has not answered for %.0f s" % OPEN_S, "gpus": []}
        errand.stop()
        if errand.error is not None:
            return {"source": None, "why": str(errand.error), "gpus": []}
        found: Row = errand.result
        if found["source"]:
            self.errands = [Errand(card.look, "gpu%d" % card.index) for card in self.cards]
            if found["source"] != COUNTER:
                self._sampler = threading.Thread(target=self._sample, name="power", daemon=True)
                self._sampler.start()
        return found

    def _open(self) -> Row:
        nvml = self._load()
        try:
            nvml.nvmlInit()
            return self._find(nvml)
        except nvml.NVMLError as error:
            raise NoGpus("NVML: %s" % error) from error

    def _find(self, nvml: Any) -> Row:
        rows = []
        for index in range(nvml.nvmlDeviceGetCount()):
            try:
                handle = nvml.nvmlDeviceGetHandleByIndex(index)
                units = [probe_unit.unit_of(pid) for pid in _holders(nvml, handle)]
                uuid = _text(nvml.nvmlDeviceGetUUID(handle))
            except nvml.NVMLError:  # lost, and so nobody's that serves
                continue
            if self.unit in units:
                self.cards.append(Card(nvml, index, handle))
                rows.append({"index": index, "uuid": uuid, "others": sum(unit != self.unit for unit in units)})
        sources = {card.source for card in self.cards}
        if not self.cards:
            return {"source": None, "why": "no GPU is seen to be held by a process of %s" % self.unit, "gpus": []}
        if "" in sources:
            return {"source": None, "why": "the cards tell neither energy nor power", "gpus": rows}
        worst = next(source for source in (AVERAGED, INSTANT, COUNTER) if source in sources)
        return {"source": worst, "why": None, "gpus": rows}

    def look(self) -> List[Optional[float]]:
        """Joules of each card so far; None for one that does not answer."""
        begun = time.monotonic()
        run_all(self.errands, begun + LOOK_S)
        return [errand.result if errand.error is None and errand.finished >= begun else None for errand in self.errands]

    def settled(self) -> List[Optional[float]]:
        """The same once every counter has moved, or after `SETTLE_S`: it holds all that the last request took."""
        first = last = self.look()
        due = time.monotonic() + SETTLE_S
        while self._sampler is None and time.monotonic() < due and None not in last and _any_same(first, last):
            time.sleep(0.01)
            last = self.look()
        return last

    def _sample(self) -> None:
        while not self._over.wait(EVERY_S):
            run_all(self.errands, time.monotonic() + LOOK_S)

    def close(self) -> None:
        """Read no more."""
        self._over.set()
        for errand in self.errands:
            errand.stop()


def _holders(nvml: Any, handle: Any) -> List[int]:
    """The processes that compute on a card; drivers before 510 have no third version of that call."""
    for version in ("_v3", "_v2"):
        try:
            return [holder.pid for holder in getattr(nvml, "nvmlDeviceGetComputeRunningProcesses" + version)(handle)]
        except nvml.NVMLError_FunctionNotFound:
            continue
    return []


def _any_same(first: List[Optional[float]], last: List[Optional[float]]) -> bool:
    return any(one == other for one, other in zip(first, last))  # noqa: B905  3.8


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

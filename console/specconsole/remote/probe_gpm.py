"""GPM: what the SMs, the DRAM and PCIe did between two samples; Hopper and newer server cards. Python 3.8.

Measured on an H200: 0.5 to 0.7 ms a sample, where the PCIe counters take 21 ms a direction. NVML 580.159 crashes
(segmentation fault in nvmlGpmMetricsGet, 5 of 6 runs with two GPUs) when two threads are in its GPM calls at once, also
for different GPUs: so one lock guards them all. Nothing else of NVML needed it.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Any, Dict, Optional, Tuple

METRICS = (
    ("sm_active", "NVML_GPM_METRIC_SM_UTIL", 0.01),
    ("dram_active", "NVML_GPM_METRIC_DRAM_BW_UTIL", 0.01),
    ("pcie_tx", "NVML_GPM_METRIC_PCIE_TX_PER_SEC", 1048576.0),
    ("pcie_rx", "NVML_GPM_METRIC_PCIE_RX_PER_SEC", 1048576.0),
)
"""Field of the row, metric, and factor from its unit (per cent, MiB/s) to ours (share, bytes a second)."""
SHORTEST_S = 0.05
"""Two samples taken 2 ms apart showed a loaded card as idle."""
FIELDS = tuple(field for field, _, _ in METRICS)
PATIENCE_S = 0.1
"""How long a card waits for the others' readings; a driver that hangs in one of them must not hold up the rest."""
_one_at_a_time = threading.Lock()


class Gpm:
    """Two sample buffers of one card, swapped at each reading."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self.nvml = nvml
        self.handle = handle
        self._older = nvml.nvmlGpmSampleAlloc()
        self._newer = nvml.nvmlGpmSampleAlloc()
        self._has_older = False
        self._older_at = 0.0

    def forget(self) -> None:
        """Start anew: a reading over a long pause would not say what happens now."""
        self._has_older = False

    def read(self) -> Tuple[Dict[str, float], Dict[str, str]]:
        """Take a sample; returns values since the one before by field, and the reason for each that is missing."""
        now = time.monotonic()
        if self._has_older and now - self._older_at < SHORTEST_S:
            return {}, dict.fromkeys(FIELDS, "too soon after the last reading")
        if not _one_at_a_time.acquire(timeout=PATIENCE_S):
            self.forget()
            return {}, dict.fromkeys(FIELDS, "the driver has not answered for another GPU")
        try:
            return self._read(now)
        finally:
            _one_at_a_time.release()

    def _read(self, now: float) -> Tuple[Dict[str, float], Dict[str, str]]:
        try:
            self.nvml.nvmlGpmSampleGet(self.handle, self._newer)
            answer = self._metrics() if self._has_older else None
        except self.nvml.NVMLError as error:
            self.forget()
            return {}, dict.fromkeys(FIELDS, str(error))
        self._older, self._newer = self._newer, self._older
        self._has_older, self._older_at = True, now
        if answer is None:
            return {}, dict.fromkeys(FIELDS, "needs two readings")
        return self._values(answer)

    def _metrics(self) -> Any:
        wanted = self.nvml.c_nvmlGpmMetricsGet_t()
        wanted.version = self.nvml.NVML_GPM_METRICS_GET_VERSION
        wanted.numMetrics = len(METRICS)
        wanted.sample1, wanted.sample2 = self._older, self._newer
        for place, (_, metric, _) in enumerate(METRICS):
            wanted.metrics[place].metricId = getattr(self.nvml, metric)
        return self.nvml.nvmlGpmMetricsGet(wanted)

    def _values(self, answer: Any) -> Tuple[Dict[str, float], Dict[str, str]]:
        metrics = [answer.metrics[place] for place in range(len(METRICS))]
        if any(not metric.nvmlReturn and not math.isfinite(metric.value) for metric in metrics):
            # On a loaded H200 one NaN stood beside zeros for all the rest: the whole interval says nothing.
            return {}, dict.fromkeys(FIELDS, "the driver gave no number this time")
        values, why = {}, {}
        for metric, (field, _, factor) in zip(metrics, METRICS):  # noqa: B905  3.8
            if metric.nvmlReturn:
                why[field] = str(self.nvml.NVMLError(metric.nvmlReturn))
            else:
                values[field] = round(metric.value * factor, 4)
        return values, why


def open_gpm(nvml: Any, handle: Any) -> Optional[Gpm]:
    """Get GPM of a card; None where card, driver or pynvml has none."""
    try:
        support = nvml.nvmlGpmQueryDeviceSupport(handle)
        return Gpm(nvml, handle) if support.isSupportedDevice else None
    except (nvml.NVMLError, AttributeError):
        return None

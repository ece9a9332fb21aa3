"""GPM: what the SMs, the DRAM and PCIe did between two samples; Hopper and newer server cards. Python 3.8.

Measured on an H200: 0.5 to 0.7 ms a sample, where the PCIe counters take 21 ms a direction.
"""

from __future__ import annotations

import math
from typing import Any, Dict, Optional, Tuple

METRICS = (
    ("sm_active", "NVML_GPM_METRIC_SM_UTIL", 0.01),
    ("dram_active", "NVML_GPM_METRIC_DRAM_BW_UTIL", 0.01),
    ("pcie_tx", "NVML_GPM_METRIC_PCIE_TX_PER_SEC", 1048576.0),
    ("pcie_rx", "NVML_GPM_METRIC_PCIE_RX_PER_SEC", 1048576.0),
)
"""Field of the row, metric, and factor from its unit (per cent, MiB/s) to ours (share, bytes a second)."""
FIELDS = tuple(field for field, _, _ in METRICS)


class Gpm:
    """Two sample buffers of one card, swapped at each reading."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self.nvml = nvml
        self.handle = handle
        self._older = nvml.nvmlGpmSampleAlloc()
        self._newer = nvml.nvmlGpmSampleAlloc()
        self._has_older = False

    def forget(self) -> None:
        """Start anew: a reading over a long pause would not say what happens now."""
        self._has_older = False

    def read(self) -> Tuple[Dict[str, float], Dict[str, str]]:
        """Take a sample; returns values since the one before by field, and the reason for each that is missing."""
        try:
            self.nvml.nvmlGpmSampleGet(self.handle, self._newer)
            answer = self._metrics() if self._has_older else None
        except self.nvml.NVMLError as error:
            self.forget()
            return {}, dict.fromkeys(FIELDS, str(error))
        self._older, self._newer = self._newer, self._older
        self._has_older = True
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
        values, why = {}, {}
        for place, (field, _, factor) in enumerate(METRICS):
            metric = answer.metrics[place]
            if metric.nvmlReturn:
                why[field] = str(self.nvml.NVMLError(metric.nvmlReturn))
            elif not math.isfinite(metric.value):  # it gives NaN now and then
                why[field] = "the driver gave no number this time"
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

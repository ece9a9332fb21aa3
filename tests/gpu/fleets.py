"""Samples for tests: one line makes a fleet."""

from __future__ import annotations

from typing import Any

from specconsole.gpu.sample import Fleet, Gpu, Vitals

GIB = 1 << 30


def gpu(index: int = 0, **values: Any) -> Gpu:
    """A busy RTX PRO 6000; changes are fields of `Gpu`."""
    healthy: dict[str, Any] = {
        "name": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "memory_used": 93 * GIB,
        "memory_total": 96 * GIB,
        "util": 0.99,
        "power_w": 288.0,
        "power_limit_w": 600.0,
        "temperature_c": 61.0,
        "throttle": (),
        "processes": (),
    }
    return Gpu(index=index, uuid=f"GPU-{index}", **healthy | values)


def lost(index: int, error: str = "GPU is lost") -> Gpu:
    return Gpu(index=index, uuid=f"GPU-{index}", name="NVIDIA RTX PRO 6000 Blackwell Server Edition", error=error)


def fleet(*gpus: Gpu, at: float = 0.0, **values: Any) -> Fleet:
    """A sample taken `at` seconds after the first."""
    plain: dict[str, Any] = {"source": "nvml", "why": None, "vitals": Vitals(memory_total=256 * GIB), "interval_s": 1.0}
    return Fleet(at=1_700_000_000.0 + at, mono=5000.0 + at, gpus=gpus, **plain | values)

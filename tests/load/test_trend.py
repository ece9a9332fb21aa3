"""The evidence of a load over its whole time: a point a step, thinned so that it never grows without end."""

from __future__ import annotations

from typing import Any

from specconsole.gpu.sample import Fleet, Gpu, GpuProcess, UnitProcess, UnitTree, Vitals
from specconsole.load.trend import FIRST_STEP_S, MOST, Trend, feed

UNIT = "vllm-a.service"


def sample(mono: float, *, read: int | None = 0, cpu: float = 0.0) -> Fleet:
    process = UnitProcess(7, 1, "VLLM::EngineCore", "R", cpu, read, started_s=1.0)
    gpu = Gpu(0, "GPU-0", "card", memory_used=5, util=0.5, power_w=90.0, processes=(GpuProcess(7, "x", 1, UNIT),))
    values: dict[str, Any] = {"at": 1000.0 + mono, "mono": mono, "source": "nvml", "why": None, "gpus": (gpu,)}
    return Fleet(**values, vitals=Vitals(), units={UNIT: UnitTree((process,))})


def test_a_point_sums_up_what_came_since_the_one_before() -> None:
    trend = Trend()
    for second in range(11):
        trend = feed(trend, sample(float(second), read=second * 1000, cpu=second * 2.0), UNIT, done=0.25)
    assert [point.at for point in trend.points] == [1005.0, 1010.0]
    newest = trend.points[-1]
    assert (newest.read, newest.cpu, newest.done) == (1000.0, 2.0, 0.25)
    assert (newest.util, newest.power_w, newest.memory) == (0.5, 90.0, 5)


def test_what_may_not_be_read_is_unknown_and_no_zero() -> None:
    trend = Trend()
    for second in (0.0, 5.0):
        trend = feed(trend, sample(second, read=None), UNIT)
    assert trend.points[-1].read is None


def test_a_load_of_hours_takes_no_more_room() -> None:
    trend = Trend()
    for second in range(0, 4 * 3600, 5):
        trend = feed(trend, sample(float(second), cpu=second / 10), UNIT)
        assert len(trend.points) < MOST
    assert trend.step_s > FIRST_STEP_S
    assert trend.points[0].at < 1200.0
    assert trend.points[-1].at > 1000.0 + 4 * 3600 - 200.0


def test_a_host_that_restarted_begins_anew() -> None:
    trend = feed(feed(Trend(), sample(50.0), UNIT), sample(55.0), UNIT)
    after = feed(trend, sample(1.0), UNIT)
    assert len(after.points) == len(trend.points)
    assert after.last
    assert after.last.mono == 1.0

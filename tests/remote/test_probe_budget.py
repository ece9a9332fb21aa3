"""Which dear fields a tick leaves out, and when they come back."""

from __future__ import annotations

import pytest

from specconsole.remote.probe_budget import DEAR, SHARE, Budget

ALL = frozenset(DEAR)


def learned(**costs: float) -> Budget:
    budget = Budget()
    for _ in range(3):
        budget.learn(costs)
    return budget


def test_everything_is_read_before_anything_is_known() -> None:
    assert Budget().plan(0.1, 0.0) == ALL


def test_pcie_counters_fit_a_second_and_not_a_tenth() -> None:
    budget = learned(cheap=0.003, host=0.002, pcie=0.042, processes=0.0002)
    assert budget.plan(1.0, 0.0) == ALL
    assert budget.plan(0.1, 0.0) == ALL - {"pcie"}


def test_gpm_fits_a_tenth_of_a_second() -> None:
    assert learned(cheap=0.003, host=0.002, gpm=0.004, processes=0.0002).plan(0.1, 0.0) == ALL


def test_the_dearest_goes_first() -> None:
    budget = learned(cheap=0.003, pcie=0.050, gpm=0.010, processes=0.020)
    assert budget.plan(0.2, 0.0) == {"gpm", "processes"}
    assert budget.plan(0.1, 0.0) == {"gpm"}
    assert budget.plan(0.04, 0.0) == set()


def test_it_comes_back_at_once_when_the_interval_allows_it() -> None:
    budget = learned(cheap=0.003, pcie=0.042)
    assert "pcie" not in budget.plan(0.1, 0.0)
    assert "pcie" in budget.plan(1.0, 0.1)


def test_it_does_not_come_and_go_at_the_edge() -> None:
    budget = learned(cheap=0.003, pcie=0.0225)
    assert "pcie" not in budget.plan(0.1, 0.0)
    assert "pcie" not in budget.plan(0.105, 0.1)  # would fit, with nothing to spare
    assert "pcie" in budget.plan(0.13, 0.2)


def test_one_bad_minute_of_the_driver_is_forgotten() -> None:
    budget = learned(cheap=0.003, gpm=0.030)
    assert "gpm" not in budget.plan(0.1, 0.0)
    for second in range(1, 30):
        assert "gpm" not in budget.plan(0.1, float(second))
    assert "gpm" in budget.plan(0.1, 70.0)


def test_the_first_call_is_no_measure() -> None:
    budget = Budget()
    budget.learn({"gpm": 0.5})
    assert "gpm" in budget.plan(0.1, 0.0)
    budget.learn({"gpm": 0.5})
    assert "gpm" not in budget.plan(0.1, 0.0)


@pytest.mark.parametrize(("host", "interval"), [(0.001, 0.1), (0.1, 0.4), (30.0, 5.0)])
def test_what_cannot_be_left_out_slows_the_ticks(host: float, interval: float) -> None:
    assert learned(cheap=0.0, host=host).interval(0.1) == pytest.approx(interval)
    assert SHARE == 0.25

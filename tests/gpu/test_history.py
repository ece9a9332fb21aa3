"""The last minutes as columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.gpu.history import COLUMNS, History
from tests.gpu.fleets import fleet, gpu, lost


def test_columns_grow_with_the_samples_and_forget_the_oldest() -> None:
    history = History(3)
    for second in range(5):
        history.add(fleet(gpu(0, util=second / 10), at=second))
    assert history.column("GPU-0", "util") == (0.2, 0.3, 0.4)
    assert [at - 1_700_000_000 for at in history.times] == [2, 3, 4]


def test_a_copy_does_not_move_with_the_ring() -> None:
    history = History(3)
    history.add(fleet(gpu(0, power_w=1.0)))
    before = history.column("GPU-0", "power_w")
    history.add(fleet(gpu(0, power_w=2.0), at=1))
    assert before == (1.0,)


def test_what_was_not_read_is_a_hole_not_zero() -> None:
    history = History()
    history.add(fleet(gpu(0), gpu(1)))
    history.add(fleet(lost(0), gpu(1, pcie_rx=None), at=1))
    history.add(fleet(gpu(0), at=2))
    assert history.column("GPU-0", "util") == (0.99, None, 0.99)
    assert history.column("GPU-1", "util") == (0.99, 0.99, None)
    assert history.column("GPU-1", "pcie_rx") == (None, None, None)


def test_a_gpu_that_comes_later_has_a_hole_before() -> None:
    history = History()
    history.add(fleet())
    history.add(fleet(gpu(0), at=1))
    assert history.column(gpu(0), "util") == (None, 0.99)
    assert history.column("GPU-9", "util") == ()


def test_samples_that_come_slower_than_the_host_says_leave_no_holes() -> None:
    history = History()
    for at in range(0, 100, 10):
        history.add(fleet(gpu(0), at=at))  # interval_s is 1
    assert None not in history.column("GPU-0", "util")
    assert history.pace_s == 10
    history.add(fleet(gpu(0), at=190))
    assert history.column("GPU-0", "util")[-11:] == (0.99, *[None] * 9, 0.99), "a pause of ten of its paces is one"


def test_after_a_change_of_pace_the_new_one_holds() -> None:
    history = History()
    for at in (0, 1, 2, 3, 4, 5, 15, 25, 35, 45, 55, 65):
        history.add(fleet(gpu(0), at=at))
    column = history.column("GPU-0", "util")
    assert column[-4:] == (0.99,) * 4
    assert history.pace_s == 10


def test_the_share_of_memory_is_kept_for_cards_that_share_the_hosts_too() -> None:
    history = History()
    history.add(fleet(gpu(0)))
    assert history.column("GPU-0", "memory_share") == (gpu(0).memory_used / gpu(0).memory_total,)  # type: ignore[operator]


def test_a_cut_link_leaves_a_hole_as_long_as_it_was() -> None:
    history = History()
    for at in (-3, -2, -1, 0):
        history.add(fleet(gpu(0), at=at))
    history.add(fleet(gpu(0), at=1.9))  # one late tick is none
    history.add(fleet(gpu(0), at=6))
    assert history.column("GPU-0", "util")[-5:] == (0.99, None, None, None, 0.99)
    history.add(fleet(gpu(0), at=1e6))
    assert history.column("GPU-0", "util")[:-1] == (None,) * 599
    history.add(fleet(gpu(0), at=5))  # a clock that was set back is no hole
    assert len(history.times) == 600


def test_gpus_keep_their_columns_when_their_numbers_change() -> None:
    history = History()
    history.add(fleet(gpu(0, util=0.1), gpu(1, util=0.2)))
    swapped = [gpu(1, util=0.3), gpu(0, util=0.4)]
    history.add(fleet(*swapped, at=1))
    assert history.column("GPU-0", "util") == (0.1, 0.4)


@given(st.lists(st.tuples(st.sets(st.integers(0, 3)), st.floats(0, 50)), max_size=20), st.integers(1, 8))
def test_every_column_is_as_long_as_the_times(steps: list[tuple[set[int], float]], length: int) -> None:
    history, at = History(length), 0.0
    for present, passed in steps:
        at += passed
        history.add(fleet(*(gpu(index) for index in present), at=at))
        for index in range(4):
            for name in COLUMNS:
                column = history.column(f"GPU-{index}", name)
                assert not column or len(column) == len(history.times) <= length
    assert list(history.times) == sorted(history.times)


def test_a_trend_has_a_point_for_five_samples_and_stands_still_between() -> None:
    history = History(20)
    for at in range(14):
        history.add(fleet(gpu(0, util=at / 100), at=at))
    assert history.trend(gpu(0)).util == pytest.approx((0.02, 0.07))
    for at in range(14, 48):
        history.add(fleet(gpu(0, util=None if 30 <= at < 35 else at / 100), at=at))
    first, *others = history.trend(gpu(0)).util
    assert first is None, "five samples that were not read"
    assert others == pytest.approx([0.37, 0.42]), "whole points that are still held"
    assert history.trend(gpu(1)).util == ()
    assert len(history.trend(gpu(0)).memory) == 3

"""One clock for a file: the outermost stamps, and where a line has none what others tell."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.logs.stamp import YEAR, Stamps, moment, year_in

INNER = b"INFO 05-06 21:59:57 [x.py:1] a"


def times(*lines: bytes, year: int | None = None) -> list[float | None]:
    stamps = Stamps(year)
    return [stamps.of(line) for line in lines]


def gaps(*lines: bytes) -> list[float]:
    found = times(*lines)
    assert None not in found
    return [now - before for before, now in pairwise(found)]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("one", "other", "seconds"),
    [
        (b"INFO 05-06 21:59:57 [x.py:1] a", b"INFO 05-06 22:00:16 [x.py:2] b", 19),
        (b"2026-05-01 23:45:03.974 | INFO x", b"2026-05-01 23:48:14.050 | y", 190.076),
        (b"2025-05-16T14:12:16.645427617Z DEBUG 05-16 14:12:16 [a.py:1] x", b"2025-05-16T14:12:26.645427617Z y", 10),
        (b"Aug  9 19:34:27 gpu vllm[1]: a", b"Aug 10 19:34:27 gpu vllm[1]: a", 86400),
        (b'{"__REALTIME_TIMESTAMP" : "1742201931000000"}', b'{"__REALTIME_TIMESTAMP":"1742201933500000"}', 2.5),
        (b"2025-08-27 05:43:37,609 - INFO - a", b"2025-08-27T05:43:38.609+00:00 x", 1),
        (b"vllm-1  | 2026-03-04T05:06:07Z a", b"vllm-1  | 2026-03-04T05:06:09Z a", 2),
        (
            b"Loading: 1% Completed | 1/9 [1:32:50<1:28:27, 132.70s/it]",
            b"Loading: 2% Completed | 2/9 [1:35:44<1:34:18, 1s/it]",
            174,
        ),
        (INNER, b"no stamp at all", 0),
    ],
)
def test_difference(one: bytes, other: bytes, seconds: float) -> None:
    assert gaps(one, other) == [pytest.approx(seconds)]


def test_inner_stamps_are_moved_to_the_outer_clock() -> None:
    found = gaps(b"2026-05-01 23:45:03 | INFO 05-01 21:45:03 [a.py:1] x", b"INFO 05-01 21:45:13 [a.py:1] x")
    assert found == [10]


def test_a_bar_moves_the_clock_between_stamps() -> None:
    assert gaps(INNER, b"L: 1% Completed | 1/9 [00:10<00:1, 1s/it]", b"L: 2% Completed | 2/9 [00:15<00:1, 1s/it]") == [
        0,
        5,
    ]


def test_stamps_of_a_copy_do_not_hide_the_pace() -> None:
    lines = [b"2026-03-04T05:06:07.%03dZ L: 1%% Completed | %d/9 [%02d:00<00:1, 1s/it]" % (n, n, n) for n in (1, 2, 3)]
    assert gaps(*lines)[1:] == [pytest.approx(60)]
    assert gaps(*lines, b"2026-03-04T05:06:07.900Z x")[-1] == pytest.approx(0.9, abs=0.1)  # never back in time


def test_years() -> None:
    assert year_in(b"x\n2024-10-07T23:54:54,595 a") == 2024
    assert year_in(INNER) is None
    assert times(INNER)[0] == moment("05-06 21:59:57", YEAR)
    assert moment("2026-07-01T19:34:11Z") == 1782934451
    assert moment("nothing") is None


@given(st.lists(st.binary(max_size=200), max_size=8))
def test_any_line(lines: list[bytes]) -> None:
    times(*lines)

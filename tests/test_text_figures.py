"""Spans and ranges in words."""

from __future__ import annotations

import math

import pytest

from specconsole.text import about, milliseconds_between


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, "—"), (41, "0:41"), (599, "9:59"), (600, "10 min"), (2292, "38 min"), (9000, "2 h 30"), (273600, "3d 4h")],
)
def test_a_long_span_without_its_seconds(seconds: float | None, said: str) -> None:
    assert about(seconds) == said


def test_a_range_says_what_is_known_of_it() -> None:
    assert milliseconds_between(0.01, 0.025, 0.0174) == "17.4 ms"
    assert milliseconds_between(0.0, 0.01, None) == "<10 ms"
    assert milliseconds_between(80.0, math.inf, None) == ">80000 ms"

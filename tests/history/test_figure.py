"""What a figure of a run can be, whoever wrote it down."""

from __future__ import annotations

import pytest

from specconsole.history.figure import problem


@pytest.mark.parametrize(
    ("name", "value"),
    [("tau", 0.96), ("tau", 64.0), ("coverage", 1.04), ("acceptance_rate", 0), ("tpot_s", None), ("label", True)],
)
def test_what_can_be(name: str, value: object) -> None:
    assert problem(name, value) == ""


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("tau", 0.94, '"tau" is 0.94, and a step brings one token at least'),
        ("acceptance_length", 1001, "a step brings one token at least"),
        ("coverage", 1.06, '"coverage" is 1.06, and a share lies between 0 and 1'),
        ("acceptance_rate", float("nan"), "a share lies between 0 and 1"),
        ("requests", True, '"requests" is no number'),
        ("tpot_s", "0.01", '"tpot_s" is no number'),
    ],
)
def test_what_cannot_be_is_said(name: str, value: object, said: str) -> None:
    assert said in problem(name, value)

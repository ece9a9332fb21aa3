"""Records of a start are judged alike however they come: one by one, in batches, or in slices of a batch."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specconsole.host.base import Host
from specconsole.load.verdict import Verdict
from specconsole.logs.record import LogRecord
from specconsole.service.start import Follower, Standing
from specconsole.service.unit import UnitState
from tests.fakes import FakeClock
from tests.load.replay import records_of
from tests.service.test_start import UNIT, Machine

STARTS = ("moe-eagle3", "dense-dies")


@cache
def told(name: str) -> tuple[LogRecord, ...]:
    """A recorded start as the log of the unit's present one."""
    invocation = UNIT.state.invocation
    return tuple(record._replace(unit=UNIT.key, invocation=invocation) for record in records_of(name, 5000.0))


def ended() -> UnitState:
    return replace(UNIT.state, active="failed", sub="failed", result="exit-code", exit_code="exited", exit_status=1)


def followed(records: tuple[LogRecord, ...], cuts: list[int], late: int) -> tuple[Standing, Verdict | None, object]:
    """What is known after records that came in pieces; the last `late` of them when the unit had ended."""
    follower = Follower(cast(Host, Machine()), UNIT, FakeClock())
    follower.units((UNIT,))
    end = len(records) - late
    cuts = sorted({0, end, len(records), *(cut for cut in cuts if cut < len(records))})
    for begin, stop in pairwise(cuts):
        if begin == end:
            follower.units((replace(UNIT, state=ended()),))
        follower.records(records[begin:stop])
    follower.units((replace(UNIT, state=ended()),))
    assert follower.attempt
    return follower.standing(follower.attempt), follower.verdict(follower.attempt), follower.insight


@cache
def one_by_one(name: str, late: int) -> tuple[Standing, Verdict | None, object]:
    records = told(name)
    return followed(records, list(range(len(records))), late)


@pytest.mark.parametrize("name", STARTS)
@given(cuts=st.lists(st.integers(1, 400), max_size=12), late=st.sampled_from([0, 3, 30]))
@settings(max_examples=12, deadline=None)
def test_cuts_change_nothing(name: str, cuts: list[int], late: int) -> None:
    assert followed(told(name), cuts, late) == one_by_one(name, late)


@pytest.mark.parametrize("name", STARTS)
def test_the_story_is_told_whole(name: str) -> None:
    standing, _, _ = one_by_one(name, 0)
    assert len(told(name)) > 30
    assert len(standing.attempt.spans) > 2
    assert standing.attempt.heard_at is not None
    assert standing.attempt.last_line

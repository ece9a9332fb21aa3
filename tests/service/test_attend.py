"""The story of a start, told from the unit's states."""

from __future__ import annotations

from dataclasses import replace

from specconsole.host.base import Endpoint
from specconsole.load import feed as load
from specconsole.load.feed import STOP_BEGUN
from specconsole.load.timeline import Stage
from specconsole.logs.record import Kind, LogRecord
from specconsole.service.attend import observe
from specconsole.service.unit import Serving, Unit, UnitState

RUNNING = UnitState(
    load="loaded", active="active", sub="running", result="success", main_pid=7, restarts=0, exit_code=None, exit_status=None,
    since_s=40.0, mono=1000.0, invocation="one", enabled="enabled", started_mono=960.0,
)  # fmt: skip
DEAD = replace(
    RUNNING, active="failed", sub="failed", result="exit-code", main_pid=None, exit_code="exited", exit_status=1
)


def unit(state: UnitState) -> Unit:
    serving = Serving((), "serve", "m", ("m",), Endpoint())
    return Unit("a.service", "system", "", "/etc/systemd/system/a.service", (), serving, state)


def test_nothing_runs_nothing_is_told() -> None:
    assert observe(None, unit(replace(DEAD, active="inactive", sub="dead")), 5000.0) is None


def test_the_start_is_dated_by_the_hosts_boot_clock() -> None:
    begun = observe(None, unit(RUNNING), 5000.0)
    assert begun
    assert (begun.started, begun.invocation, begun.stage) == (4960.0, "one", Stage.LOADING)


def test_a_reading_that_came_late_is_mended_by_the_next_ones() -> None:
    late = observe(None, unit(RUNNING), 5030.0)
    assert late
    assert late.started == 4990.0
    better = observe(late, unit(replace(RUNNING, mono=1060.0)), 5060.0)
    assert better
    assert better.started == 4960.0
    assert observe(better, unit(replace(RUNNING, mono=1070.0)), 5090.0) is better


def test_an_unknown_start_time_stays_unknown() -> None:
    begun = observe(None, unit(replace(RUNNING, started_mono=None)), 5000.0)
    assert begun
    assert begun.started is None


def test_a_failure_says_how_and_when_also_where_nobody_looked_then() -> None:
    over = observe(observe(None, unit(RUNNING), 5000.0), unit(replace(DEAD, since_s=600.0)), 5610.0)
    assert over
    assert (over.stage, over.failed_at) == (Stage.FAILED, 5010.0)
    assert over.reason == "it exited with an error (exited 1)"
    assert observe(over, unit(DEAD), 5011.0) is over


def test_exit_code_0_without_a_request_is_a_failure() -> None:
    over = observe(observe(None, unit(RUNNING), 5000.0), unit(replace(RUNNING, active="inactive", sub="dead")), 5010.0)
    assert over
    assert over.stage is Stage.FAILED
    assert "nobody asked it to stop" in over.reason


def test_a_stop_on_request_is_told_apart() -> None:
    begun = observe(None, unit(RUNNING), 5000.0)
    assert begun
    stopping = LogRecord(
        1, 5001.0, "a.service", "Stopping a…", kind=Kind.SYSTEMD, message_id=STOP_BEGUN, invocation="one"
    )
    over = observe(load.feed(begun, stopping), unit(replace(RUNNING, active="inactive", sub="dead")), 5010.0)
    assert over
    assert over.reason == "it was stopped on request"


def test_a_restart_ends_one_story_and_begins_the_next() -> None:
    begun = observe(None, unit(RUNNING), 5000.0)
    waiting = replace(DEAD, active="activating", sub="auto-restart", restarts=3)
    over = observe(begun, unit(waiting), 5010.0)
    assert over
    assert over.stage is Stage.FAILED
    assert "restart 3" in over.reason
    assert observe(over, unit(waiting), 5010.5) is over
    again = observe(over, unit(replace(RUNNING, invocation="two", mono=1012.0, started_mono=1011.0)), 5012.0)
    assert again
    assert (again.invocation, again.started, again.stage) == ("two", 5011.0, Stage.LOADING)


def test_a_restart_between_two_readings_is_not_missed() -> None:
    begun = observe(None, unit(RUNNING), 5000.0)
    second = unit(replace(RUNNING, invocation="two", restarts=1))
    over = observe(begun, second, 5010.0)
    assert over
    assert (over.invocation, over.stage) == ("one", Stage.FAILED)
    again = observe(over, second, 5010.5)
    assert again
    assert again.invocation == "two"

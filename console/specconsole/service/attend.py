"""A unit's state turned into the story of its present start: begun, over, why; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specconsole.load.case import Known
from specconsole.load.diagnose import Ending
from specconsole.load.feed import begin, failed
from specconsole.load.phase import Expectation
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.service.plan import utilization
from specconsole.service.unit import Role, Unit, UnitState

# systemd's word for how a service ended, as a person would say it.
RESULTS = {
    "exit-code": "it exited with an error",
    "signal": "it was killed by a signal",
    "core-dump": "it crashed and dumped core",
    "oom-kill": "the kernel's OOM killer ended it: the host ran out of memory",
    "timeout": "systemd's time limit ended it (TimeoutStartSec or TimeoutStopSec)",
    "watchdog": "systemd's watchdog ended it",
    "protocol": "it did not speak systemd's start protocol (Type=)",
    "start-limit-hit": "systemd refuses to start it again: too many starts in a short time",
    "resources": "systemd could not set up its resources",
    "exec-condition": "its ExecCondition said no",
}
OLDER = "a process older than this start answers on its port"
UNDECIDED = (Stage.LOADING, Stage.ANSWERING)
BETTER_S = 1.0
"""A start is dated anew when a later reading puts it this much earlier."""


def observe(attempt: LoadTimeline | None, unit: Unit, at: float) -> LoadTimeline | None:
    """Bring the story up to the unit's state, which was read at `at` (the host's clock, seconds since the epoch).

    A new invocation begins a new attempt; when the one before was undecided it is first returned as failed, and the
    next call begins the new one. None: nothing was started since the watch began, and nothing runs.
    """
    state = unit.state
    if attempt is None or (attempt.stage is Stage.FAILED and state.invocation != attempt.invocation):
        return _begin(unit, at) if state.running and state.sub != "auto-restart" else attempt
    if state.invocation and state.invocation != attempt.invocation:
        if attempt.stage in UNDECIDED:
            began = _begin(unit, at).started
            end = at if began is None else began
            return failed(attempt, end, f"systemd started it anew{_restarts(state)}; {_ending(attempt, state)}")
        return _begin(unit, at)
    if _over(state):
        end = at if state.since_s is None else at - state.since_s  # nobody may have looked when it happened
        return failed(attempt, end, _ending(attempt, state) + (_restarts(state) if state.sub == "auto-restart" else ""))
    return _dated(attempt, _started(state, at))


def last(unit: Unit, at: float) -> LoadTimeline:
    """The start that a unit which does not run had last, before its log is read; state read at `at`, as for `observe`."""
    return _begin(unit, at)


def _begin(unit: Unit, at: float) -> LoadTimeline:
    state = unit.state
    number = (state.restarts or 0) + 1
    return begin(unit.key, state.invocation, _started(state, at), expectation(unit), number=number, at=at)


def _started(state: UnitState, at: float) -> float | None:
    """When the unit was started, by a state that was read at `at`; None: it does not say."""
    return None if state.mono is None or state.started_mono is None else at - (state.mono - state.started_mono)


def _dated(attempt: LoadTimeline, started: float | None) -> LoadTimeline:
    """A reading that a slow link held back dates the start too late, never too early: the earliest is the best."""
    if started is None or attempt.started is None or started > attempt.started - BETTER_S:
        return attempt
    return replace(attempt, started=started)


def expectation(unit: Unit) -> Expectation:
    """What the unit's command lets expect of its start."""
    serving = unit.serving
    speculation = serving.speculation
    sure = "parallelism" not in serving.unknown
    return Expectation(
        model=serving.model,
        method=speculation.method if speculation else None,
        k=speculation.tokens if speculation else None,
        drafter=speculation.model if speculation else None,
        speculation_known="speculation" not in serving.unknown,
        eager=serving.eager,
        workers=serving.tensor_parallel * serving.pipeline_parallel * serving.data_parallel if sure else None,
        engines=serving.data_parallel if sure else None,
        version=unit.version,
    )


def known_of(unit: Unit, units: Sequence[Unit] = ()) -> Known:
    """What is known of a start before it, from the unit's command and the units beside it."""
    serving = unit.serving
    speculation = serving.speculation
    beside = [
        other for other in units if other.group == unit.group and other.role is Role.BASELINE and other.key != unit.key
    ]
    return Known(
        port=serving.endpoint.port,
        speculative=None if "speculation" in serving.unknown else speculation is not None,
        method=speculation.method if speculation else None,
        utilization=utilization(serving.argv) if serving.launcher != "shell" else None,
        baseline=beside[0].key if beside else "",
    )


def ending_of(state: UnitState) -> Ending:
    """How systemd says that a start ended."""
    over = not state.running or state.sub == "auto-restart"
    return Ending(
        result=state.result if over or state.result != "success" else "",
        exit_code=state.exit_code,
        exit_status=state.exit_status,
        restarts=state.restarts,
    )


def _over(state: UnitState) -> bool:
    return state.active in ("inactive", "failed") or state.sub == "auto-restart"


def _restarts(state: UnitState) -> str:
    return f" (restart {state.restarts})" if state.restarts else ""


def _ending(attempt: LoadTimeline, state: UnitState) -> str:
    if attempt.stop_asked:
        return "it was stopped on request"
    if state.result == "success":
        return "it ended by itself, with exit code 0, though nobody asked it to stop"
    said = RESULTS.get(state.result, f"systemd says {state.result or 'nothing'}")
    if state.exit_status is not None and state.result in ("exit-code", "signal", "core-dump"):
        said += f" ({state.exit_code or 'status'} {state.exit_status})"
    return said

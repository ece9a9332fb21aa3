"""After the stop: what is left is waited for, named, asked about, and ended only when somebody says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from specconsole.remote import swap_step, swap_verify
from specconsole.remote.swap_judge import GIB
from specconsole.remote.swap_process import Process
from specconsole.remote.swap_run import Cancelled, Foreign, Run, StepFailed
from specconsole.remote.swap_unit import Ref
from tests.remote.pretend import BASE, DOWN, UP, Pretend, events, gpu, notes, stopped

WORKER = Process(300, 7, "D", 1, "VLLM::Worker_TP0", BASE)


# -- processes that do not go --


def test_state_d_for_seconds_is_waited_for(world: Pretend, run: Callable[..., Run]) -> None:
    """The driver's teardown: longer than anything else may take, and still nobody is asked, and nothing is ended."""
    world.left = [WORKER]
    going = stopped(run(), WORKER)

    def gone() -> None:
        if world.at > 1000 + 4 * swap_verify.GONE_S:
            world.left = []

    world.each = gone
    swap_verify.verify(going)
    assert world.at - 1000 > 3 * swap_verify.GONE_S
    assert not world.ended
    assert not events(going, "ask")
    assert "no process is left" in notes(going)


def test_state_d_for_minutes_asks_for_a_reboot(world: Pretend, run: Callable[..., Run]) -> None:
    world.left = [WORKER]
    with pytest.raises(StepFailed, match=r"pid 300 \(VLLM::Worker_TP0\) is in state D for 18\d s") as failed:
        swap_verify.verify(stopped(run(orphans="end"), WORKER))
    assert failed.value.advice == ("no signal ends it; reboot the host",)
    assert not world.ended


ALIVE = Process(300, 7, "S", 1, "VLLM::Worker_TP0", BASE)
STRANGE = Process(400, 9, "S", 1, "VLLM::EngineCore", "user.slice")


@pytest.mark.parametrize(("said", "ended"), [("end", [ALIVE]), ("leave", []), (None, [])])
def test_what_is_left_is_ended_only_when_somebody_says_so(
    said: str | None, ended: list[Process], world: Pretend, run: Callable[..., Run], tmp_path: Path
) -> None:
    world.left = [ALIVE]
    world.rows = [gpu(90 * GIB, (300, 80 * GIB))]
    going = stopped(run(ask_s=60), ALIVE)

    def answer() -> None:
        if said and events(going, "ask"):
            order = {"order": "answer", "what": "orphans", "answer": said}
            (tmp_path / "orders").write_text(json.dumps(order) + "\n")
            world.rows = [gpu(0)]

    world.each = answer
    if ended:
        swap_verify.verify(going)
    else:
        with pytest.raises(StepFailed, match="they were not to be ended") as failed:
            swap_verify.verify(going)
        assert failed.value.advice == ("kill -9 300",)
    assert world.ended == ended
    (asked,) = events(going, "ask")
    shown = {name: asked["processes"][0][name] for name in ("pid", "parent", "argv", "unit", "memory")}
    assert shown == {"pid": 300, "parent": 1, "argv": "VLLM::Worker_TP0", "unit": BASE, "memory": 80 * GIB}


def test_an_engine_that_nobody_was_shown_is_asked_about_whatever_was_said_before(
    world: Pretend, run: Callable[..., Run]
) -> None:
    world.lonely = [STRANGE]
    with pytest.raises(StepFailed, match="they were not to be ended"):
        swap_verify.verify(stopped(run(orphans="end", ask_s=5)))
    assert not world.ended
    world.at = 1000.0
    swap_verify.verify(stopped(run(orphans="end", orphans_shown=[[400, 9]])))
    assert world.ended == [STRANGE]


def test_the_main_process_of_a_unit_that_runs_is_no_orphan(world: Pretend, run: Callable[..., Run]) -> None:
    world.units["other.service"] = dict(UP)
    world.lonely = [Process(500, 3, "S", 1, "VLLM::APIServer_0", "other.service")]
    swap_verify.verify(stopped(run(orphans="end")))
    assert not world.ended


def test_a_cancel_and_a_foreign_start_are_heeded_while_it_waits(
    world: Pretend, run: Callable[..., Run], tmp_path: Path
) -> None:
    world.left = [WORKER]
    going = stopped(run(), WORKER)
    going.down[BASE] = Ref(BASE)
    world.each = lambda: world.units.update({BASE: {**UP, "InvocationID": "f" * 32}})
    with pytest.raises(Foreign, match=r"somebody else started base\.service"):
        swap_verify.verify(going)
    world.units[BASE], world.each = dict(DOWN), lambda: None
    (tmp_path / "orders").write_text(json.dumps({"order": "cancel"}) + "\n")
    with pytest.raises(Cancelled):
        swap_verify.verify(going)


def test_a_port_that_stays_open_is_named(world: Pretend, run: Callable[..., Run]) -> None:
    world.there = {77}
    with pytest.raises(StepFailed, match="pid 77 still listens on port 8000"):
        swap_verify.verify(stopped(run()))


# -- GPUs --


def test_memory_that_the_driver_gives_back_late_is_waited_for(world: Pretend, run: Callable[..., Run]) -> None:
    world.rows = [gpu(80 * GIB)]

    def late() -> None:
        if world.at > 1040:
            world.rows = [gpu(GIB // 4, utilization=100)]  # a ghost: nobody is on it, and it shows 100 %

    world.each = late
    going = stopped(run())
    swap_verify.verify(going)
    assert world.at > 1042, "three readings"
    assert "three readings agree: GPU 0: 256 MiB used, floor not known, nothing that is not named" in notes(going)
    (learnt,) = events(going, "floor")
    assert learnt["gpus"] == {"GPU-0": GIB // 4}


def test_memory_of_others_is_named_and_refused(world: Pretend, run: Callable[..., Run]) -> None:
    world.rows = [gpu(30 * GIB, (4242, 30 * GIB))]
    with pytest.raises(StepFailed, match=r"held by python pid 4242 of train\.service 30\.0 GiB"):
        swap_verify.verify(stopped(run()))


def test_with_mig_the_driver_hides_sizes_and_no_memory_is_called_unexplained(
    world: Pretend, run: Callable[..., Run]
) -> None:
    world.rows = [gpu(5 * GIB, (4242, None), mig=True)]
    going = stopped(run())
    swap_verify.verify(going)
    assert "python pid 4242 of train.service (size not told)" in notes(going)
    assert world.at < 1000 + swap_verify.GONE_S, "three readings, and nothing to wait for"
    world.units[BASE] = dict(UP)
    ahead = run()
    swap_step.preflight(ahead)
    assert "MIG is on: the driver tells the memory of the whole GPU only" in notes(ahead)
    assert "GPU 0: pid 4242 (python) of train.service stays" in notes(ahead)


def test_a_card_that_cannot_be_read_is_not_known_and_teaches_no_floor(world: Pretend, run: Callable[..., Run]) -> None:
    world.rows = [gpu(GIB // 4), gpu(None, index=1, error="GPU is lost")]
    going = stopped(run())
    swap_verify.verify(going)
    assert "GPU 1: cannot be read: GPU is lost" in notes(going)
    assert not events(going, "floor")


def test_without_a_driver_it_is_said(world: Pretend, run: Callable[..., Run]) -> None:
    going = stopped(run())
    swap_verify.verify(going)
    assert "GPU memory is not checked: no driver" in notes(going)

"""Before the stop and after the start: what is refused, how long is waited, and what is no proof."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from specconsole.remote import swap_step, swap_watch
from specconsole.remote.swap_run import Foreign, Run, Stale, StepFailed
from tests.remote.pretend import BASE, DOWN, NGRAM, UP, Page, Pretend, metrics, notes, unit

# -- before the stop --


def test_a_host_that_moved_since_the_plan_makes_it_stale(world: Pretend, run: Callable[..., Run]) -> None:
    swap_step.preflight(run())
    for name, state in ((BASE, DOWN), (BASE, {**UP, "InvocationID": "f" * 32}), (NGRAM, UP)):
        before = world.units[name]
        world.units[name] = dict(state)
        with pytest.raises(Stale, match="is not as it was planned"):
            swap_step.preflight(run())
        world.units[name] = before
    world.units["eagle.service"] = dict(UP)
    with pytest.raises(Stale):
        swap_step.preflight(run(others=[unit("eagle.service")]))


@pytest.mark.parametrize(("load", "said"), [("masked", "it is masked"), ("bad-setting", "its unit file is wrong"), ("not-found", "there is no such unit")])  # fmt: skip
def test_a_target_that_systemd_cannot_start_is_refused(
    load: str, said: str, world: Pretend, run: Callable[..., Run]
) -> None:
    world.units[NGRAM] = {**DOWN, "LoadState": load}
    with pytest.raises(StepFailed, match=f"ngram.service cannot be started: {said}"):
        swap_step.preflight(run())


def test_a_port_of_somebody_else_and_a_full_shm_are_refused(world: Pretend, run: Callable[..., Run]) -> None:
    world.there = {77}
    with pytest.raises(StepFailed, match=r"port 8000 of ngram\.service is taken by pid 77 \(nginx: master process\)"):
        swap_step.preflight(run())
    world.there, world.shm = set(), (64 << 30, 1 << 20)
    with pytest.raises(StepFailed, match="is full: 1 MiB free"):
        swap_step.preflight(run())


# -- the drain --


def test_the_drain_ends_with_the_last_request(world: Pretend, run: Callable[..., Run]) -> None:
    world.server = metrics(2)

    def done() -> None:
        if world.at >= 1007:
            world.server = metrics(0)

    world.each = done
    going = run()
    swap_step.drain(going)
    assert 1007 <= world.at < 1010
    assert "2 in flight" in notes(going)
    assert "no request in flight" not in notes(going).splitlines()[0]


@pytest.mark.parametrize("at_deadline", ["go", "give-up"])
def test_at_the_deadline_the_plan_s_choice_is_done(at_deadline: str, world: Pretend, run: Callable[..., Run]) -> None:
    world.server = metrics(2)
    going = run(at_deadline=at_deadline, drain_s=12.0)
    if at_deadline == "go":
        swap_step.drain(going)
        assert "at the deadline: 2 in flight; going on, as planned" in notes(going)
    else:
        with pytest.raises(StepFailed, match="2 in flight at the deadline, and the plan says to give up then"):
            swap_step.drain(going)
    assert world.at == 1012.0


def test_requests_that_cannot_be_counted_are_not_none(world: Pretend, run: Callable[..., Run]) -> None:
    world.server = lambda _: (500, b"")
    with pytest.raises(StepFailed, match="requests in flight are not known at the deadline"):
        swap_step.drain(run(at_deadline="give-up"))


def test_a_restart_by_somebody_else_is_no_drained_server(world: Pretend, run: Callable[..., Run]) -> None:
    world.server = metrics(2)
    world.each = lambda: world.units.update({BASE: {**UP, "InvocationID": "f" * 32}})
    with pytest.raises(Foreign, match=r"somebody else restarted base\.service"):
        swap_step.drain(run())


# -- the proof --


def answers(*models: str) -> Page:
    listed = json.dumps({"data": [{"id": name} for name in models]}).encode()
    return lambda path: (200, listed if path == "/v1/models" else b"")


def test_another_model_at_the_port_is_not_what_was_asked_for(world: Pretend, run: Callable[..., Run]) -> None:
    world.units[NGRAM] = dict(UP)
    world.server = answers("llama")
    going = run(target=unit(NGRAM, served=["kimi-k2.5"]))
    going.ours[NGRAM] = "i" * 32
    with pytest.raises(StepFailed, match=r"what answers is not ngram\.service: it serves llama, not kimi-k2\.5"):
        swap_watch.watch(going)


def test_a_load_that_never_answers_ends_at_the_plan_s_limit(world: Pretend, run: Callable[..., Run]) -> None:
    world.units[NGRAM] = dict(UP)
    going = run(load_deadline_s=5400.0)
    going.ours[NGRAM] = "i" * 32
    with pytest.raises(StepFailed, match="does not answer after 540"):
        swap_watch.watch(going)
    assert world.at > 6400
